import { expect, test } from 'vitest';
import { clickProblems, toldProblems } from './verdicts.ts';

test('a click with one row is no problem, and one that began and was not seen is none', () => {
  const audit = [
    { run: 'a', button: 1, outcome: 'done' },
    { run: 'a', button: 2, outcome: 'unknown' },
  ];
  expect(clickProblems(new Map([['a 1', 1]]), audit)).toEqual([]);
  expect(
    clickProblems(
      new Map([
        ['a 1', 1],
        ['a 2', 1],
      ]),
      audit,
    ),
  ).toEqual([]);
});

test('a click without a row, one that was done twice, one that was not done, and a row left open are found', () => {
  const audit = [
    { run: 'a', button: 1, outcome: 'done' },
    { run: 'a', button: 3, outcome: 'unknown' },
    { run: 'a', button: 3, outcome: 'done' },
    { run: 'a', button: 4, outcome: 'started' },
  ];
  expect(
    clickProblems(
      new Map([
        ['a 2', 1],
        ['a 3', 2],
      ]),
      audit,
    ),
  ).toEqual([
    'a 2 was clicked without a row in the audit',
    'a 3 was clicked 2 times',
    'a 3 has 2 rows of actions in the audit',
    'a 4 is still called started after a restart',
    'a 1 counts as done, and was not clicked',
  ]);
});

test('what was told as done and is not so any more is found', () => {
  const audit = [
    { run: 'a', button: 1, outcome: 'done' },
    { run: 'a', button: 2, outcome: 'unknown' },
  ];
  expect(toldProblems(['a 1'], audit)).toEqual([]);
  expect(toldProblems(['a 1', 'a 2', 'a 3'], audit)).toEqual([
    'a 2 was told as done, and is unknown after a restart',
    'a 3 was told as done, and is in no row after a restart',
  ]);
});
