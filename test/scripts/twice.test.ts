/** What of a failed test is run once more, and what counts then. */
import { expect, test } from 'vitest';

interface Row {
  readonly file: string;
  readonly id: string;
  readonly name: string;
  readonly state: string;
}
/** Scripts run before anything is installed, on a Node that knows no types. */
const { filesToRunAgain, joinRuns } = (await import(new URL('../../scripts/twice.mjs', import.meta.url).href)) as {
  filesToRunAgain(rows: readonly Row[]): string[];
  joinRuns(first: readonly Row[], second: readonly Row[]): { rows: Row[]; unstable: Row[] };
};

const row = (file: string, name: string, state: string): Row => ({
  file: `test/${file}.test.ts`,
  id: `${file}_${name}`,
  name,
  state,
});

test('only files with a failed test are run again, each once, and none when so much failed that something is broken', () => {
  const rows = [row('a', 'one', 'failed'), row('a', 'two', 'failed'), row('b', 'three', 'passed')];
  expect(filesToRunAgain(rows)).toEqual(['test/a.test.ts']);
  expect(filesToRunAgain([{ file: 'test/unhandled', id: '', name: 'of no file', state: 'failed' }])).toEqual([]);
  const many = Array.from({ length: 11 }, (_, index) => row(String(index), 'one', 'failed'));
  expect(filesToRunAgain(many)).toEqual([]);
});

test('what fails twice is failed; what fails once is passed and named', () => {
  const first = [row('a', 'twice', 'failed'), row('a', 'once', 'failed'), row('a', 'later', 'passed')];
  const second = [row('a', 'twice', 'failed'), row('a', 'once', 'passed'), row('a', 'later', 'failed')];
  const joined = joinRuns(first, second);
  expect(joined.rows.map(({ name, state }) => [name, state])).toEqual([
    ['twice', 'failed'],
    ['once', 'passed'],
    ['later', 'passed'],
  ]);
  expect(joined.unstable.map(({ name }) => name)).toEqual(['once', 'later']);
});

test('a file that could not be loaded at first counts with its tests of the second run, and is named', () => {
  const first = [row('a', 'Cannot load', 'failed'), row('b', 'other', 'passed')];
  const joined = joinRuns(first, [row('a', 'one', 'passed'), row('a', 'two', 'skipped')]);
  expect(joined.rows.map(({ name }) => name)).toEqual(['other', 'one', 'two']);
  expect(joined.unstable.map(({ name }) => name)).toEqual(['Cannot load']);
});

test('a second run that ended without a word forgives nothing', () => {
  const first = [row('a', 'one', 'failed'), row('b', 'other', 'passed')];
  expect(joinRuns(first, [])).toEqual({ rows: first, unstable: [] });
});
