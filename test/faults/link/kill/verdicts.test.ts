import { expect, test } from 'vitest';
import { disorder } from './verdicts.ts';

const fine = {
  tickets: [0, 1, 3],
  held: ['a', 'b', 'c'],
  heard: ['a', 'b'],
  given: ['a', 'c', 'b'],
  taken: ['a', 'b'],
  gone: new Set<string>(),
};

test('what came once and in order is no disorder, also when some has yet to come', () => {
  expect(disorder(fine)).toEqual([]);
});

test.each([
  ['a ticket that came twice', { tickets: [0, 1, 1] }],
  ['a ticket that overtook another', { tickets: [0, 3, 1] }],
  ['a question that the cloud heard before an earlier one', { heard: ['b', 'a'] }],
  ['a question that nobody asked', { heard: ['x'] }],
  ['an answer that was taken twice', { taken: ['a', 'a'] }],
  ['an answer that overtook another', { taken: ['b', 'c'] }],
])('%s is found', (_what, change) => {
  expect(disorder({ ...fine, ...change })).not.toEqual([]);
});
