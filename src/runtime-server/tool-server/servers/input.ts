/**
 * What an attached server asks the person (`elicitation/create`) as one question whose note holds the values, and the answer as the server takes it.
 * Pure. Must not know who is asked or where.
 */
import type { ForeignAnswer, ForeignQuestion } from '../foreign-tools.ts';
import { textOf } from './listing.ts';
import { isObject } from './schemas.ts';

export interface InputRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}
type InputRequests = Readonly<Record<string, InputRequest>>;

/** An `ElicitResult`. */
export interface InputResponse {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Readonly<Record<string, unknown>>;
}

interface Choice {
  readonly value: string;
  readonly title: string;
}

interface Field {
  readonly name: string;
  readonly about: string;
  readonly type: 'string' | 'number' | 'integer' | 'boolean' | 'array';
  readonly choices: readonly Choice[];
  readonly required: boolean;
  readonly default: unknown;
}

const maxRequests = 10;
const maxFields = 50;
const maxTextLength = 4000;

/** A sentence for requests that nobody here can answer. */
export function readRequests(sent: unknown): InputRequests | string {
  if (!isObject(sent)) return 'It asks for input in a form that cannot be read.';
  const entries = Object.entries(sent);
  if (entries.length > maxRequests) return `It asks for ${entries.length} things at once; ${maxRequests} are answered.`;
  const other = entries.find(([, request]) => !isObject(request) || request.method !== 'elicitation/create');
  if (other !== undefined) {
    const [, request] = other;
    const method = isObject(request) ? String(request.method).slice(0, 80) : 'something unreadable';
    return `It asks for ${method}, and Gantry answers only questions to the person.`;
  }
  return Object.fromEntries(
    entries.map(([key, request]) => {
      const { method, params } = request as Record<string, unknown>;
      return [key, { method: String(method), params: isObject(params) ? params : {} }];
    }),
  );
}

/** `problem`: of the answer before, which the server would not have taken. */
export function questionOf(server: string, { params }: InputRequest, problem: string | null): ForeignQuestion {
  const message = text(params.message) || 'It does not say what it asks.';
  const first = message.split('\n', 1)[0] as string;
  const fields = fieldsOf(params);
  const lines = [
    ...(problem === null ? [] : [`Your last answer was not taken: ${problem}`, '']),
    `The attached server ${server} asks:`,
    '',
    message,
    '',
    ...(params.mode === 'url' ? [`Open this address, and approve when you are done there:\n${text(params.url)}`] : []),
    ...howTo(fields),
  ];
  return { title: `${server} asks: ${first}`.slice(0, 160), summary: lines.join('\n').trimEnd() };
}

function howTo(fields: readonly Field[]): string[] {
  const [only, ...more] = fields;
  if (only === undefined) return [];
  if (more.length === 0) return [`Approve with the value in the note. ${aboutField(only)}`];
  return ['Approve with the values in the note, as name: value; name: value.', ...fields.map(aboutField)];
}

function aboutField({ name, about, type, choices, required, default: given }: Field): string {
  const kind =
    choices.length > 0
      ? `${type === 'array' ? 'any of' : 'one of'} ${choices.map(({ value, title }) => (title === value ? value : `${value} (${title})`)).join(', ')}`
      : { string: 'text', number: 'a number', integer: 'a whole number', boolean: 'yes or no', array: 'words' }[type];
  const rest = [kind, ...(required ? [] : ['optional']), ...(given === undefined ? [] : [`default ${shown(given)}`])];
  return `${name}: ${rest.join(', ')}${about === '' ? '' : `. ${about}`}`;
}

/** The answer for the server, or why it would not take it. */
export function responseTo(
  { params }: InputRequest,
  answer: ForeignAnswer,
): { readonly response: InputResponse } | { readonly problem: string } {
  if (answer.kind === 'ended') return { response: { action: 'cancel' } };
  if (answer.kind === 'reject') return { response: { action: 'decline' } };
  if (params.mode === 'url') return { response: { action: 'accept' } };
  const fields = fieldsOf(params);
  const given = valuesIn(answer.note?.trim() ?? '', fields);
  if (typeof given === 'string') return { problem: given };
  const content: Record<string, unknown> = {};
  for (const field of fields) {
    const value = given.get(field.name) ?? field.default;
    if (value === undefined || value === '') {
      // A yes without a word is one to the only question.
      if (field.type === 'boolean' && fields.length === 1) content[field.name] = true;
      else if (field.required) return { problem: `${field.name} is missing.` };
      continue;
    }
    const read = readValue(value, field);
    if ('problem' in read) return { problem: `${field.name}: ${read.problem}` };
    content[field.name] = read.value;
  }
  return { response: { action: 'accept', content } };
}

