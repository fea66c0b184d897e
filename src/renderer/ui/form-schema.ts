/**
 * A tool's JSON Schema → the form that asks for it. What has no plain field is typed as JSON: never is anything of a schema left out,
 * only asked for less comfortably. Schemas are written by strangers: deep and circular ones end. Pure.
 */
import type { FieldSchema, FormSchema } from './schema-fields.ts';

type Schema = Readonly<Record<string, unknown>>;

/** Objects within objects; what lies deeper is JSON. */
const deepest = 4;
/** Fields in all: a form of more is no form. */
const maxFields = 200;

/** Null: no form can be made of it, and all arguments are typed as JSON. */
export function formSchemaOf(schema: Schema): FormSchema | null {
  const count = { left: maxFields };
  const whole = fieldOf(schema, { root: schema, depth: 0, needed: true, count });
  if (whole.type !== 'object' || count.left < 0) return null;
  return { properties: whole.properties ?? {}, required: whole.required ?? [] };
}

interface Place {
  readonly root: Schema;
  readonly depth: number;
  readonly needed: boolean;
  readonly count: { left: number };
}

function fieldOf(given: unknown, place: Place): FieldSchema {
  place.count.left -= 1;
  const schema = resolve(given, place.root);
  if (schema === null || place.count.left < 0) return { type: 'json' };
  return { ...said(schema), ...shapeOf(schema, place) };
}

function shapeOf(schema: Schema, place: Place): FieldSchema {
  const values = choicesOf(schema);
  if (values !== null) return choice(values);
  const type = typeOf(schema);
  if (type === 'boolean') {
    // A box is yes or no; where neither is the default, leaving it open must be possible.
    return place.needed || schema.default !== undefined ? { type } : choice([true, false]);
  }
  if (type === 'string') return { type, multiline: schema.format === undefined && schema.pattern === undefined };
  if (type === 'number' || type === 'integer') return { type };
  if (type === 'object') return objectField(schema, place);
  if (type === 'array') {
    const items = fieldOf(schema.items, { ...place, depth: place.depth + 1, needed: true });
    // A list of anything is one JSON text, not many.
    if (schema.prefixItems !== undefined || items.type === 'json' || items.type === 'array') return { type: 'json' };
    return { type, items };
  }
  return { type: 'json' };
}

function objectField(schema: Schema, place: Place): FieldSchema {
  const properties = isSchema(schema.properties) ? schema.properties : null;
  const closed = schema.additionalProperties === false;
  const names = Object.keys(properties ?? {});
  // Of the arguments as a whole, nothing is also an answer.
  if (place.depth >= deepest || (place.depth > 0 && names.length === 0 && !closed)) return { type: 'json' };
  if (isSchema(schema.additionalProperties) && place.depth > 0) return { type: 'json' };
  if (combined(schema)) return { type: 'json' };
  const required = Array.isArray(schema.required) ? schema.required.filter((one) => typeof one === 'string') : [];
  const fields = names.map((name): [string, FieldSchema] => [
    name,
    oneLine(
      name,
      properties?.[name],
      fieldOf(properties?.[name], { ...place, depth: place.depth + 1, needed: required.includes(name) }),
    ),
  ]);
  // A required name without a field can only be given as JSON.
  if (required.some((name) => !names.includes(name))) return { type: 'json' };
  return { type: 'object', properties: Object.fromEntries(fields), required };
}

/** Texts of which everybody knows that they are one line. */
const shortNames =
  /^(?:path|paths|url|uri|href|cwd|dir|directory|folder|file|filename|host|id|name|title|owner|repo|branch|ref|user|login|email|key|language|lang|encoding|timezone|zone|date|time|from|to|source|target|destination)$|(?:_?id|path|url|uri|name|dir)$/i;
/** Characters that fit in a line. */
const lineLength = 200;

function oneLine(name: string, schema: unknown, field: FieldSchema): FieldSchema {
  if (field.multiline !== true) return field;
  const short = isSchema(schema) && typeof schema.maxLength === 'number' && schema.maxLength <= lineLength;
  return short || shortNames.test(name) ? { ...field, multiline: false } : field;
}

/** What its fields may be depends on each other: nothing that a form could say. */
const combined = (schema: Schema): boolean =>
  ['oneOf', 'anyOf', 'allOf', 'if', 'not'].some((word) => schema[word] !== undefined);

function said(schema: Schema): FieldSchema {
  return {
    ...(typeof schema.title === 'string' ? { title: schema.title } : {}),
    ...(typeof schema.description === 'string' ? { description: schema.description } : {}),
    ...(schema.default === undefined || schema.default === null ? {} : { default: schema.default }),
  };
}

/** The values that can be chosen from; null: any. */
function choicesOf(schema: Schema): readonly unknown[] | null {
  if (schema.const !== undefined) return [schema.const];
  if (Array.isArray(schema.enum)) return schema.enum.filter((one) => one !== null);
  const options = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(options) || options.length === 0) return null;
  const constants = options.filter(isSchema).flatMap((one) => (one.const === undefined ? [] : [one.const]));
  return constants.length === options.length ? constants : null;
}

function choice(values: readonly unknown[]): FieldSchema {
  const texts = values.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)));
  // Two that read alike cannot be told apart in a list.
  if (new Set(texts).size < texts.length || texts.includes('')) return { type: 'json' };
  return { type: 'string', enum: texts, enumValues: values };
}

function typeOf(schema: Schema): string | null {
  const { type } = schema;
  if (typeof type === 'string') return type;
  if (Array.isArray(type)) {
    const some = type.filter((one) => one !== 'null');
    return some.length === 1 && typeof some[0] === 'string' ? some[0] : null;
  }
  if (isSchema(schema.properties)) return 'object';
  return null;
}

/** Follows references within the schema, and takes what may also be null for what it else is. Null: it allows anything, or nothing. */
function resolve(given: unknown, root: Schema): Schema | null {
  let schema = given;
  for (let step = 0; step < 8; step += 1) {
    if (!isSchema(schema)) return null;
    const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
    const options = (anyOf ?? oneOf) as unknown;
    if (typeof $ref === 'string') {
      const found = at($ref, root);
      if (!isSchema(found)) return null;
      schema = { ...found, ...rest };
    } else if (Array.isArray(allOf) && allOf.length === 1 && isSchema(allOf[0])) {
      schema = { ...allOf[0], ...rest };
    } else if (Array.isArray(options) && options.some(isNull)) {
      const some = options.filter((one) => !isNull(one));
      if (some.length !== 1 || !isSchema(some[0])) return schema;
      schema = { ...some[0], ...rest };
    } else return schema;
  }
  return null;
}

function at(reference: string, root: Schema): unknown {
  if (!reference.startsWith('#/')) return undefined;
  let found: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const name = decoded(part).replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isSchema(found) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const isNull = (one: unknown): boolean => isSchema(one) && one.type === 'null';

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
