import { expect, test } from 'vitest';
import { formSchemaOf } from '../../../src/renderer/ui/form-schema.ts';
import { firstTexts, pathTo, problemsOf, textsOf, valuesOf, withRow } from '../../../src/renderer/ui/schema-fields.ts';

const issue = {
  type: 'object',
  required: ['repo', 'title', 'draft'],
  properties: {
    repo: {
      type: 'object',
      required: ['owner', 'name'],
      properties: { owner: { type: 'string' }, name: { type: 'string' }, private: { type: 'boolean', default: true } },
    },
    title: { type: 'string' },
    draft: { type: 'boolean' },
    labels: { type: 'array', items: { type: 'string' } },
    assignees: { type: 'array', items: { $ref: '#/$defs/person' } },
    priority: { enum: [1, 2, 'high', null] },
    state: { oneOf: [{ const: 'open' }, { const: 'closed' }] },
    due: { anyOf: [{ type: 'string', format: 'date' }, { type: 'null' }] },
    loud: { type: 'boolean' },
    filter: { oneOf: [{ type: 'string' }, { type: 'object', properties: { a: { type: 'string' } } }] },
    options: {
      type: 'object',
      required: ['depth'],
      properties: { depth: { type: 'integer' }, follow: { type: 'boolean', default: false } },
    },
    extra: { type: 'object', additionalProperties: { type: 'string' } },
  },
  $defs: {
    person: {
      type: 'object',
      required: ['login'],
      properties: { login: { type: 'string' }, boss: { $ref: '#/$defs/person' } },
    },
  },
} as const;

const form = () => {
  const schema = formSchemaOf(issue);
  if (schema === null) throw new Error('There is no form.');
  return schema;
};

test('objects, lists, choices and references become fields; what may be several things becomes JSON', () => {
  const { properties } = form();
  expect(properties.repo).toMatchObject({ type: 'object', required: ['owner', 'name'] });
  expect(properties.labels).toMatchObject({ type: 'array', items: { type: 'string' } });
  expect(properties.assignees?.items?.properties).toMatchObject({ login: { type: 'string' } });
  expect(properties.priority).toMatchObject({ enum: ['1', '2', 'high'], enumValues: [1, 2, 'high'] });
  expect(properties.state).toMatchObject({ enum: ['open', 'closed'] });
  expect(properties.due).toMatchObject({ type: 'string', multiline: false });
  expect(properties.loud).toMatchObject({ enum: ['true', 'false'], enumValues: [true, false] });
  expect(properties.draft).toMatchObject({ type: 'boolean' });
  expect(properties.filter?.type).toBe('json');
  expect(properties.extra?.type).toBe('json');
});

test('values come out as the schema has them, and what nobody touched is left out', () => {
  const schema = form();
  const texts: Record<string, string> = {
    ...firstTexts(schema),
    'repo/owner': 'ada',
    'repo/name': 'engine',
    title: 'It stops',
    labels: '0 3',
    'labels/0': 'bug',
    'labels/3': 'urgent',
    'labels/1': 'a row that was removed',
    priority: '2',
    filter: '{"a": "x"}',
  };
  expect(problemsOf(schema, texts)).toEqual({});
  expect(valuesOf(schema, texts)).toEqual({
    repo: { owner: 'ada', name: 'engine', private: true },
    title: 'It stops',
    draft: false,
    labels: ['bug', 'urgent'],
    priority: 2,
    filter: { a: 'x' },
  });
});

test('an object that may be left out asks for its needed fields as soon as one of it is touched', () => {
  const schema = form();
  const texts = { ...firstTexts(schema), 'repo/owner': 'a', 'repo/name': 'b', title: 'c', 'options/follow': 'true' };
  expect(problemsOf(schema, texts)).toEqual({ 'options/depth': 'Required.' });
});

test('the rows of a list are each needed, and a new one takes no name that is in use', () => {
  const schema = form();
  const texts = { ...firstTexts(schema), 'repo/owner': 'a', 'repo/name': 'b', title: 'c', labels: withRow(['0', '4']) };
  expect(texts.labels).toBe('0 4 5');
  expect(Object.keys(problemsOf(schema, texts))).toEqual(['labels/0', 'labels/4', 'labels/5']);
});

test('text that is no JSON is said with its place', () => {
  const texts = {
    ...firstTexts(form()),
    'repo/owner': 'a',
    'repo/name': 'b',
    title: 'c',
    filter: '{\n  "a": 1 "b"\n}',
  };
  expect(problemsOf(form(), texts).filter).toMatch(/^Invalid JSON: .*line 2/);
  expect(problemsOf(form(), { ...texts, filter: '{"a": ]}' }).filter).toBe("Invalid JSON: Unexpected token ']'.");
});

test('values put into the fields come out the same', () => {
  const schema = form();
  const values = {
    repo: { owner: 'ada', name: 'engine', private: false },
    title: 'two\nlines',
    draft: true,
    labels: ['a', 'b'],
    assignees: [{ login: 'bob' }, { login: 'eve', boss: { login: 'bob' } }],
    priority: 'high',
    state: 'closed',
    due: '2026-11-21',
    loud: false,
    options: { depth: 2, follow: false },
    extra: { one: 'x' },
  };
  expect(valuesOf(schema, textsOf(schema, values))).toEqual(values);
});

test('a name with a slash is another field than a path', () => {
  const schema = formSchemaOf({
    type: 'object',
    properties: { 'a/b': { type: 'string' }, a: { type: 'object', properties: { b: { type: 'string' } } } },
  });
  expect(valuesOf(schema!, { [pathTo('', 'a/b')]: 'one', 'a/b': 'two' })).toEqual({ 'a/b': 'one', a: { b: 'two' } });
});

test('schemas of strangers end: circles, thousands of fields, and what is no object at all', () => {
  const circle = { type: 'object', properties: { next: { $ref: '#' }, self: { $ref: '#/properties/self' } } };
  expect(formSchemaOf(circle)?.properties).toMatchObject({ next: { type: 'json' }, self: { type: 'json' } });
  const many = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`f${index}`, { type: 'string' }]));
  expect(formSchemaOf({ type: 'object', properties: many })).toBeNull();
  expect(formSchemaOf({ type: 'array' })).toBeNull();
  expect(formSchemaOf({ type: 'object', required: ['a'] })).toBeNull();
  expect(formSchemaOf({ type: 'object', properties: { a: {} }, oneOf: [{ required: ['a'] }] })).toBeNull();
  expect(formSchemaOf({ type: 'object' })).toEqual({ properties: {}, required: [] });
});

test('a text that is short by its nature has one line: by its name, its format or its greatest length', () => {
  const texts = ['path', 'base_url', 'repoId', 'title', 'command', 'content', 'body'];
  const schema = formSchemaOf({
    type: 'object',
    properties: {
      ...Object.fromEntries(texts.map((name) => [name, { type: 'string' }])),
      code: { type: 'string', maxLength: 40 },
      essay: { type: 'string', maxLength: 4000 },
    },
  });
  const long = Object.entries(schema?.properties ?? {}).filter(([, field]) => field.multiline === true);
  expect(long.map(([name]) => name)).toEqual(['command', 'content', 'body', 'essay']);
});
