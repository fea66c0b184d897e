/**
 * The typed steps of a direct run: each a member with a form made from its schema. Places are typed as people write them ("312, 480", or a ref), not
 * as objects. Pure.
 */

import type { Toolset } from '../../../contracts/computer-use/members.ts';
import type { RunAction } from '../../../contracts/computer-use/run.ts';
import { formSchemaOf } from '../../ui/form-schema.ts';
import {
  type FieldSchema,
  type FieldTexts,
  type FormSchema,
  firstTexts,
  problemsOf,
  valuesOf,
} from '../../ui/schema-fields.ts';

export interface ActionDraft {
  /** Tells it from the others while they change places. */
  readonly key: number;
  readonly toolset: Toolset;
  readonly member: string;
  readonly texts: FieldTexts;
}

type Schema = Readonly<Record<string, unknown>>;
interface Spot {
  readonly numbers: number;
  readonly ref: boolean;
  read(text: string): unknown;
}

const number = String.raw`\s*-?\d+(?:\.\d+)?\s*`;
const numbersIn = (text: string, count: number): number[] | null =>
  new RegExp(`^${Array(count).fill(number).join(',')}$`).test(text) ? text.split(',').map(Number) : null;

const list = (count: number): Spot => ({
  numbers: count,
  ref: false,
  read: (text) => numbersIn(text, count),
});
const target = (point: boolean, ref: boolean): Spot => ({
  numbers: point ? 2 : 0,
  ref,
  read(text) {
    const at = point ? numbersIn(text, 2) : null;
    if (at !== null) return { type: 'coordinate', x: at[0], y: at[1] };
    return ref && /^\S+$/.test(text.trim()) ? { type: 'ref', ref: text.trim() } : null;
  },
});

/** Fields that say a place, by the name that both toolsets give them. */
function spotOf(name: string, schema: unknown): Spot | null {
  if (name === 'coordinate' || name === 'start_coordinate') return list(2);
  if (name === 'region') return list(4);
  if (name !== 'target' && name !== 'from') return null;
  const text = JSON.stringify(schema);
  return target(text.includes('"coordinate"'), text.includes('"ref"'));
}

const titles: Readonly<Record<string, string>> = {
  target: 'Target',
  coordinate: 'Position',
  from: 'Start',
  start_coordinate: 'Start',
  region: 'Region',
  url: 'Address',
  text: 'Text',
  value: 'Value',
  duration: 'Seconds',
  scroll_direction: 'Direction',
  scroll_amount: 'Scroll steps',
  tab_id: 'Tab',
  repeat: 'Repeat',
  query: 'Search for',
  filter: 'Elements',
  depth: 'Depth',
  ref: 'Element',
};

const spotWords = ({ numbers, ref }: Spot): string => {
  if (numbers === 4) return 'Left, top, right, bottom in the picture, e.g. 0, 0, 200, 120.';
  if (numbers === 0) return 'The ref of an element, as “Read page” shows it.';
  return ref
    ? 'A point in the picture, e.g. 312, 480, or the ref of an element.'
    : 'A point in the picture, e.g. 312, 480.';
};

/** Keys such as ctrl+a, which are no text. */
const isChord = (schema: unknown): boolean => {
  const text = JSON.stringify(schema);
  return text.includes('"maxLength":200}') && !text.includes('"array"');
};

export function memberForm(schema: Schema): FormSchema {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, unknown>>;
  const form = formSchemaOf(schema) ?? { properties: {}, required: [] };
  const needed = (name: string) => form.required?.includes(name) === true;
  // Steps written before a page is open cannot refer to another tab.
  const names = Object.keys(properties).filter((name) => name !== 'tab_id' || needed(name));
  const fields = names.map((name): [string, FieldSchema] => {
    const spot = spotOf(name, properties[name]);
    const given = form.properties[name] ?? { type: 'json' };
    const title = titles[name] ?? name.replaceAll('_', ' ');
    if (isChord(properties[name])) {
      return [name, { type: 'string', title: needed(name) ? 'Keys' : 'Keys held', placeholder: 'ctrl+a' }];
    }
    if (spot === null) return [name, { ...given, title, ...(name === 'value' ? { type: 'string' as const } : {}) }];
    return [name, { type: 'string', title, description: spotWords(spot) }];
  });
  return { properties: Object.fromEntries(fields), required: form.required ?? [] };
}

export function newAction(key: number, toolset: Toolset, member: string, schema: Schema): ActionDraft {
  return { key, toolset, member, texts: firstTexts(memberForm(schema)) };
}

/** By path of the field; empty: it can be done. */
export function actionProblems(schema: Schema, texts: FieldTexts): Record<string, string> {
  const form = memberForm(schema);
  const problems = problemsOf(form, texts);
  for (const [name, spot] of spots(schema)) {
    const text = texts[name] ?? '';
    if (text.trim() !== '' && spot.read(text) === null) problems[name] = spotWords(spot);
  }
  return problems;
}

/** Only where there are no problems. */
export function actionOf({ toolset, member, texts }: ActionDraft, schema: Schema): RunAction {
  const values = valuesOf(memberForm(schema), texts);
  for (const [name, spot] of spots(schema)) {
    if (values[name] !== undefined) values[name] = spot.read(String(values[name]));
  }
  return { toolset, member, ...(Object.keys(values).length === 0 ? {} : { input: values }) };
}

function spots(schema: Schema): [string, Spot][] {
  return Object.entries((schema.properties ?? {}) as Readonly<Record<string, unknown>>).flatMap(([name, one]) => {
    const spot = spotOf(name, one);
    return spot === null ? [] : [[name, spot] as [string, Spot]];
  });
}
