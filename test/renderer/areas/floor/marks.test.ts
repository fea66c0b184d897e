import { expect, test } from 'vitest';
import { marksOfCommands, marksOfMessages } from '../../../../src/renderer/areas/floor/marks.ts';

const said = (...words: string[]) => words.map((one) => ({ words: one, title: `You → bot: ${one}` }));

test('a message is marked where its program shows it, whatever sign stands before it', () => {
  const screen = [
    '> run the tests',
    '  12 passed',
    '│ ❯ now fix the flaky one, which has failed',
    '  since last week │',
    '● I will run the tests again',
    '> go on',
  ];
  const marks = marksOfMessages(
    screen,
    said('go on', 'now fix the flaky one, which has failed since last week', 'run the tests'),
  );
  expect(marks.map(({ line }) => line)).toEqual([0, 2, 5]);
  expect(marks[0]?.title).toBe('You → bot: run the tests');
});

test('the same words twice are two messages, and one that left the pane has no mark', () => {
  const screen = ['> again', 'done', '> again', 'done'];
  expect(marksOfMessages(screen, said('again', 'again', 'again', 'never shown')).map(({ line }) => line)).toEqual([
    0, 2,
  ]);
});

test('a word too short to tell from others is not looked for', () => {
  expect(marksOfMessages(['y', 'yes'], said('y'))).toEqual([]);
});

test('a command that failed is told from one that did not, and from one that runs', () => {
  const marks = marksOfCommands([
    { line: 1, exit: 0 },
    { line: 4, exit: 2 },
    { line: 9, exit: null },
  ]);
  expect(marks.map(({ failed }) => failed)).toEqual([false, true, false]);
  expect(marks[1]?.title).toBe('Command, failed with exit code 2');
});
