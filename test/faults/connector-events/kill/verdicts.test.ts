import { expect, test } from 'vitest';
import { disorder, missing } from './verdicts.ts';

const told = new Map([
  ['sub_1', ['a', 'b', 'c']],
  ['sub_2', ['a']],
]);
const arrived = (...tickets: string[]) => ({
  tickets,
  entries: tickets.map((ref) => `mcp-event:${ref.replace('/', ':')}`),
});
const fine = arrived('sub_1/a', 'sub_2/a', 'sub_1/b');

test('what came once and in order is no disorder, and what has yet to come is missing', () => {
  expect(disorder(fine, told)).toEqual([]);
  expect(missing(fine, told)).toEqual(['sub_1/c']);
});

test.each([
  ['a ticket that came twice', arrived('sub_1/a', 'sub_1/a')],
  ['a ticket that overtook another', arrived('sub_1/b', 'sub_1/a')],
  ['a ticket that nobody told', arrived('sub_2/b')],
  ['a ticket without an entry', { ...fine, entries: fine.entries.slice(0, 2) }],
  ['an entry that is there twice', { ...fine, entries: [...fine.entries, fine.entries[0]!] }],
])('%s is found', (_what, other) => {
  expect(disorder(other, told)).not.toEqual([]);
});
