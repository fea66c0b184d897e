/** What a lease costs with a million tasks waiting, beside a thousand, on each engine: the indexes alone decide (store.md 3.5). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { workQueueMigrations } from '../../../src/cloud-api/work-queue/index.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { startBenchPostgres } from '../../support/bench/postgres.ts';
import { createCycles, owner, payload } from './support.ts';

export const figures: readonly Figure[] = [
  { name: 'work-queue.growth.sqlite', run: onSqlite },
  { name: 'work-queue.growth.postgres', run: onPostgres },
];

const few = 1_000;
const finished = 100_000;
const portion = 50_000;
const warm = 100;

async function onSqlite(options: FigureOptions): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-growth-'));
  const place = { databaseUrl: null, file: join(folder, 'cloud.db') };
  const store = await openSharedStore({ ...place, migrations: workQueueMigrations, clock: systemClock });
  try {
    return await grow(store, 'SQLite', () => 0, options);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function onPostgres(options: FigureOptions): Promise<Measured> {
  const server = await startBenchPostgres();
  const databaseUrl = await server.database('growth');
  const store = await openSharedStore({ databaseUrl, file: '', migrations: workQueueMigrations, clock: systemClock });
  try {
    return await grow(store, `PostgreSQL ${server.version}`, () => server.cpuMs(), options);
  } finally {
    await store.close();
    await server.stop();
  }
}

async function grow(
  store: SharedStore,
  engine: string,
  engineMs: () => number,
  { quick, log }: FigureOptions,
): Promise<Measured> {
  const many = quick ? 100_000 : 1_000_000;
  const leases = quick ? 300 : 1_000;
  const work = createCycles(store);
  /** So many more rows of a status, older ones first. */
  let made = 0;
  const fill = async (count: number, status: string) => {
    for (let left = count; left > 0; left -= portion) {
      const size = Math.min(left, portion);
      const from = made;
      const insert = (at: string) => `INSERT INTO work_task (id, user_id, status, rank, queued_at, waits, attempts,
        max_attempts, fence, stop_requested, created_at, updated_at, payload, env)
        SELECT 'task_' || ${at}, ?, ?, 0, ${at}, 0, 0, 5, 0, 0, ${at}, ${at}, ?, '{}' FROM n`;
      const sql = {
        sqlite: `WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < ${size}) ${insert(`(n + ${from})`)}`,
        postgres: `WITH n (n) AS (SELECT generate_series(1, ${size})) ${insert(`(n + ${from})`)}`,
      };
      await store.write(
        function* (tx) {
          yield* tx.run(sql, owner, status, payload);
        },
        { isolation: 'rows' },
      );
      made += size;
    }
  };
  const measure = async () => {
    const sample = async () => {
      const began = performance.now();
      if ((await work.store.lease(owner, 'w1', work.ids.next('lease'))) === null)
        throw new Error('Nothing was leased.');
      return performance.now() - began;
    };
    for (let count = 0; count < warm; count += 1) await sample();
    const before = { own: process.cpuUsage(), engine: engineMs() };
    const took: number[] = [];
    for (let count = 0; count < leases; count += 1) took.push(await sample());
    const { user, system } = process.cpuUsage(before.own);
    const cpu = (user + system + (engineMs() - before.engine) * 1000) / leases;
    await fill(leases + warm, 'queued');
    return { ms: median(took), cpu };
  };

  await fill(finished, 'succeeded');
  await fill(few + leases + warm, 'queued');
  if (store.engine === 'postgres')
    await store.write(function* (tx) {
      yield* tx.run('ANALYZE work_task');
    });
  const small = [await measure(), await measure(), await measure()];
  log(`${few} waiting: ${small.map(({ ms, cpu }) => `${rounded(ms, 3)} ms, ${rounded(cpu, 0)} µs`).join('; ')}`);
  await fill(many, 'queued');
  if (store.engine === 'postgres')
    await store.write(function* (tx) {
      yield* tx.run('ANALYZE work_task');
    });
  const large = [await measure(), await measure(), await measure()];
  log(`${many} waiting: ${large.map(({ ms, cpu }) => `${rounded(ms, 3)} ms, ${rounded(cpu, 0)} µs`).join('; ')}`);
  const of = (list: readonly { ms: number; cpu: number }[], what: 'ms' | 'cpu') => median(list.map((one) => one[what]));
  return {
    value: of(large, 'cpu') / of(small, 'cpu'),
    unit: `× the CPU of a lease with ${few} waiting`,
    n: leases * 6,
    at: `store in one process on ${engine}, durable commits, one lease after another, ${finished} finished rows kept, ${many} waiting`,
    own: rounded(of(large, 'cpu'), 0),
    detail: {
      unit: 'µs of CPU a lease, client and engine',
      few: rounded(of(small, 'cpu'), 0),
      latencyMs: { few: rounded(of(small, 'ms'), 3), many: rounded(of(large, 'ms'), 3) },
    },
  };
}
