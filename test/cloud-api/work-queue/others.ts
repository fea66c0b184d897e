/**
 * Very many tasks of somebody else, of every state, made by the database itself; indexes and counts are made afterwards, all at once,
 * which takes a tenth of the time. First user: the plans; second: the figures.
 */
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';

const states = ['queued', 'queued', 'queued', 'leased', 'running', 'succeeded', 'failed', 'cancelled'];

/** Leases of theirs run for years, so that nobody looks after them meanwhile. */
export async function fillOthers(store: SharedStore, many: number, userId = 'user_bob'): Promise<void> {
  const status = `CASE n % ${states.length} ${states.map((state, at) => `WHEN ${at} THEN '${state}'`).join(' ')} END`;
  const isHeld = `n % ${states.length} IN (3, 4)`;
  const now = Date.now();
  const at = `(n + ${now - many})`;
  const insert = `INSERT INTO work_task (id, user_id, status, session_id, rank, queued_at, waits, attempts, max_attempts, fence,
    stop_requested, lease_worker_id, lease_id, lease_until, created_at, updated_at, payload, env)
    SELECT 'task_${userId}_' || n, '${userId}', ${status}, 'session_' || (n % 10), 0, ${at} + CASE WHEN n % 16 = 1 THEN 1000000000000 ELSE 0 END,
    CASE WHEN n % 16 = 1 THEN 1 ELSE 0 END, 0, 5, 0, 0, CASE WHEN ${isHeld} THEN 'w' || (n % 100) END, CASE WHEN ${isHeld} THEN 'lease_' || n END,
    CASE WHEN ${isHeld} THEN ${now + 1e12} END, ${at}, ${at}, '{}', '{}' FROM n`;
  const count = `INSERT INTO work_count (user_id, kind, since, n) SELECT user_id, kind, since, count(*) FROM (
    SELECT user_id, CASE WHEN status = 'queued' AND waits = 1 THEN 'later' ELSE status END AS kind,
      CASE WHEN status = 'queued' AND waits = 0 THEN queued_at / 1000 ELSE 0 END AS since
    FROM work_task WHERE user_id = '${userId}' AND status NOT IN ('succeeded', 'cancelled')) AS tasks GROUP BY user_id, kind, since`;
  // A part of those that wait names labels; of some, keys, and the time of some has not come.
  const line = `INSERT INTO work_line (id, user_id, needs, rank, fair, round, queued_at, seq, parked)
    SELECT 'line_${userId}_' || n, '${userId}', 'needs_' || (n % 20), 0, n % 2, n,
      ${at} + CASE WHEN n % 5 = 1 THEN 1000000000000 ELSE 0 END, 0,
    CASE n % 5 WHEN 0 THEN 'slots:a' WHEN 1 THEN 'time' ELSE '' END FROM n`;
  // As much as a hundred busy people leave.
  const samples = `INSERT INTO work_sample (user_id, at, added, succeeded, failed, cancelled, waiting, oldest)
    SELECT '${userId}_' || (n % 100), ${Math.floor(now / 1000)} - n * 60, 1, 1, 0, 0, 0, 0 FROM n`;
  const aside = {
    sqlite: `SELECT name, sql FROM sqlite_schema WHERE tbl_name = 'work_task' AND type IN ('index', 'trigger') AND sql IS NOT NULL`,
    postgres: `SELECT indexname AS name, indexdef AS sql FROM pg_indexes WHERE schemaname = current_schema()
      AND tablename = 'work_task' AND indexname <> 'work_task_pkey'`,
  };
  await store.write(
    function* (tx) {
      const kept = yield* tx.all<{ name: string; sql: string }>(aside);
      for (const { name, sql } of kept)
        yield* tx.run(`DROP ${sql.startsWith('CREATE TRIGGER') ? 'TRIGGER' : 'INDEX'} ${name}`);
      if (store.engine === 'postgres') yield* tx.run('ALTER TABLE work_task DISABLE TRIGGER USER');
      yield* tx.run({
        sqlite: `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${many}) ${insert}`,
        postgres: `WITH n (n) AS (SELECT generate_series(1, ${many})) ${insert}`,
      });
      yield* tx.run(count);
      yield* tx.run({
        sqlite: `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${many / 10}) ${samples}`,
        postgres: `WITH n (n) AS (SELECT generate_series(1, ${many / 10})) ${samples}`,
      });
      yield* tx.run({
        sqlite: `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${many / 20}) ${line}`,
        postgres: `WITH n (n) AS (SELECT generate_series(1, ${many / 20})) ${line}`,
      });
      for (const { sql } of kept) yield* tx.run(sql);
      if (store.engine === 'postgres') yield* tx.run('ALTER TABLE work_task ENABLE TRIGGER USER');
    },
    { isolation: 'rows' },
  );
}
