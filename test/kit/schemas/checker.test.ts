import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createSchemaChecker, type SchemaChecker } from '../../../src/kit/schemas/checker.ts';

type Json = Record<string, unknown>;

let checker: SchemaChecker;
beforeAll(() => {
  checker = createSchemaChecker({ timers: systemTimers });
});
afterAll(() => checker.close());

const check = (schema: Json, value: unknown) => checker.check(schema, value);
const fits = { ok: true, problem: null, unusable: false };
const misfit = (problem: unknown = expect.any(String)) => ({ ok: false, problem, unusable: false });
const unusable = (problem: unknown = expect.any(String)) => ({ ok: false, problem, unusable: true });
const properties = (count: number, one: Json = { type: 'string' }) => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, one])),
});
function nested(levels: number, wrap: (inner: unknown) => unknown, core: unknown = {}): unknown {
  let made = core;
  for (let level = 0; level < levels; level += 1) made = wrap(made);
  return made;
}

test('what fits, fits; what does not is said by its place and what was expected, never by what was sent', async () => {
  const schema = {
    type: 'object',
    properties: {
      issue: { type: 'object', properties: { title: { type: 'string' }, state: { enum: ['open', 'closed'] } } },
    },
    required: ['issue'],
    additionalProperties: false,
  };
  expect(await check(schema, { issue: { title: 'It breaks', state: 'open' } })).toEqual(fits);
  expect(await check(schema, { issue: { title: 42 } })).toEqual(misfit('issue.title must be string.'));
  expect(await check(schema, {})).toEqual(misfit("It must have required property 'issue'."));
  const secret = await check(schema, { issue: { state: 'hunter2' } });
  expect(secret).toEqual(misfit('issue.state must be equal to one of the allowed values: ["open","closed"].'));
  expect(await check(schema, { issue: {}, more: 1 })).toEqual(misfit('It must not have "more".'));
});

