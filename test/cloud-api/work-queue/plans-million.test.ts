// Runs apart: most of its time is PostgreSQL's, with a million rows, and is not measured.
/**
 * Beside a million tasks of somebody else: every statement of the queue, asked for a person with a few, goes along an index to what it
 * returns, on both engines, however PostgreSQL plans it. Filling both takes most of a minute: `plans.test.ts` has a tenth of them.
 */
import { expect, test } from 'vitest';
import { postgres } from '../../support/postgres.ts';
import { plansOfPostgres, plansOfSqlite } from './every-statement.ts';

const others = 1_000_000;

test('SQLite finds what is asked along an index, and sorts nothing but what a limit has cut', async () => {
  const { asked, scans } = await plansOfSqlite(others);
  expect(asked).toBeGreaterThan(40);
  expect(scans).toEqual([]);
});

test.skipIf(postgres === null)(
  'PostgreSQL touches a few pages beside very many tasks of somebody else, planned for the values and for any',
  async () => {
    const { asked, scans } = await plansOfPostgres(postgres!, others);
    expect(asked).toBeGreaterThan(40);
    expect(scans).toEqual([]);
  },
);
