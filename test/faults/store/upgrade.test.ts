import { expect, test } from 'vitest';
import { lostRows } from '../../data/homes/open.ts';

test('the matrix of upgrades tells a table that lost, gained or dropped rows, and not one that may grow', () => {
  const then = { 'runtime.mail': 2, 'runtime.lease': 1, 'runtime.plan': 1, 'runtime.ledger': 40, 'cloud.open_code': 1 };
  expect(lostRows(then, { ...then, 'runtime.ledger': 42, 'cloud.open_code': 3, 'runtime.new': 9 })).toEqual([]);
  expect(lostRows(then, { 'runtime.mail': 1, 'runtime.lease': 2, 'runtime.ledger': 39 })).toEqual([
    'table runtime.mail had 2 rows and has 1',
    'table runtime.lease had 1 rows and has 2',
    'table runtime.plan with 1 rows is gone',
    'table runtime.ledger had 40 rows and has 39',
  ]);
});
