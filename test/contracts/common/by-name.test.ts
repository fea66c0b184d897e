import { expect, test } from 'vitest';
import { byName } from '../../../src/contracts/common/by-name.ts';

const orders = (rounds: number, names: readonly string[]): Set<string> => {
  const seen = new Set<string>();
  for (let n = 0; n < rounds; n += 1) {
    seen.add([...names.slice(n % names.length), ...names.slice(0, n % names.length)].sort(byName).join(' '));
  }
  return seen;
};

test('names with numbers stand in the order in which a person counts', () => {
  expect(['t10', 't2', 't1', 'bot-3@t11', 'bot-20@t2', 'alpha'].sort(byName)).toEqual([
    'alpha',
    'bot-3@t11',
    'bot-20@t2',
    't1',
    't2',
    't10',
  ]);
});

test('names that read alike have one order, however they came', () => {
  expect(orders(4, ['t1', 't01', 'T1', 't001'])).toHaveProperty('size', 1);
});
