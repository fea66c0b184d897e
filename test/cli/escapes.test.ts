/** What a bot wrote cannot act on the terminal of whoever reads it, nor pass for a row of Gantry's. All verbs: the figure `cli.escapes`. */
import { expect, test } from 'vitest';
import { createOutput } from '../../src/cli/output.ts';
import { coloured } from '../../src/cli/paint.ts';
import { facts, table } from '../../src/cli/table.ts';
import { AppError } from '../../src/contracts/common/errors.ts';
import { agent, at, run, startEngine } from './support.ts';

const hostile = 'build\u001b]52;c;ZXZpbA==\u0007\u009b31m\u202e\nlease_2  name  deploy  owner';

const plain = (text: string) => coloured(text, false);
const forgedLines = (text: string) => text.split('\n').filter((line) => line.startsWith('lease_2'));

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
  expect(forgedLines(shown.err)).toEqual([]);
});

test('what stands below a table begins no line of its own', async () => {
  const invalid = [{ name: 'evil', problems: [{ path: 'bots', line: null, message: hostile }] }];
  const engine = await startEngine({ answers: { listTeams: () => ({ teams: [], invalid, note: hostile }) } });
  expect(forgedLines((await run(engine.env, ['teams', 'ls'])).out)).toEqual([]);
});

test('what is mended by a hint of the doctor begins no line of its own', async () => {
  const check = { name: 'Claude', group: 'harness', state: 'missing', version: null, detail: 'gone', fix: hostile };
  const engine = await startEngine({ answers: { doctor: () => ({ checks: [check] }) } });
  expect(forgedLines((await run(engine.env, ['agents', 'doctor'])).out)).toEqual([]);
});

test('keys that would be pressed are said again on one line', async () => {
  const engine = await startEngine({ agents: [agent('web')] });
  const planned = await run(engine.env, ['agents', 'input', 'web', '--key', hostile, '--dry-run']);
  expect(planned.out).toContain('then press build');
  expect(forgedLines(planned.out)).toEqual([]);
});

test('what GANTRY_DEBUG shows beside a problem cannot act on the terminal, nor pass for a line of Gantry’s', async () => {
  const claimLease = () => {
    throw new AppError('refused', `deploy is held by web@demo (${hostile}).`, 'Wait.', { status: 409 });
  };
  const engine = await startEngine({ answers: { claimLease } });
  const held = await run({ ...engine.env, GANTRY_DEBUG: '1' }, ['workspace', 'leases', '--claim', 'deploy']);
  expect(held.err.split('deploy is held by web@demo')).toHaveLength(3);
  expect(held.err).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
  expect(forgedLines(held.err)).toEqual([]);
});

test('a note and the id of a failed request are lines of Gantry’s alone', () => {
  let out = '';
  const stream = { write: (text: string) => (out += text) };
  const output = createOutput({ stdout: stream, stderr: stream }, false);
  output.note(hostile);
  output.problem(new AppError('internal', 'It failed.', 'Report it.', { extra: { requestId: hostile } }));
  expect(out).toContain('Request build');
  expect(out).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
  expect(forgedLines(out)).toEqual([]);
});

test('with colours a text is made harmless first: only Gantry’s own colours are printed', async () => {
  const posing = `\u001b[31mred\u001b[0m \uE0F0${'A'.repeat(12)}31\uE0F1 ${hostile}`;
  const engine = await startEngine({
    agents: [agent('web', { state: 'needs_you', stateReason: posing })],
    answers: { listLeases: () => ({ leases: [{ ...lease, key: posing }] }) },
  });
  for (const argv of [
    ['agents', 'ls'],
    ['agents', 'show', 'web'],
    ['workspace', 'leases'],
    ['agents', 'show', posing],
  ]) {
    const shown = await run({ ...engine.env, FORCE_COLOR: '1' }, argv);
    const text = shown.out + shown.err;
    expect(text, argv.join(' ')).toContain('\u001b[');
    expect(text).toContain('[31mred');
    expect(text.replace(/\u001b\[(?:0|1|2|31|32|33|36)m/g, '')).not.toMatch(/(?!\n)\p{Cc}|\u202e/u);
    expect(forgedLines(text)).toEqual([]);
  }
});

test('every cell of a table and every name and value of a fact is one line', () => {
  expect(plain(table(['a', 'b'], [['x\ny\tz', '\u001b[2J']], 0))).toBe('A        B\nx\\ny\\tz  \uFFFD[2J');
  expect(plain(facts([['note', 'one\ntwo']]))).toBe('note  one\\ntwo');
  expect(plain(facts([['a\nb', 'c']]))).toBe('a\\nb  c');
});
