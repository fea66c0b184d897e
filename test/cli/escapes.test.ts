/** What a bot wrote cannot act on the terminal of whoever reads it, nor pass for a row of Gantry's. All verbs: the figure `cli.escapes`. */
import { expect, test } from 'vitest';
import { facts, table } from '../../src/cli/table.ts';
import { agent, at, run, startEngine } from './support.ts';

const hostile = 'build\u001b]52;c;ZXZpbA==\u0007\u009b31m\u202e\nlease_2  name  deploy  owner';

const lease = {
  id: 'lease_1',
  kind: 'name',
  key: hostile,
  holder: 'web@demo',
  fence: 1,
  note: null,
  claimedAt: at,
  expiresAt: at,
} as const;

test('the name of a lease that a bot chose is one cell, and no control character of it is printed', async () => {
  const engine = await startEngine({ answers: { listLeases: () => ({ leases: [lease] }) } });
  const list = await run(engine.env, ['workspace', 'leases']);
  expect(list.out.trimEnd().split('\n')).toHaveLength(2);
  expect(list.out).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
  expect(list.out).toContain('build\uFFFD]52;c;ZXZpbA==');
});

test('a JSON document keeps the text whole, and has no control character either', async () => {
  const engine = await startEngine({ answers: { listLeases: () => ({ leases: [lease] }) } });
  const document = await run(engine.env, ['workspace', 'leases', '--json']);
  expect(document.json().leases).toEqual([lease]);
  expect(document.out).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
});

test('a problem that quotes a bot cannot act on the terminal, and its lines do not pass for Gantry’s', async () => {
  const engine = await startEngine({ agents: [agent('web')] });
  const shown = await run(engine.env, ['agents', 'show', `none${hostile}`]);
  expect(shown.code).not.toBe(0);
  expect(shown.err).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
  expect(shown.err.split('\n').some((line) => line.startsWith('lease_2'))).toBe(false);
});

test('what stands below a table begins no line of its own', async () => {
  const invalid = [{ name: 'evil', problems: [{ path: 'bots', line: null, message: hostile }] }];
  const engine = await startEngine({ answers: { listTeams: () => ({ teams: [], invalid, note: hostile }) } });
  expect((await run(engine.env, ['teams', 'ls'])).out.split('\n').some((line) => line.startsWith('lease_2'))).toBe(
    false,
  );
});

test('every cell of a table and every value of a fact is one line', () => {
  expect(table(['a', 'b'], [['x\ny\tz', '\u001b[2J']], 0)).toBe('A        B\nx\\ny\\tz  \uFFFD[2J');
  expect(facts([['note', 'one\ntwo']])).toBe('note  one\\ntwo');
});
