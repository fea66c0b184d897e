import { expect, test } from 'vitest';
import { groupRows, saysAll } from '../../../src/renderer/base/found-rows.ts';

test('a row is found when each word stands somewhere in it, in any order and case', () => {
  const said = ['Nightly build', null, undefined, 'Europe/Berlin'];
  for (const text of ['', '  ', 'BUILD', 'berlin night']) expect([text, saysAll(said, text)]).toEqual([text, true]);
  for (const text of ['paris', 'build paris']) expect([text, saysAll(said, text)]).toEqual([text, false]);
});

test('rows stand in groups by name in natural order, and keep their order within', () => {
  const rows = ['t10 a', 't2 b', 't10 c'];
  expect(groupRows(rows, (row) => row.split(' ')[0]!)).toEqual([
    { name: 't2', rows: ['t2 b'] },
    { name: 't10', rows: ['t10 a', 't10 c'] },
  ]);
  expect(groupRows(rows, null)).toEqual([{ name: '', rows }]);
});
