/** The part of JSON Schema that a form can be made of, and what its values come to. Pure; must not know how a field looks. */

export interface FieldSchema {
  /** `json`: a type without its own kind of field is typed as JSON. */
  readonly type?: 'string' | 'number' | 'integer' | 'boolean' | 'object' | 'array' | 'json';
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  /** What each of `enum` stands for, where that is no text. */
  readonly enumValues?: readonly unknown[];
  /** Of an object. */
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
  /** Of an array. */
  readonly items?: FieldSchema;
  /** A text of several lines. */
  readonly multiline?: boolean;
  readonly placeholder?: string;
  /** Offered while typing; anything else may be typed too. */
  readonly suggestions?: readonly string[];
}

export interface FormSchema {
  readonly properties: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
}

/**
 * As typed, by path (`repo/owner`): every field as text, a box as "true" or "". A list holds the names of its rows ("0 2 3"), each of
 * which is a path below it: a row that goes takes no other row's text along.
 */
export type FieldTexts = Readonly<Record<string, string>>;

type FieldValues = Record<string, unknown>;

/** Names keep their slashes apart from those of paths. */
export const pathTo = (parent: string, name: string): string =>
  `${parent === '' ? '' : `${parent}/`}${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;

export const rowsOf = (texts: FieldTexts, path: string): readonly string[] =>
  (texts[path] ?? '').split(' ').filter((row) => row !== '');

/** The rows with one more, under a name that none of them has. */
export const withRow = (rows: readonly string[]): string =>
  [...rows, String(1 + rows.reduce((max, row) => Math.max(max, Number(row)), -1))].join(' ');

export function firstTexts(schema: FormSchema): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, field] of Object.entries(schema.properties)) put(texts, field, pathTo('', name), field.default);
  return texts;
}

/** The texts under which the form comes to these values, as far as it has fields for them. */
export function textsOf(schema: FormSchema, values: FieldValues): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [name, field] of Object.entries(schema.properties)) put(texts, field, pathTo('', name), values[name]);
  return texts;
}

function put(texts: Record<string, string>, field: FieldSchema, path: string, value: unknown): void {
  if (field.type === 'object') {
    const inner = isRecord(value) ? value : {};
    for (const [name, one] of Object.entries(field.properties ?? {})) {
      put(texts, one, pathTo(path, name), inner[name] ?? (value === undefined ? one.default : undefined));
    }
  } else if (field.type === 'array' && field.items !== undefined) {
    const rows = Array.isArray(value) ? value : [];
    texts[path] = rows.map((_, index) => index).join(' ');
    for (const [index, one] of rows.entries()) put(texts, field.items, pathTo(path, String(index)), one);
  } else texts[path] = textOf(field, value);
}

function textOf(field: FieldSchema, value: unknown): string {
  if (value === undefined || (value === false && field.type === 'boolean')) return '';
  if (field.enumValues !== undefined) return field.enum?.[field.enumValues.indexOf(value)] ?? '';
  if (field.type === 'json') return JSON.stringify(value, null, 2);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** Field → what is wrong with it. Empty: the values can be used. */
export function problemsOf(schema: FormSchema, texts: FieldTexts): Record<string, string> {
  const problems: Record<string, string> = {};
  look(schema.properties, schema.required ?? [], '', texts, problems);
  return problems;
}

function look(
  properties: Readonly<Record<string, FieldSchema>>,
  required: readonly string[],
  parent: string,
  texts: FieldTexts,
  problems: Record<string, string>,
): void {
  for (const [name, field] of Object.entries(properties)) {
    const path = pathTo(parent, name);
    const needed = required.includes(name);
    if (field.type === 'object') {
      if (needed || isTouched(field, path, texts)) {
        look(field.properties ?? {}, field.required ?? [], path, texts, problems);
      }
    } else if (field.type === 'array' && field.items !== undefined) {
      const rows = rowsOf(texts, path);
      look(Object.fromEntries(rows.map((row) => [row, field.items as FieldSchema])), rows, path, texts, problems);
    } else {
      const problem = problemOf(field, needed, texts[path] ?? '');
      if (problem !== null) problems[path] = problem;
    }
  }
}

function problemOf(field: FieldSchema, needed: boolean, text: string): string | null {
  if (text.trim() === '') return needed && field.type !== 'boolean' ? 'Required.' : null;
  if (field.enum !== undefined) return field.enum.includes(text) ? null : `Must be one of: ${field.enum.join(', ')}.`;
  if (field.type === 'number' || field.type === 'integer') {
    const number = Number(text);
    if (!Number.isFinite(number)) return 'Must be a number.';
    return field.type === 'integer' && !Number.isInteger(number) ? 'Must be a whole number.' : null;
  }
  return field.type === 'json' ? jsonProblem(text) : null;
}

/** Why a text is no JSON, in the browser's words; null: it is. */
export function jsonProblem(text: string): string | null {
  try {
    JSON.parse(text);
    return null;
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error);
    // Browsers say where, or what they did not expect; some repeat the text, or parts of it.
    return `Invalid JSON: ${says.replace(/,? "[\s\S]*" is not valid JSON$/, '').replace(/^JSON\.parse: /, '')}.`;
  }
}

/** Empty fields are left out, so that the other side's defaults hold. */
export function valuesOf(schema: FormSchema, texts: FieldTexts): FieldValues {
  return objectOf(schema.properties, schema.required ?? [], '', texts);
}

function objectOf(
  properties: Readonly<Record<string, FieldSchema>>,
  required: readonly string[],
  parent: string,
  texts: FieldTexts,
): FieldValues {
  const values: [string, unknown][] = [];
  for (const [name, field] of Object.entries(properties)) {
    const value = fieldValue(field, required.includes(name), pathTo(parent, name), texts);
    if (value !== undefined) values.push([name, value]);
  }
  // Not by assignment: a field may be called __proto__.
  return Object.fromEntries(values);
}

function fieldValue(field: FieldSchema, needed: boolean, path: string, texts: FieldTexts): unknown {
  if (field.type === 'object') {
    if (!needed && !isTouched(field, path, texts)) return undefined;
    return objectOf(field.properties ?? {}, field.required ?? [], path, texts);
  }
  if (field.type === 'array' && field.items !== undefined) {
    const rows = rowsOf(texts, path);
    if (rows.length === 0 && !needed) return undefined;
    return rows.map((row) => fieldValue(field.items as FieldSchema, true, pathTo(path, row), texts));
  }
  const text = texts[path] ?? '';
  if (field.enumValues !== undefined) return field.enumValues[field.enum?.indexOf(text) ?? -1];
  if (field.type === 'boolean') return text === 'true';
  if (text.trim() === '') return undefined;
  if (field.type === 'json') return JSON.parse(text) as unknown;
  return field.type === 'number' || field.type === 'integer' ? Number(text) : text;
}

/** Whether anything in it is other than it was at first: an object that nobody needs and nobody touched is left out. */
function isTouched(field: FieldSchema, path: string, texts: FieldTexts): boolean {
  const first: Record<string, string> = {};
  put(first, field, path, undefined);
  return Object.entries(first).some(([name, text]) => (texts[name] ?? '') !== text);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
