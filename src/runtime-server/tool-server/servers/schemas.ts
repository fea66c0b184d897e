/**
 * Converts a tool's schema from any draft to JSON Schema 2020-12 without `$schema`: some clients refuse a tool that names another draft. Pure:
 * nothing is looked up; a reference out of the schema is refused, because it could read a file or reach a private address.
 */
import { isDeeper } from '../../../kit/schemas/limits.ts';

export type Schema = Readonly<Record<string, unknown>>;
type NormalisedSchema = { readonly schema: Schema } | { readonly problem: string };

/** Characters of one schema as JSON; 64 KiB would refuse servers that people use. */
const maxSchemaLength = 128 * 1024;
const deepestSchema = 64;
/** Of everything in it: `properties` and the like are between two schemas, defaults and examples below. */
const deepestValue = 200;
/** Of schemas within one. */
const maxSubschemas = 5000;
const maxReferences = 2000;

class Refused extends Error {}

/** Members that hold one schema. */
const single = new Set([
  'additionalItems',
  'additionalProperties',
  'contains',
  'contentSchema',
  'else',
  'if',
  'items',
  'not',
  'propertyNames',
  'then',
  'unevaluatedItems',
  'unevaluatedProperties',
]);
/** Members that hold a list of schemas. */
const lists = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
/** Members that hold schemas by name. */
const maps = new Set(['$defs', 'definitions', 'dependentSchemas', 'patternProperties', 'properties']);
/** Members of other drafts or other programs, which no reader of 2020-12 needs. */
const dropped = new Set(['$schema', '$vocabulary', '$id', 'id', '$recursiveAnchor', '$async', 'x-mcp-header']);

/** `kind`: an input schema must be one of an object; an output schema of any value. */
export function normaliseSchema(given: unknown, kind: 'input' | 'output'): NormalisedSchema {
  if (given === undefined || given === null) return { schema: { type: 'object' } };
  if (!isObject(given)) return { problem: `its ${kind} schema is not an object` };
  try {
    if (isDeeper(given, deepestValue)) throw new Refused(`is nested deeper than ${deepestValue}`);
    const text = JSON.stringify(given);
    if (text.length > maxSchemaLength) {
      throw new Refused(`has ${text.length} characters, more than ${maxSchemaLength}`);
    }
    const root = createWalk(typeof given.$id === 'string' ? given.$id : null).schema(given, 0);
    const schema = kind === 'input' ? asObject(root) : root;
    checkReferences(schema);
    return { schema };
  } catch (error) {
    if (error instanceof Refused) return { problem: `its ${kind} schema ${error.message}` };
    throw error;
  }
}

function asObject(schema: Record<string, unknown>): Schema {
  const { type } = schema;
  if (type === 'object') return schema;
  if (type === undefined) return { type: 'object', ...schema };
  if (Array.isArray(type) && type.includes('object')) return { ...schema, type: 'object' };
  throw new Refused(`is of type ${JSON.stringify(type).slice(0, 40)}, not of an object`);
}

