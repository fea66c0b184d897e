/**
 * Checks arguments against a tool's schema before they are sent: a model learns at once what it got wrong. The server checks them in any case, so
 * slow checks are left to it: patterns (`^(a+)+$` can block for seconds), uniqueness (quadratic), schemas that refer to themselves or unfold to very
 * much. Must not know servers.
 */
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';
import { missing, unknown, wrongType } from '../argument-words.ts';
import { isObject, partsOf, referencesOf, type Schema } from './schemas.ts';

/** Null: nothing is wrong, or it was not looked. Else a sentence. */
export type ArgumentCheck = (args: Readonly<Record<string, unknown>>) => string | null;

/** Schemas within one with every reference unfolded; ajv compiles 1,000 in some 50 ms. */
const heaviestSchema = 1000;
/** Schemas times values: some 20 ms of checking. */
const maxChecks = 2_000_000;
const maxWordsLength = 500;

/** Compiles; `ajv` is loaded with the first call. */
export async function createArgumentCheck(schema: Schema): Promise<ArgumentCheck> {
  const weight = weigh(schema);
  if (weight > heaviestSchema) return () => null;
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  let validate: ValidateFunction;
  try {
    // A separate instance: ids of two schemas never meet. The server checks formats.
    const ajv = new Ajv2020({ strict: false, allErrors: false, validateFormats: false, logger: false, $data: false });
    validate = ajv.compile(withoutCostly(schema) as Record<string, unknown>);
    // An asynchronous schema would reject where no caller waits.
    if ('$async' in validate) return () => null;
  } catch {
    // The schema has content that ajv refuses; the server knows its meaning.
    return () => null;
  }
  return (args) => {
    if (weight * countValues(args, maxChecks / weight) > maxChecks) return null;
    try {
      if (validate(args)) return null;
    } catch {
      return null;
    }
    const [error] = validate.errors ?? [];
    return error === undefined ? 'they do not fit its schema.' : wordsOf(error, args, schema).slice(0, maxWordsLength);
  };
}

function wordsOf(error: ErrorObject, args: Readonly<Record<string, unknown>>, schema: Schema): string {
  const { instancePath, params, keyword, message = 'is not valid' } = error;
  const path = instancePath.split('/').slice(1).map(unescaped);
  const extra = params.additionalProperty ?? params.unevaluatedProperty;
  if (keyword === 'required') return missing([...path, String(params.missingProperty)].join('.'));
  if (extra !== undefined) {
    const known = path.length === 0 && isObject(schema.properties) ? Object.keys(schema.properties) : [];
    return unknown([...path, String(extra)].join('.'), String(extra), known);
  }
  if (keyword === 'type' && typeof params.type === 'string') {
    const value = path.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], args);
    return wrongType(path.join('.'), params.type, value);
  }
  const words = Array.isArray(params.allowedValues)
    ? `must be one of ${params.allowedValues.map((value) => JSON.stringify(value)).join(', ')}`
    : message;
  return `${path.length === 0 ? 'the arguments' : path.join('.')} ${words}.`;
}

/** RFC 6901. */
const unescaped = (word: string) => word.replaceAll('~1', '/').replaceAll('~0', '~');

/** How many schemas there are with every reference unfolded; Infinity for one that refers to itself. */
export function weigh(root: Schema): number {
  const references = referencesOf(root);
  const known = new Map<object, number>();
  const open = new Set<object>();
  function of(schema: unknown): number {
    if (!isObject(schema)) return 1;
    const before = known.get(schema);
    if (before !== undefined) return before;
    if (open.has(schema)) return Number.POSITIVE_INFINITY;
    open.add(schema);
    let weight = 1;
    for (const part of partsOf(schema, unfolded)) weight += of(part);
    if (typeof schema.$ref === 'string') weight += of(references.resolve(schema.$ref));
    open.delete(schema);
    known.set(schema, weight);
    return weight;
  }
  return of(root);
}

/** Definitions cost where they are referred to. */
const unfolded = (name: string) => name !== '$defs';

/**
 * The schema without slow parts, and without those that would then be wrong: each omission makes it accept more, so nothing may stay that turns more
 * into less (`not`, `if`, exactly one of, nothing unevaluated).
 */
function withoutCostly(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutCostly);
  if (!isObject(schema)) return schema;
  const byPattern = schema.patternProperties !== undefined;
  const made: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (leftOut.has(name) || (name === 'nullable' && !mayBeNull(schema))) continue;
    if (name === 'oneOf' || (byPattern && name === 'additionalProperties')) continue;
    if (asData.has(name)) made[name] = value;
    else if (byName.has(name) && isObject(value)) {
      made[name] = Object.fromEntries(Object.entries(value).map(([member, part]) => [member, withoutCostly(part)]));
    } else made[name] = withoutCostly(value);
  }
  if (schema.oneOf === undefined) return made;
  const anyOf = withoutCostly(schema.oneOf);
  return made.anyOf === undefined ? { ...made, anyOf } : { allOf: [made, { anyOf }] };
}

/** OpenAPI's keyword is ajv's as well, which accepts it only beside a type. */
const mayBeNull = ({ nullable, type }: Schema) => nullable === true && type !== undefined;

const leftOut = new Set([
  // One of ajv's own: a check that answers later.
  '$async',
  ...['pattern', 'patternProperties', 'uniqueItems', 'format'],
  ...['not', 'if', 'then', 'else', 'maxContains', 'unevaluatedItems', 'unevaluatedProperties'],
]);
const asData = new Set(['const', 'enum', 'default', 'examples']);
const byName = new Set(['properties', '$defs', 'dependentSchemas']);

/** Counts no further than `max`. */
function countValues(value: unknown, max: number): number {
  const waiting = [value];
  let count = 0;
  while (waiting.length > 0 && count <= max) {
    const next = waiting.pop();
    count += 1;
    if (typeof next === 'object' && next !== null) for (const member of Object.values(next)) waiting.push(member);
  }
  return count;
}