test('references to the web, to files and to what stands elsewhere are refused, and nobody is called', async () => {
  let calls = 0;
  const server = createServer((socket) => {
    calls += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  const away = [
    `http://127.0.0.1:${port}/a.json`,
    'file:///etc/passwd',
    '/etc/passwd',
    'other.json#/a',
    '//host/a.json',
  ];
  for (const reference of away) {
    for (const schema of [{ $ref: reference }, { properties: { a: { $ref: reference } } }]) {
      expect([reference, await check(schema, { a: 1 })]).toEqual([
        reference,
        unusable(expect.stringContaining('outside itself')),
      ]);
    }
  }
  expect(await check({ $dynamicRef: 'file:///etc/passwd#a' }, 1)).toEqual(unusable());
  // With a base of its own a relative reference would lead to the web.
  const based = { $id: `http://127.0.0.1:${port}/b.json`, properties: { a: { $ref: 'a.json' } } };
  expect(await check(based, { a: 1 })).toEqual(unusable(expect.stringContaining('outside itself')));
  expect(calls).toBe(0);
  server.close();
});

test('references inside, to anchors, to embedded resources and to the meta-schema are followed, offline', async () => {
  const number = { type: 'number' };
  const schemas: Json[] = [
    { $defs: { a: number }, $ref: '#/$defs/a' },
    { $defs: { a: { ...number, $anchor: 'here' } }, $ref: '#here' },
    { $id: 'https://example.com/root', $defs: { a: { ...number, $id: 'https://example.com/a' } }, $ref: 'a' },
  ];
  for (const schema of schemas) {
    expect(await check(schema, 1)).toEqual(fits);
    expect(await check(schema, 'one')).toEqual(misfit('It must be number.'));
  }
  const meta = { $ref: 'https://json-schema.org/draft/2020-12/schema' };
  expect(await check(meta, { type: 'object' })).toEqual(fits);
  expect(await check(meta, { type: 'nothing' })).toEqual(misfit());
});

test('each schema stands alone: the same $id in two of them is no conflict', async () => {
  const named = (type: string) => ({ $id: 'https://example.com/same', type });
  expect(await check(named('string'), 'a')).toEqual(fits);
  expect(await check(named('number'), 1)).toEqual(fits);
  expect(await check(named('string'), 1)).toEqual(misfit());
});

test('a draft is read by what $schema says, and one that is not known is refused', async () => {
  const tuple = { items: [{ type: 'number' }] };
  expect(await check({ ...tuple, $schema: 'http://json-schema.org/draft-07/schema#' }, ['a'])).toEqual(misfit());
  expect(await check({ ...tuple, $schema: 'https://json-schema.org/draft/2019-09/schema' }, ['a'])).toEqual(misfit());
  const newer = { prefixItems: [{ type: 'number' }] };
  expect(await check({ ...newer, $schema: 'https://json-schema.org/draft/2020-12/schema' }, ['a'])).toEqual(misfit());
  expect(await check(newer, ['a'])).toEqual(misfit());
  for (const $schema of ['http://json-schema.org/draft-04/schema#', 'https://example.com/mine', 7, '__proto__', '']) {
    expect(await check({ $schema }, 1)).toEqual(unusable(expect.stringContaining('is written in')));
  }
});

test('a pattern that would take forever takes its time by the text alone, and one that cannot is refused', async () => {
  const bomb = { type: 'string', pattern: '^(a+)+$' };
  expect(await check(bomb, 'a'.repeat(20_000))).toEqual(fits);
  expect(await check(bomb, `${'a'.repeat(20_000)}!`)).toEqual(misfit());
  const keys = { type: 'object', patternProperties: { '^(([a-z])+.)+[A-Z]([a-z])+$': { type: 'number' } } };
  expect(await check(keys, { ['a'.repeat(10_000)]: 'x' })).toEqual(fits);
  for (const pattern of ['(?=a)b', '(?<!a)b', '(a)\\1', '(', '(((a{1000}){1000}){1000})']) {
    expect([pattern, await check({ pattern }, 'x')]).toEqual([pattern, unusable()]);
  }
  // What JavaScript writes otherwise than the linear engine.
  expect(await check({ pattern: '^(?<year>\\d{4})-\\u0041/$' }, '2026-A/')).toEqual(fits);
  expect(await check({ pattern: '^\\p{L}+$' }, 'Zürich')).toEqual(fits);
});

test('what costs too much to compile is refused before anybody tries', async () => {
  const refused: [string, Json][] = [
    ['1,001 properties', properties(1001)],
    ['1,001 branches', { anyOf: Array.from({ length: 1001 }, (_, index) => ({ const: index })) }],
    ['1,001 parts beside each other', { $defs: properties(400), ...properties(700) }],
    ['more than 64 patterns', properties(65, { pattern: 'a' })],
    ['more than 64 patterns of names', { patternProperties: properties(65).properties }],
    ['a pattern of 257 characters', { pattern: 'a'.repeat(257) }],
    ['a name’s pattern of 257 characters', { patternProperties: { ['a'.repeat(257)]: {} } }],
    ['65 levels', nested(65, (inner) => ({ not: inner })) as Json],
    ['65 levels in a default', { default: nested(65, (inner) => [inner]) }],
    ['levels that no JSON could be made of', nested(50_000, (inner) => ({ not: inner })) as Json],
    ['more than 64 KB', { description: 'x'.repeat(65_536) }],
    ['a promise', { $async: true, type: 'string' }],
    ['__proto__', JSON.parse('{"properties":{"__proto__":{"type":"number"}}}') as Json],
    [
      'a pattern in what no draft knows, which a reference could lead to',
      { 'x-own': properties(65, { pattern: 'a' }), $ref: '#/x-own' },
    ],
  ];
  for (const [name, schema] of refused) expect([name, await check(schema, {})]).toEqual([name, unusable()]);
});

test('what is just within the bounds is used', async () => {
  expect(await check(properties(999), { p1: 'a' })).toEqual(fits);
  expect(await check(properties(64, { pattern: '^[a-z]{1,200}$' }), { p1: 'a' })).toEqual(fits);
  expect(await check(nested(63, (inner) => ({ properties: { a: inner } }), { type: 'string' }) as Json, {})).toEqual(
    unusable(),
  );
  expect(await check(nested(31, (inner) => ({ properties: { a: inner } }), { type: 'string' }) as Json, {})).toEqual(
    fits,
  );
  expect(await check({ enum: Array.from({ length: 3000 }, (_, index) => index) }, 2999)).toEqual(fits);
});

test('a property may be called like a keyword', async () => {
  const names = [
    'pattern',
    'enum',
    'const',
    'required',
    'type',
    'items',
    '$ref',
    'default',
    'properties',
    'constructor',
  ];
  const schema = { type: 'object', properties: Object.fromEntries(names.map((name) => [name, { type: 'number' }])) };
  for (const name of names) {
    expect([name, await check(schema, { [name]: 1 })]).toEqual([name, fits]);
    expect([name, await check(schema, { [name]: 'x' })]).toEqual([name, misfit(`${name} must be number.`)]);
  }
});

test('values that are too deep, too long or too many to compare are refused, and the schema stays usable', async () => {
  expect(
    await check(
      {},
      nested(64, (inner) => [inner], 1),
    ),
  ).toEqual(fits);
  expect(
    await check(
      {},
      nested(65, (inner) => [inner]),
    ),
  ).toEqual(misfit('It is nested deeper than 64.'));
  expect(
    await check(
      {},
      nested(100_000, (inner) => [inner]),
    ),
  ).toEqual(misfit('It is nested deeper than 64.'));
  expect(await check({}, 'x'.repeat(1024 * 1024))).toEqual(misfit(expect.stringContaining('bytes')));
  const unique = { type: 'object', properties: { list: { type: 'array', uniqueItems: true } } };
  const items = (count: number) => Array.from({ length: count }, (_, index) => ({ at: { index } }));
  expect(await check(unique, { list: items(1000) })).toEqual(fits);
  expect(await check(unique, { list: [...items(999), { at: { index: 0 } }] })).toEqual(misfit());
  expect(await check(unique, { list: items(1001) })).toEqual(misfit(expect.stringContaining('more than 1000 items')));
  // It is the list that costs, not the word.
  expect(await check({ type: 'array' }, items(1001))).toEqual(fits);
});

test('a schema that refers to itself without end, or unfolds to very much, is ended, and the next question is answered', async () => {
  const branches: Json = { d40: { type: 'string' } };
  for (let level = 0; level < 40; level += 1) {
    const next = { $ref: `#/$defs/d${level + 1}` };
    branches[`d${level}`] = { allOf: [{ anyOf: [next, { $ref: next.$ref }] }] };
  }
  const hangs = { $defs: branches, $ref: '#/$defs/d0' };
  for (const schema of [
    hangs,
    { $ref: '#' },
    { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' },
  ]) {
    expect(await check(schema, 5)).toEqual(unusable());
    expect(await check({ type: 'string' }, 'a')).toEqual(fits);
  }
  // Of the same kind, with an end.
  const list = { type: 'object', properties: { next: { $ref: '#' }, value: { type: 'number' } } };
  expect(await check(list, { value: 1, next: { value: 2, next: { value: 3 } } })).toEqual(fits);
  expect(await check(list, { next: { value: 'x' } })).toEqual(misfit('next.value must be number.'));
}, 30_000);

test('while one schema hangs, this thread does not, and those behind it get their answers in order', async () => {
  const branches: Json = { d30: { type: 'string' } };
  for (let level = 0; level < 30; level += 1) {
    branches[`d${level}`] = { oneOf: [{ $ref: `#/$defs/d${level + 1}` }, { $ref: `#/$defs/d${level + 1}` }] };
  }
  const ended: string[] = [];
  const all = Promise.all([
    check({ $defs: branches, $ref: '#/$defs/d0' }, 5).then((verdict) => ended.push(`hangs ${verdict.unusable}`)),
    check({ type: 'string' }, 'a').then((verdict) => ended.push(`a ${verdict.ok}`)),
    check({ type: 'string' }, 1).then((verdict) => ended.push(`b ${verdict.ok}`)),
  ]);
  let turns = 0;
  const spin = (async () => {
    while (ended.length === 0) {
      await sleep(5);
      turns += 1;
    }
  })();
  await Promise.all([all, spin]);
  expect(ended).toEqual(['hangs true', 'a true', 'b false']);
  expect(turns).toBeGreaterThan(5);
}, 30_000);

test('a value cannot say by what it is checked ($data), and formats are held', async () => {
  const schema = { properties: { limit: { type: 'number' }, value: { maximum: { $data: '1/limit' } } } };
  expect(await check(schema, { limit: 1, value: 5 })).toEqual(unusable());
  expect(await check({ format: 'date-time' }, '2026-11-22T06:00:00Z')).toEqual(fits);
  expect(await check({ format: 'date-time' }, 'yesterday')).toEqual(misfit());
  expect(await check({ format: 'of-my-own' }, 'yesterday')).toEqual(fits);
});

test('it answers as ajv itself does, for what ajv is safe with', async () => {
  const values = [
    null,
    true,
    0,
    1.5,
    -3,
    '',
    'a',
    'aa',
    [],
    [1],
    [1, 1],
    ['a', 1],
    {},
    { a: 1 },
    { a: 'x', b: [] },
    { c: { a: null } },
  ];
  const schemas: Json[] = [
    { type: ['string', 'null'] },
    { minimum: 0, maximum: 1 },
    { multipleOf: 0.5 },
    { minLength: 1, maxLength: 1 },
    { pattern: '^a+$' },
    { items: { type: 'number' }, minItems: 1 },
    { prefixItems: [{ type: 'string' }], items: false },
    { contains: { const: 1 }, maxContains: 1 },
    { uniqueItems: true },
    { properties: { a: { type: 'number' } }, required: ['a'] },
    { patternProperties: { '^[ab]$': { type: 'string' } }, additionalProperties: false },
    { propertyNames: { maxLength: 1 } },
    // biome-ignore lint/suspicious/noThenProperty: it is a keyword of JSON Schema
    { if: { required: ['b'] }, then: { properties: { a: { const: 'x' } } }, else: { maxProperties: 1 } },
    { dependentRequired: { a: ['b'] } },
    { allOf: [{ properties: { a: true } }], unevaluatedProperties: false },
    { oneOf: [{ type: 'number' }, { type: 'integer' }] },
    { not: { type: 'object' } },
    { $defs: { n: { anyOf: [{ type: 'null' }, { $ref: '#/$defs/o' }] }, o: { type: 'object' } }, $ref: '#/$defs/n' },
    { const: { a: 1 } },
    { enum: [1.5, 'a', null] },
  ];
  const options = { strict: false, logger: false } as const;
  let refused = 0;
  for (const schema of schemas) {
    const oracle = new Ajv2020(options).compile(schema);
    const seventh = { ...schema, $schema: 'http://json-schema.org/draft-07/schema#' };
    const older = 'prefixItems' in schema || '$defs' in schema ? null : new Ajv(options).compile(seventh);
    for (const value of values) {
      const verdict = await check(schema, value);
      expect([schema, value, verdict.ok]).toEqual([schema, value, oracle(value)]);
      expect(verdict.unusable).toBe(false);
      if (older !== null)
        expect([seventh, value, (await check(seventh, value)).ok]).toEqual([seventh, value, older(value)]);
      if (!verdict.ok) refused += 1;
    }
  }
  expect(refused).toBeGreaterThan(50);
}, 30_000);

test('closed, it judges nothing that it did not check, and leaves no thread behind', async () => {
  const threads = () => Number(/^Threads:\s+(\d+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
  const other = createSchemaChecker({ timers: systemTimers });
  const before = threads();
  await other.check({ type: 'string' }, 'a');
  expect(threads()).toBeGreaterThan(before);
  const waiting = [other.check({ $ref: '#/$defs/a' }, 1), other.check({ type: 'string' }, 'a')];
  const settled = Promise.allSettled(waiting);
  await other.close();
  // Nothing is said of a value that nobody looked at: whoever sent it would never send it again.
  for (const one of await settled) {
    if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'transport' });
  }
  await expect(other.check({}, 1)).rejects.toMatchObject({ code: 'transport' });
  await expect.poll(threads).toBeLessThanOrEqual(before);
});