/** By name, as written; a sentence for a note that cannot be read. */
function valuesIn(note: string, fields: readonly Field[]): ReadonlyMap<string, unknown> | string {
  const [only, ...more] = fields;
  if (only === undefined || note === '') return new Map();
  if (more.length === 0) return new Map([[only.name, withoutName(note, only.name)]]);
  const known = new Map(fields.map(({ name }) => [name.toLowerCase(), name]));
  const values = new Map<string, string>();
  let last: string | null = null;
  for (const part of note.split(/(?<=[\n;])/)) {
    const colon = part.indexOf(':');
    const name = colon === -1 ? undefined : known.get(part.slice(0, colon).trim().toLowerCase());
    if (name !== undefined) {
      values.set(name, part.slice(colon + 1));
      last = name;
      continue;
    }
    // A value may hold what separates values.
    if (last !== null) values.set(last, `${values.get(last)}${part}`);
    else if (part.trim() !== '') {
      return `${shown(part.trim())} is not name: value of ${[...known.values()].join(', ')}.`;
    }
  }
  return new Map([...values].map(([name, value]) => [name, value.replace(/[\s;]+$/, '').trim()]));
}

function withoutName(note: string, name: string): string {
  return note.toLowerCase().startsWith(`${name.toLowerCase()}:`) ? note.slice(name.length + 1).trim() : note;
}

type Read = { readonly value: unknown } | { readonly problem: string };

function readValue(given: unknown, { type, choices }: Field): Read {
  if (typeof given !== 'string') return { value: given };
  if (type === 'array') {
    const read = given
      .split(',')
      .map((each) => chosen(each.trim(), choices))
      .filter((each) => !('value' in each) || each.value !== '');
    const wrong = read.find((each) => 'problem' in each);
    return wrong ?? { value: read.map((each) => ('value' in each ? each.value : '')) };
  }
  if (type === 'boolean') {
    if (/^(?:yes|y|true|on|1)$/i.test(given)) return { value: true };
    if (/^(?:no|n|false|off|0)$/i.test(given)) return { value: false };
    return { problem: `${shown(given)} is neither yes nor no.` };
  }
  if (type === 'number' || type === 'integer') {
    const number = Number(given);
    if (!Number.isFinite(number) || (type === 'integer' && !Number.isInteger(number))) {
      return { problem: `${shown(given)} is not ${type === 'integer' ? 'a whole number' : 'a number'}.` };
    }
    return { value: number };
  }
  return chosen(given, choices);
}

function chosen(given: string, choices: readonly Choice[]): Read {
  if (choices.length === 0 || given === '') return { value: given };
  const wanted = given.toLowerCase();
  const found =
    choices.find(({ value }) => value === given) ??
    choices.find(({ value, title }) => value.toLowerCase() === wanted || title.toLowerCase() === wanted);
  if (found !== undefined) return { value: found.value };
  return { problem: `${shown(given)} is not one of ${choices.map(({ value }) => value).join(', ')}.` };
}

function fieldsOf({ mode, requestedSchema }: Readonly<Record<string, unknown>>): Field[] {
  if (mode === 'url' || !isObject(requestedSchema) || !isObject(requestedSchema.properties)) return [];
  const required = Array.isArray(requestedSchema.required) ? requestedSchema.required : [];
  return Object.entries(requestedSchema.properties)
    .slice(0, maxFields)
    .flatMap(([name, schema]): Field[] => {
      if (!isObject(schema)) return [];
      const { type, title, description, default: given } = schema;
      const about = [text(title), text(description)].filter((each) => each !== '').join(': ');
      const known = (['string', 'number', 'integer', 'boolean', 'array'] as const).find((one) => one === type);
      return [
        {
          name,
          about: about.slice(0, 500),
          type: known ?? 'string',
          choices: choicesOf(isObject(schema.items) ? schema.items : schema),
          required: required.includes(name),
          default: given,
        },
      ];
    });
}

/** `enumNames` is how the versions before 2025-11-25 name them. */
function choicesOf({ enum: values, enumNames, oneOf, anyOf }: Readonly<Record<string, unknown>>): Choice[] {
  if (Array.isArray(values)) {
    const names = Array.isArray(enumNames) ? enumNames : [];
    return values.map((value, index) => ({ value: text(value), title: text(names[index]) || text(value) }));
  }
  const titled = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : [];
  return titled.flatMap((one): Choice[] =>
    isObject(one) ? [{ value: text(one.const), title: text(one.title) || text(one.const) }] : [],
  );
}

const text = (value: unknown): string => textOf(value, maxTextLength) ?? '';
const shown = (value: unknown): string => String(JSON.stringify(value)).slice(0, 80);
