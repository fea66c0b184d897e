import { expect, test } from 'vitest';
import { callsOnly } from '../../scripts/page-routes.ts';

test('a route of the page keeps how it is called, and none of its schemas', () => {
  const code = `import { defineRoute } from './route.ts';
const Own = z.strictObject({ id: z.string() });
export const readNote = defineRoute({
  op: 'readNote',
  summary: 'One note, (see: body)',
  method: 'GET',
  path: '/notes/:id',
  owner: { param: 'id', noun: 'note' },
  params: Own,
  answers: { 200: z.strictObject({ text: z.string(), answers: z.array(Own) }) },
  kind: 'sse',
  events: { gone: Own },
  errors: 'plain'
});
export const other = { body: 1, answers: 2 };`;
  const kept = callsOnly(code);
  const run = new Function(
    'defineRoute',
    'z',
    `${kept?.replace(/^import .*$/m, '').replaceAll('export ', '')}; return { readNote, other };`,
  );
  const schema = { strictObject: () => 'a schema', string: () => '', array: () => '' };
  expect(run((route: unknown) => route, schema)).toEqual({
    readNote: { op: 'readNote', method: 'GET', path: '/notes/:id', kind: 'sse', events: { gone: 'a schema' } },
    other: { body: 1, answers: 2 },
  });
});

test('what is no route stays as it is', () => {
  expect(callsOnly('export const body = { answers: 1 };')).toBeNull();
  expect(callsOnly('export const { body } = defineRoute(whole); // defineRoute({ body })')).toBeNull();
});
