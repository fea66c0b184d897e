/** Schemas of others: what becomes of every draft, what is refused, and how arguments are held against them without any danger. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, onTestFinished, test } from 'vitest';
import { createArgumentCheck, weigh } from '../../../../src/runtime-server/tool-server/servers/arguments.ts';
import { normaliseSchema, type Schema } from '../../../../src/runtime-server/tool-server/servers/schemas.ts';

const schemaOf = (given: unknown, kind: 'input' | 'output' = 'input') => {
  const made = normaliseSchema(given, kind);
  if ('problem' in made) throw new Error(made.problem);
  return made.schema;
};
const problemOf = (given: unknown) => (normaliseSchema(given, 'input') as { problem?: string }).problem;
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });

test.each([
  ['none', undefined, { type: 'object' }],
  ['an empty one', {}, { type: 'object' }],
  ['draft 7', { $schema: 'http://json-schema.org/draft-07/schema#', $id: 'x', ...object({}) }, object({})],
  [
    'definitions',
    object(
      { a: { $ref: '#/definitions/A' } },
      { definitions: { A: { $ref: '#/definitions/B' }, B: { type: 'string' } } },
    ),
    object({ a: { $ref: '#/$defs/A' } }, { $defs: { A: { $ref: '#/$defs/B' }, B: { type: 'string' } } }),
  ],
  [
    'both kinds of definitions',
    object({}, { $defs: { A: {} }, definitions: { B: {} } }),
    object({}, { $defs: { A: {}, B: {} } }),
  ],
  [
    'a reference with the schema’s own id',
    {
      $id: 'https://x.example/s',
      ...object({ a: { $ref: 'https://x.example/s#/definitions/A' } }),
      definitions: { A: {} },
    },
    { ...object({ a: { $ref: '#/$defs/A' } }), $defs: { A: {} } },
  ],
  [
    'a reference at the root, as Go writes it',
    { $ref: '#/$defs/In', $defs: { In: object({ a: {} }) } },
    { type: 'object', $ref: '#/$defs/In', $defs: { In: object({ a: {} }) } },
  ],
  [
    'a tuple and its rest',
    object({ a: { items: [{ type: 'string' }], additionalItems: false }, b: { items: {}, additionalItems: false } }),
    object({ a: { prefixItems: [{ type: 'string' }], items: false }, b: { items: {} } }),
  ],
  [
    'exclusive bounds of draft 4',
    object({
      a: { minimum: 1, exclusiveMinimum: true, maximum: 2, exclusiveMaximum: false },
      b: { exclusiveMinimum: 3 },
    }),
    object({ a: { exclusiveMinimum: 1, maximum: 2 }, b: { exclusiveMinimum: 3 } }),
  ],
  [
    'dependencies',
    object({}, { dependencies: { a: ['b'], c: { required: ['d'] } } }),
    object({}, { dependentRequired: { a: ['b'] }, dependentSchemas: { c: { required: ['d'] } } }),
  ],
  [
    'recursion of 2019',
    object({ a: { $recursiveRef: '#' } }, { $recursiveAnchor: true }),
    object({ a: { $ref: '#' } }),
  ],
  [
    'a checker’s own word for a check that answers later',
    { $async: true, ...object({ a: { $async: true, type: 'string' }, $async: { type: 'string' } }) },
    object({ a: { type: 'string' }, $async: { type: 'string' } }),
  ],
  [
    'headers that repeat arguments',
    object({ a: { type: 'string', 'x-mcp-header': 'A' } }),
    object({ a: { type: 'string' } }),
  ],
  ['an object or nothing', { type: ['object', 'null'] }, { type: 'object' }],
  [
    'properties that are called like keywords',
    object({ $ref: { type: 'string' }, definitions: { type: 'string' }, $schema: {}, items: {}, id: {} }),
    object({ $ref: { type: 'string' }, definitions: { type: 'string' }, $schema: {}, items: {}, id: {} }),
  ],
  [
    'values that look like schemas',
    object({ a: { default: { $ref: 'file:///x', items: [1] }, enum: [{ $schema: 'x' }] } }),
    object({ a: { default: { $ref: 'file:///x', items: [1] }, enum: [{ $schema: 'x' }] } }),
  ],
  [
    'an anchor',
    object({ a: { $ref: '#here' }, b: { $anchor: 'here' } }),
    object({ a: { $ref: '#here' }, b: { $anchor: 'here' } }),
  ],
])('%s becomes JSON Schema 2020-12 that compiles', (_, given, made) => {
  expect(schemaOf(given)).toEqual(made);
  expect(() => new Ajv2020({ strict: false }).compile(made)).not.toThrow();
  // What is normal stays as it is.
  expect(schemaOf(made)).toEqual(made);
});

test('an output schema may be of anything, an input schema is of an object', () => {
  expect(schemaOf({ type: 'array', items: { type: 'string' } }, 'output')).toEqual({
    type: 'array',
    items: { type: 'string' },
  });
  expect(problemOf({ type: 'array' })).toBe('its input schema is of type "array", not of an object');
});

const nested = (levels: number) => {
  let schema: object = { type: 'string' };
  for (let level = 0; level < levels; level += 1) schema = object({ a: schema });
  return schema;
};

test.each([
  ['a list', [], 'is not an object'],
  ['a file', object({ a: { $ref: 'file:///etc/passwd' } }), 'refers to "file:///etc/passwd", outside itself'],
  ['the web', object({ a: { $ref: 'https://evil.example/x.json' } }), 'outside itself'],
  ['a neighbour', object({ a: { $ref: 'other.json#/a' } }), 'outside itself'],
  ['another id', { $id: 'https://x/', ...object({ a: { $ref: 'https://x/y#/a' } }) }, 'outside itself'],
  ['a dynamic one', object({ a: { $dynamicRef: 'https://evil.example/#x' } }), 'outside itself'],
  ['one that hides', { allOf: [{ not: { if: { $ref: 'https://evil.example' } } }] }, 'outside itself'],
  ['nothing', object({ a: { $ref: '#/$defs/none' } }), 'refers to "#/$defs/none", which is not in it'],
  ['the prototype', object({ a: { $ref: '#/__proto__' } }), 'which is not in it'],
  ['a text', object({ a: { $ref: '#/type' } }), 'which is not in it'],
  ['a number', object({ a: { $ref: 7 } }), '$ref that is not text'],
  ['a value for a schema', object({ a: 7 }), 'has 7 where a schema belongs'],
  ['a member __proto__', JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), 'has a member "__proto__"'],
  ['depth', nested(100), 'nested deeper than'],
  ['great depth', JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`), 'nested deeper than'],
  [
    'many parts',
    object(Object.fromEntries(Array.from({ length: 6000 }, (_, i) => [`p${i}`, {}]))),
    'more than 5000 parts',
  ],
  [
    'many references',
    object(Object.fromEntries(Array.from({ length: 2001 }, (_, i) => [`p${i}`, { $ref: '#' }]))),
    'more than 2000 references',
  ],
  [
    'what no reader of schemas reads',
    { ...object({ a: { $ref: '#/x/a' } }), x: { a: { $ref: 'https://evil.example' } } },
    'refers to "#/x/a", which is not in it',
  ],
  ['length', object({}, { description: 'x'.repeat(200_000) }), 'characters, more than 131072'],
])('a schema with a reference to, or with %s is refused in words', (_, given, why) => {
  expect(problemOf(given)).toContain(why);
});

const check = async (schema: Schema, args: Record<string, unknown>) => (await createArgumentCheck(schema))(args);

test('arguments that do not fit are told by what is wrong first', async () => {
  const schema = object(
    { n: { type: 'integer', maximum: 3 }, kind: { enum: ['a', 'b'] }, list: { items: { required: ['x'] } } },
    { additionalProperties: false, required: ['n'] },
  );
  expect(await check(schema, { n: 1, kind: 'a', list: [{ x: 1 }] })).toBeNull();
  expect(await check(schema, {})).toBe('n is missing.');
  expect(await check(schema, { n: 4 })).toBe('n must be <= 3.');
  expect(await check(schema, { n: 1, kind: 'c' })).toBe('kind must be one of "a", "b".');
  expect(await check(schema, { n: 1, list: [{}] })).toBe('list.0.x is missing.');
  expect(await check(schema, { n: 1, other: 1 })).toBe('other is not known; known: n, kind, list.');
});

test('what could take long is left to the server, and never refuses what the schema takes', async () => {
  const slow = object({ a: { type: 'string', pattern: '^(a+)+$' } });
  expect(await check(slow, { a: `${'a'.repeat(40)}!` })).toBeNull();
  expect(await check(slow, { a: 7 })).toBe('a must be a text, not 7.');
  const unique = object({ a: { type: 'array', uniqueItems: true } });
  expect(await check(unique, { a: Array.from({ length: 20_000 }, (_, i) => ({ i })) })).toBeNull();
  const byPattern = object({}, { patternProperties: { '^x-': {} }, additionalProperties: false });
  expect(await check(byPattern, { 'x-a': 1 })).toBeNull();
  const notThat = object({ a: { not: { pattern: 'never' } } });
  expect(await check(notThat, { a: 'x' })).toBeNull();
  const oneOf = object({ a: { oneOf: [{ pattern: '^a' }, { pattern: '^b' }] } });
  expect(await check(oneOf, { a: 'b' })).toBeNull();
  const oneType = object({ a: { oneOf: [{ type: 'string' }, { type: 'number' }], anyOf: [{ minimum: 3 }] } });
  expect([await check(oneType, { a: 4 }), await check(oneType, { a: [] })]).toEqual([null, expect.any(String)]);
  const unevaluated = JSON.parse('{"if":{},"then":{"properties":{"a":{}}},"unevaluatedProperties":false}') as Schema;
  expect(await check(unevaluated, { a: 1 })).toBeNull();
  const broken = object({ a: { minLength: 'many' } });
  expect(await check(broken, { a: 'x' })).toBeNull();
});

test('a schema that unfolds to very much, or refers to itself, is not compiled; definitions count where they are used', async () => {
  const $defs: Record<string, object> = { d0: { type: 'string' } };
  for (let level = 1; level < 40; level += 1) {
    $defs[`d${level}`] = { anyOf: [{ $ref: `#/$defs/d${level - 1}` }, { $ref: `#/$defs/d${level - 1}` }] };
  }
  const bomb = schemaOf({ ...object({ a: { $ref: '#/$defs/d39' } }), $defs });
  expect(weigh(bomb)).toBeGreaterThan(1e9);
  const self = schemaOf({
    ...object({ a: { $ref: '#/$defs/n' } }),
    $defs: { n: { anyOf: [{ items: { $ref: '#/$defs/n' } }] } },
  });
  expect(weigh(self)).toBe(Number.POSITIVE_INFINITY);
  let value: unknown = 7;
  for (let level = 0; level < 60; level += 1) value = [value];
  // Neither comes back within a lifetime where it is really looked at.
  expect([await check(bomb, { a: 7 }), await check(self, { a: value })]).toEqual([null, null]);
  expect(weigh(schemaOf({ ...object({ a: {} }), $defs }))).toBe(2);
});

test('no word of the checker’s own makes it answer later: a bad argument is told, and nothing is left to fail alone', async () => {
  const unhandled: unknown[] = [];
  const hear = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', hear);
  onTestFinished(() => void process.off('unhandledRejection', hear));
  const late = { $async: true, ...object({ a: { $async: true, type: 'string' } }, { required: ['a'] }) };
  const behind = object({ a: { $ref: '#/$defs/A' } }, { $defs: { A: { $async: true, type: 'string' } } });
  // As it is listed now, and as it stands in a row of before.
  for (const schema of [schemaOf(late), late, schemaOf(behind), behind]) {
    expect(await check(schema, { a: 7 })).toBe('a must be a text, not 7.');
    expect(await check(schema, { a: 'x' })).toBeNull();
  }
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});

test('what ajv knows beside JSON Schema refuses nothing that the schema takes', async () => {
  const nullable = object({ a: { type: 'string', nullable: true }, b: { nullable: true, maximum: 3 } });
  expect(await check(nullable, { a: null, b: 1 })).toBeNull();
  expect(await check(nullable, { a: 'x', b: 4 })).toBe('b must be <= 3.');
  const never = object({ a: { type: ['string', 'null'], nullable: false } });
  expect(await check(never, { a: null })).toBeNull();
  expect(await check(never, { a: 7 })).toBe('a must be string,null.');
  const data = object({ a: { maximum: { $data: '1/b' } }, b: {} });
  expect(await check(data, { a: 7, b: 1 })).toBeNull();
  const tagged = object({ a: { discriminator: { propertyName: 'kind' }, oneOf: [{ type: 'object' }] } });
  expect(await check(tagged, { a: {} })).toBeNull();
});

/** How often a function looks into an object or a list. Ends it where that is beyond all measure. */
function looksOf(work: () => unknown): number {
  let looks = 0;
  const real = { values: Object.values, entries: Object.entries };
  const counted =
    <T>(look: (of: object) => T) =>
    (of: object) => {
      looks += 1;
      if (looks > 1e6) throw new Error('It looks far too often.');
      return look(of);
    };
  try {
    Object.assign(Object, { values: counted(real.values), entries: counted(real.entries) });
    work();
  } finally {
    Object.assign(Object, real);
  }
  return looks;
}

/** Each reference leads to the last of many parts. */
const referring = (references: number) =>
  object({
    ...Object.fromEntries(Array.from({ length: references }, (_, i) => [`p${i}`, { $ref: '#z' }])),
    z: { $anchor: 'z' },
  });

test('a schema is looked through a few times, however many references are in it and wherever they lead', () => {
  // To refuse it is no more work than to take it.
  for (const references of [1000, 2000, 4000]) {
    const schema = referring(references);
    for (const work of [() => normaliseSchema(schema, 'input'), () => weigh(schema)]) {
      const looks = looksOf(work);
      expect(looks).toBeGreaterThan(references / 2);
      expect(looks).toBeLessThan(10 * references);
    }
  }
  expect(weigh(schemaOf(referring(1000)))).toBe(2002);
});

test('references that follow one another, as many as there may be, are followed to their end', () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 2000 }, (_, i) => [`d${i}`, i === 1999 ? {} : { $ref: `#/$defs/d${i + 1}` }]),
  );
  expect(weigh(schemaOf({ ...object({ a: { $ref: '#/$defs/d0' } }), $defs }))).toBe(2002);
});
