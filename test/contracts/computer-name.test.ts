import { expect, test } from 'vitest';
import { ComputerName } from '../../src/contracts/link/computers.ts';

test('two names that look alike are not told apart by characters that nobody sees', () => {
  const hidden = [
    '\u00ad',
    '\u061c',
    '\u200b',
    '\u200e',
    '\u200f',
    '\u2028',
    '\u2029',
    '\u202e',
    '\u2060',
    '\u2067',
    '\ufeff',
  ];
  const taken = [...hidden, '\n', '\u001b[31m', '\ud800'].filter(
    (one) => ComputerName.safeParse(`At${one}tic`).success,
  );
  expect(taken).toEqual([]);
});

test('names in any script, and emoji made of several, are names', () => {
  for (const name of ['Attic', 'Büro 2', '仕事場', 'کتاب\u200cخانه', '👩\u200d💻 laptop', '<img>']) {
    expect(ComputerName.parse(name)).toBe(name);
  }
});
