/** What a person sees on a terminal and a program reads from a pipe: colours, tables that fit, the pager, progress. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createOutput } from '../../src/cli/output.ts';
import { coloured } from '../../src/cli/paint.ts';
import { createProgress } from '../../src/cli/progress.ts';
import { brokenTable, table } from '../../src/cli/table.ts';

function terminal(
  shape: { isTTY?: boolean; columns?: number; rows?: number } = { isTTY: true, columns: 80, rows: 24 },
) {
  const written: string[] = [];
  const stream = { ...shape, write: (text: string) => written.push(text) };
  return { stream, text: () => written.join('') };
}

const shownWith = (env: Record<string, string>, shape?: { isTTY?: boolean }, json = false) => {
  const { stream, text } = terminal(shape);
  createOutput({ stdout: stream, stderr: stream }, json, env).result({ a: 1 }, () =>
    table(['bot', 'state'], [['web', 'failed']], 80),
  );
  return text();
};

test('a terminal gets colours, a pipe none', () => {
  expect(shownWith({})).toBe('\u001b[1mBOT\u001b[0m  \u001b[1mSTATE\u001b[0m\nweb  \u001b[31mfailed\u001b[0m\n');
  expect(shownWith({}, {})).toBe('BOT  STATE\nweb  failed\n');
});

test('NO_COLOR and a dumb terminal take colours away, FORCE_COLOR gives them, and JSON never has any', () => {
  expect(shownWith({ NO_COLOR: '1', FORCE_COLOR: '1' })).not.toContain('\u001b');
  expect(shownWith({ TERM: 'dumb' })).not.toContain('\u001b');
  expect(shownWith({ FORCE_COLOR: '0' })).not.toContain('\u001b');
  expect(shownWith({ FORCE_COLOR: '1' }, {})).toContain('\u001b[31mfailed');
  expect(shownWith({ FORCE_COLOR: '1' }, {}, true)).toBe('{"a":1}\n');
});

const cells = (text: string) => [...text].length;

test.each([40, 60, 80, 100])('a table fits %d columns, and cuts prose before ids', (width) => {
  const rows = [
    [
      'run_0123456789',
      'needs you',
      'Ship the change that was asked for in the long thread',
      'somebody said a great many words here',
    ],
    ['run_9876543210', 'done', 'Short', '-'],
  ];
  const lines = coloured(table(['run', 'state', 'title', 'why'], rows, width), false).split('\n');
  for (const line of lines) expect(cells(line)).toBeLessThanOrEqual(width);
  expect(lines[1]).toMatch(/^run_0123456789 {2}needs you/);
  expect(lines[1]).toContain('…');
});

test('a table that loses nothing breaks its last column between words, below itself', () => {
  const rows = [
    ['ok', 'Sandbox', 'Commands run in bubblewrap: they can change only their own folder.'],
    ['ok', 'git', '2.39'],
  ];
  const shown = (width: number) => coloured(brokenTable(['state', 'what', 'detail'], rows, width), false).split('\n');
  expect(shown(56)).toEqual([
    'STATE  WHAT     DETAIL',
    'ok     Sandbox  Commands run in bubblewrap: they can',
    '                change only their own folder.',
    'ok     git      2.39',
  ]);
  // Too narrow to be read in lines, and read by a program: as any other table.
  expect(shown(40)).toHaveLength(3);
  expect(shown(0)).toHaveLength(3);
});

test('a table that fits is not cut, and one nobody looks at never is', () => {
  const row = ['run_1', 'x'.repeat(300)];
  expect(coloured(table(['run', 'why'], [row], 0), false)).toContain('x'.repeat(300));
  expect(coloured(table(['run', 'why'], [['run_1', 'short']], 20), false)).toBe('RUN    WHY\nrun_1  short');
});

const long = Array.from({ length: 60 }, (_, line) => `line ${line}`).join('\n');

function paged(env: Record<string, string>, shape?: Parameters<typeof terminal>[0], stays = false) {
  const file = join(mkdtempSync(join(tmpdir(), 'gantry-pager-')), 'paged');
  const { stream, text } = terminal(shape);
  const given = { PATH: process.env.PATH ?? '', PAGER: `cat > ${file}`, ...env };
  createOutput({ stdout: stream, stderr: stream }, false, given, () => stays).result({}, () => long);
  const read = () => {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return null;
    }
  };
  return { paged: read(), direct: text() };
}

test('what is longer than the terminal is read in the pager', () => {
  expect(paged({})).toEqual({ paged: `${long}\n`, direct: '' });
});

test('there is no pager in a pipe, for a bot, for what stays on the screen, or where none is wanted', () => {
  const direct = { paged: null, direct: `${long}\n` };
  expect(paged({}, {})).toEqual(direct);
  expect(paged({ GANTRY_TOKEN_FILE: '/x' })).toEqual(direct);
  expect(paged({ PAGER: '' })).toEqual(direct);
  expect(paged({}, undefined, true)).toEqual(direct);
  expect(paged({}, { isTTY: true, columns: 80, rows: 100 })).toEqual(direct);
});

test('a pager that does not exist costs nobody the text', () => {
  expect(paged({ PAGER: 'no-such-pager-anywhere 2>/dev/null' }).direct).toBe(`${long}\n`);
});

test('progress is one line on a terminal that is taken away at the end, and nothing elsewhere', () => {
  const seen = terminal();
  let now = 0;
  const progress = createProgress(seen.stream, 'Backing up', () => now);
  progress.at(0, 100, 'cloud.db');
  now = 10_000;
  progress.at(25, 100, 'run\u001b[2J\ntime.db');
  expect(seen.text()).toContain('25 %, 30 s left  run\uFFFD[2J time.db');
  progress.end();
  expect(seen.text().endsWith('\r\u001b[K')).toBe(true);
  expect(seen.text()).not.toContain('\n');
  const endless = terminal();
  const waiting = createProgress(endless.stream, 'document.pdf', () => now);
  now = 22_000;
  waiting.at(0, null, 'Converting the document');
  expect(endless.text()).toContain('document.pdf  12 s  Converting the document');
  const pipe = terminal({});
  const silent = createProgress(pipe.stream, 'Backing up');
  silent.at(1, 2);
  silent.end();
  expect(pipe.text()).toBe('');
});
