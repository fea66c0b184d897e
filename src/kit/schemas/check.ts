/**
 * Compiles other people's schemas and checks values against them: 2020-12, 2019-09 and draft 7 by what `$schema` says,
 * offline, patterns in linear time. Runs in a thread that may be ended at any moment. Must not know whose schema it is.
 */
import { createHash } from 'node:crypto';
import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { RE2JS } from 're2js';
import { schemaProblem, valueProblem } from './limits.ts';
import { fits, misfit, type SchemaVerdict, type ToThread, unusable } from './messages.ts';

/** Limit of compiled schemas in the cache. */
const maxKept = 100;
const maxWordsLength = 300;

const linear = Object.assign((pattern: string) => RE2JS.compile(RE2JS.translateRegExp(pattern)), {
  code: 'a linear engine',
});
const options: Options = {
  strict: false,
  allErrors: false,
  // CVE-2025-69873: a value must never choose what it is checked against.
  $data: false,
  // Each reference stays a call: inlined, a few of them can grow without bound.
  inlineRefs: false,
  // Every object has a `constructor` that nobody sent.
  ownProperties: true,
  logger: false,
  code: { regExp: linear },
};

/** By the address in `$schema`, without its fragment. */
const dialects: Readonly<Record<string, new (options: Options) => Ajv>> = {
  'json-schema.org/draft/2020-12/schema': Ajv2020,
  'json-schema.org/draft/2019-09/schema': Ajv2019,
  'json-schema.org/draft-07/schema': Ajv,
};

type Compiled = ValidateFunction | { readonly problem: string };

/** `begin`: called before each of the two steps, compilation and check. */
export function createCheck(begin: () => void): (asked: ToThread) => SchemaVerdict {
  /** Oldest first. */
  const kept = new Map<string, Compiled>();

  function compiled(text: string): Compiled {
    const hash = createHash('sha256').update(text).digest('base64');
    const known = kept.get(hash);
    kept.delete(hash);
    const one = known ?? compile(text);
    kept.set(hash, one);
    const [oldest] = kept.keys();
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
    return one;
  }

  return ({ schema, value }) => {
    begin();
    const validate = compiled(schema);
    if (typeof validate !== 'function') return unusable(`The schema cannot be used: it ${validate.problem}.`);
    const given: unknown = JSON.parse(value);
    const problem = valueProblem(schema, given);
    if (problem !== null) return misfit(problem);
    begin();
    try {
      return validate(given) ? fits : misfit(wordsOf(validate.errors?.[0]));
    } catch (error) {
      // A schema that refers to itself without end.
      return unusable(`The schema cannot be used: it ${failure(error)}.`);
    }
  };
}

function compile(text: string): Compiled {
  const schema = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const problem = schemaProblem(schema);
  if (problem !== null) return { problem };
  const { $schema = 'json-schema.org/draft/2020-12/schema' } = schema;
  const dialect = String($schema)
    .replace(/^https?:\/\//, '')
    .replace(/#$/, '');
  const Dialect = Object.hasOwn(dialects, dialect) ? dialects[dialect] : undefined;
  if (Dialect === undefined) return { problem: `is written in ${JSON.stringify(String($schema).slice(0, 100))}` };
  try {
    // An instance of its own, so that ids of two schemas never meet.
    const ajv = new Dialect(options);
    (addFormats as unknown as (to: Ajv) => void)(ajv);
    return ajv.compile(schema);
  } catch (error) {
    return { problem: failure(error) };
  }
}

/** The end of a sentence that begins with "it". */
function failure(error: unknown): string {
  if (error instanceof RangeError) return 'goes too deep';
  const { message, missingRef } = error as { message?: unknown; missingRef?: unknown };
  if (typeof missingRef === 'string') return `refers to ${JSON.stringify(missingRef.slice(0, 120))}, outside itself`;
  return `is not a schema (${String(message).replace(/\s+/g, ' ').slice(0, maxWordsLength)})`;
}

/** Names of members and the expectation; never the values sent. */
function wordsOf(error: ErrorObject | undefined): string {
  if (error === undefined) return 'It does not fit.';
  const { instancePath, params, keyword, message = 'is not valid' } = error;
  const extra: unknown = params.additionalProperty ?? params.unevaluatedProperty;
  const path = instancePath === '' ? 'It' : instancePath.slice(1).replaceAll('/', '.');
  const words = extra !== undefined ? `must not have ${JSON.stringify(extra)}` : message.replace('NOT', 'not');
  const one =
    keyword === 'enum' || keyword === 'const' ? `${words}: ${JSON.stringify(Object.values(params)[0])}` : words;
  return `${path} ${one}`.slice(0, maxWordsLength).concat('.');
}
