/** PostgreSQL keeps old places of a row in its indexes until it cleans up; a lease walks over those at the head of its line. */
import { expect, onTestFinished, test } from 'vitest';
import { workQueueMigrations } from '../../../src/cloud-api/work-queue/index.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';
import { postgres } from '../../support/postgres.ts';
import { createTestClock } from '../../support/test-clock.ts';

test.skipIf(postgres === null)(
  'what was leased leaves the line with the next cleaning, however few they were',
  async () => {
    const { schema, ask } = postgres!;
    const url = await schema();
    const store = await openSharedStore({
      databaseUrl: url,
      file: '',
      migrations: workQueueMigrations,
      clock: createTestClock(),
    });
    onTestFinished(() => store.close());
    await ask(
      url,
      `INSERT INTO work_task (id, user_id, status, rank, queued_at, waits, attempts, max_attempts, fence, stop_requested,
      created_at, updated_at, payload, env)
      SELECT 'task_' || n, 'user_ada', 'queued', 0, n, 0, 0, 5, 0, 0, n, n, '{}', '{}' FROM generate_series(1, 20000) AS n`,
    );
    const inLine = async () => {
      await ask(url, 'VACUUM work_task');
      const sql = `SELECT reltuples AS n FROM pg_class WHERE oid = 'work_task_ready'::regclass`;
      return (await ask<{ n: number }>(url, sql))[0]?.n;
    };
    await ask(url, 'ANALYZE work_task');
    expect(await inLine()).toBe(20_000);
    await ask(url, `UPDATE work_task SET status = 'leased', lease_until = 1 WHERE queued_at <= 100`);
    await ask(url, 'VACUUM work_task');
    expect(await inLine()).toBe(19_900);
  },
);