function createWalk(rootId: string | null) {
  let count = 0;
  let references = 0;

  function schema(given: unknown, depth: number): Record<string, unknown> {
    if (!isObject(given)) throw new Refused(`has ${JSON.stringify(given)?.slice(0, 40)} where a schema belongs`);
    count += 1;
    if (count > maxSubschemas) throw new Refused(`has more than ${maxSubschemas} parts`);
    if (depth > deepestSchema) throw new Refused(`is nested deeper than ${deepestSchema}`);
    const made: Record<string, unknown> = {};
    for (const [name, value] of Object.entries(given)) {
      if (name === '__proto__') throw new Refused('has a member "__proto__"');
      if (!dropped.has(name)) put(made, name, value, given, depth + 1);
    }
    return made;
  }

  /** A boolean is a schema as well. */
  const part = (given: unknown, depth: number) => (typeof given === 'boolean' ? given : schema(given, depth));

  function put(made: Record<string, unknown>, name: string, value: unknown, whole: Schema, depth: number): void {
    if (name === '$ref' || name === '$dynamicRef' || name === '$recursiveRef') {
      made.$ref = local(value);
    } else if (name === 'items' && Array.isArray(value)) {
      // Drafts before 2020: a list of schemas by position, and `additionalItems` for the rest.
      made.prefixItems = value.map((item) => part(item, depth));
      if (whole.additionalItems !== undefined) made.items = part(whole.additionalItems, depth);
    } else if (name === 'additionalItems') {
      // Means nothing beside `items` that is no list.
    } else if (name === 'exclusiveMinimum' || name === 'exclusiveMaximum') {
      // Draft 4: a flag of the bound beside it.
      if (typeof value !== 'boolean') made[name] = value;
      else if (value) made[name] = whole[name === 'exclusiveMinimum' ? 'minimum' : 'maximum'];
    } else if (name === 'minimum' || name === 'maximum') {
      if (whole[name === 'minimum' ? 'exclusiveMinimum' : 'exclusiveMaximum'] !== true) made[name] = value;
    } else if (name === 'dependencies' && isObject(value)) {
      dependencies(made, value, depth);
    } else if (name === 'definitions') {
      made.$defs = { ...(isObject(made.$defs) ? made.$defs : {}), ...named(value, depth) };
    } else if (name === '$defs') {
      made.$defs = { ...named(value, depth), ...(isObject(made.$defs) ? made.$defs : {}) };
    } else if (name === 'required' && typeof value === 'boolean') {
      // Draft 3: a flag of the property itself.
    } else if (maps.has(name)) {
      made[name] = named(value, depth);
    } else if (lists.has(name)) {
      if (!Array.isArray(value)) throw new Refused(`has a ${name} that is not a list`);
      made[name] = value.map((item) => part(item, depth));
    } else if (single.has(name)) {
      made[name] = part(value, depth);
    } else {
      made[name] = value;
    }
  }

  function named(value: unknown, depth: number): Record<string, unknown> {
    if (!isObject(value)) throw new Refused('has properties or definitions that are not objects');
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => {
        if (name === '__proto__') throw new Refused('has a member "__proto__"');
        return [name, part(item, depth)];
      }),
    );
  }

  /** Drafts before 2019: names of properties, or a schema. */
  function dependencies(made: Record<string, unknown>, value: Schema, depth: number): void {
    const entries = Object.entries(value);
    const names = entries.filter(([, item]) => Array.isArray(item));
    const schemas = entries.filter(([, item]) => !Array.isArray(item));
    if (names.length > 0) made.dependentRequired = Object.fromEntries(names);
    if (schemas.length > 0) made.dependentSchemas = named(Object.fromEntries(schemas), depth);
  }

  function local(reference: unknown): string {
    references += 1;
    if (references > maxReferences) throw new Refused(`has more than ${maxReferences} references`);
    if (typeof reference !== 'string') throw new Refused('has a $ref that is not text');
    const inside = rootId !== null && reference.startsWith(`${rootId}#`) ? reference.slice(rootId.length) : reference;
    if (!inside.startsWith('#'))
      throw new Refused(`refers to ${JSON.stringify(reference.slice(0, 120))}, outside itself`);
    return inside.replace(/^#\/definitions\//, '#/$defs/');
  }

  return { schema };
}

function checkReferences(schema: Schema): void {
  const { all, resolve } = referencesOf(schema);
  for (const reference of all) {
    if (resolve(reference) !== undefined) continue;
    throw new Refused(`refers to ${JSON.stringify(reference.slice(0, 120))}, which is not in it`);
  }
}

/** The targets of the `$ref`s in one normalised schema. */
interface References {
  /** Each reference in it, once. */
  readonly all: ReadonlySet<string>;
  /** Undefined where there is nothing, or nothing that is a schema. */
  resolve(reference: string): unknown;
}

/** Looks at each part once, however many references there are. */
export function referencesOf(root: Schema): References {
  const places = new Set<unknown>([root]);
  const anchors = new Map<string, Schema>();
  const all = new Set<string>();
  const resolved = new Map<string, unknown>();
  // A set grows while it is gone through.
  for (const part of places) {
    if (!isObject(part)) continue;
    if (typeof part.$ref === 'string') all.add(part.$ref);
    for (const name of [part.$anchor, part.$dynamicAnchor]) {
      if (typeof name === 'string' && !anchors.has(name)) anchors.set(name, part);
    }
    for (const inner of partsOf(part)) places.add(inner);
  }

  function find(reference: string): unknown {
    if (reference === '#') return root;
    if (!reference.startsWith('#/')) return anchors.get(reference.slice(1));
    let at: unknown = root;
    for (const step of reference.slice(2).split('/')) {
      const name = decode(step);
      if (name === null || !(isObject(at) || Array.isArray(at)) || !Object.hasOwn(at, name)) return undefined;
      at = (at as Record<string, unknown>)[name];
    }
    // Other places were never read as a schema, and could lead out.
    return places.has(at) ? at : undefined;
  }

  return {
    all,
    resolve(reference) {
      if (!resolved.has(reference)) resolved.set(reference, find(reference));
      return resolved.get(reference);
    },
  };
}

function decode(step: string): string | null {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return null;
  }
}

/** The size of a sent schema: characters, at most as many as are ever read. */
export function sizeOf(given: unknown): number {
  try {
    return Math.min(JSON.stringify(given ?? null).length, maxSchemaLength);
  } catch {
    // Too deep to be written.
    return maxSchemaLength;
  }
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The subschemas of one, in the members that `wanted` accepts. */
export function* partsOf(schema: Schema, wanted: (member: string) => boolean = () => true): Generator<unknown> {
  for (const [name, value] of Object.entries(schema)) {
    if (!wanted(name)) continue;
    if (single.has(name)) yield value;
    else if (lists.has(name) && Array.isArray(value)) yield* value;
    else if (maps.has(name) && isObject(value)) yield* Object.values(value);
  }
}
