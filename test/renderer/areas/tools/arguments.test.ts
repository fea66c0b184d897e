import { expect, test } from 'vitest';
import type { AttachedServer } from '../../../../src/contracts/tool-server/servers.ts';
import { argumentsOf, asFields, asJson } from '../../../../src/renderer/areas/tools/arguments.ts';
import { prettyJson, resultAsJson } from '../../../../src/renderer/areas/tools/result-words.ts';
import {
  filterTools,
  groupsOf,
  hintsOf,
  sizeOfBase64,
  tookWords,
} from '../../../../src/renderer/areas/tools/tool-words.ts';
import { looksLikeMarkdown } from '../../../../src/renderer/ui/looks-like-markdown.ts';

const schema = {
  properties: { path: { type: 'string' }, depth: { type: 'integer' } },
  required: ['path'],
} as const;

test('fields become JSON and come back, as long as the form has a field for everything', () => {
  const typed = { texts: { path: 'a.txt', depth: '2' }, json: null };
  const json = asJson(schema, typed);
  expect(JSON.parse(json.json ?? '')).toEqual({ path: 'a.txt', depth: 2 });
  expect(asFields(schema, json)).toEqual(typed);
  // What is still needed is no obstacle.
  expect(asFields(schema, { texts: {}, json: '{"depth": 1}' })?.texts).toEqual({ path: '', depth: '1' });
  expect(asFields(schema, { texts: {}, json: '{"path": "a", "color": "red"}' })).toBeNull();
  expect(asFields(schema, { texts: {}, json: '{"path": 7}' })).toBeNull();
  expect(asFields(schema, { texts: {}, json: '{"path": "a"' })).toBeNull();
});

test('JSON that is no object is refused where it was typed; none at all is none of the arguments', () => {
  expect(argumentsOf(null, { texts: {}, json: '[1]' })).toEqual({
    problems: { '': 'Must be an object: { "name": value }.' },
    values: null,
  });
  expect(argumentsOf(null, { texts: {}, json: '{"a":' }).problems['']).toMatch(/^Invalid JSON: /);
  expect(argumentsOf(null, { texts: {}, json: ' ' })).toEqual({ problems: {}, values: {} });
});

const tool = (name: string, more: object = {}) => ({ name, inputSchema: { type: 'object' }, server: null, ...more });

test('a filter takes every word in name, title or description, within one server or all', () => {
  const tools = [
    tool('file.list', { description: 'Lists a folder; to read one of its files, see the others' }),
    tool('file.read', { description: 'Reads a file' }),
    tool('document.pdf', { title: 'PDF to Markdown' }),
    tool('github.read', { server: 'github' }),
  ];
  const names = (group: string | null, text: string) => filterTools(tools, { group, text }).map((one) => one.name);
  // Those that are called so come first.
  expect(names(null, 'READ')).toEqual(['file.read', 'github.read', 'file.list']);
  expect(names(null, 'read file')).toEqual(['file.read', 'file.list']);
  expect(names('github', '')).toEqual(['github.read']);
  expect(names('documents.', 'markdown')).toEqual(['document.pdf']);
  expect(names('gantry.', 'read')).toEqual(['file.read', 'file.list']);
});

test('tools and servers stand in the order in which a person counts', () => {
  const tools = ['pc10.run', 'pc2.run'].map((name) => tool(name));
  expect(filterTools(tools, { group: null, text: '' }).map(({ name }) => name)).toEqual(['pc2.run', 'pc10.run']);
  const servers = ['pc10', 'pc2'].map((name) => ({ name, transport: { type: 'http', url: 'http://localhost/' } }));
  const groups = groupsOf(servers as unknown as readonly AttachedServer[]).map(({ name }) => name);
  expect(groups.slice(-2)).toEqual(['pc2', 'pc10']);
});

test('hints say only what a tool says of itself', () => {
  const words = (annotations: object) => hintsOf(tool('x', { annotations })).map(({ word }) => word);
  expect(words({})).toEqual([]);
  expect(words({ readOnlyHint: true, destructiveHint: true, idempotentHint: true })).toEqual(['read-only']);
  expect(words({ destructiveHint: true, idempotentHint: true, openWorldHint: true })).toEqual([
    'destructive',
    'repeatable',
    'external',
  ]);
});

test('results are read as what they are: JSON with its lines, Markdown where it surely is, long data by its size', () => {
  expect(prettyJson('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
  expect(prettyJson('{not json')).toBeNull();
  expect(prettyJson('42')).toBeNull();
  expect(looksLikeMarkdown('# Title\n\ntext')).toBe(true);
  expect(looksLikeMarkdown('| a | b |\n| --- | --- |\n| 1 | 2 |')).toBe(true);
  expect(looksLikeMarkdown('drwxr-xr-x - 1 root\n- one line')).toBe(false);
  expect(resultAsJson({ data: 'x'.repeat(30_000) })).toContain('(30000 characters in all)');
  expect(sizeOfBase64(btoa('hello'))).toBe(5);
  expect([tookWords(230), tookWords(1234), tookWords(64_000)]).toEqual(['230 ms', '1.2 s', '1:04']);
});
