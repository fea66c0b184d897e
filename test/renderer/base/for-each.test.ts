import { expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { forEach } from '../../../src/renderer/base/for-each.ts';

test('what cannot be done with one row ends only that one, and the answer names those with which it was done', async () => {
  const tried: string[] = [];
  const done = await forEach(
    ['a', 'b', 'c'],
    (row) => row,
    async (row) => {
      tried.push(row);
      if (row === 'b') throw new AppError('not_found', 'There is no b.', 'Look again.');
    },
  );
  expect(tried).toEqual(['a', 'b', 'c']);
  expect(done).toEqual(['a', 'c']);
});
