/**
 * What a lease costs with a million tasks waiting, compared with a thousand, on each engine; only the indexes decide
 * it. The two stores are measured in turns, so that other load on the machine affects both alike.
 */
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
const warm = 200;
const rounds = 7;

interface Engine {
  readonly name: string;
  open(name: string): Promise<SharedStore>;
  /** Processor milliseconds of its own processes so far. */
  ms(): number;
  /** Writes down and cleans up after the filling, which it else does beside the leases, at their cost. */
  settle(name: string): Promise<void>;
}

async function onSqlite(options: FigureOptions): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-growth-'));
  const engine: Engine = {
    name: 'SQLite',
    open: (name) => open(null, join(folder, `${name}.db`)),
    ms: () => 0,
    settle: async () => {},
  };
  try {
    return await compare(engine, options);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function onPostgres(options: FigureOptions): Promise<Measured> {
  const server = await startBenchPostgres();
  const places = new Map<string, string>();
  const engine: Engine = {
    name: `PostgreSQL ${server.version}`,
    async open(name) {
      const url = await server.database(name);
      places.set(name, url);
      return open(url, '');
    },
    ms: () => server.cpuMs(),
    async settle(name) {
      const url = places.get(name) ?? '';
      await server.ask(url, 'VACUUM (ANALYZE) work_task');
      await server.ask(url, 'CHECKPOINT');
    },
  };
  try {
    return await compare(engine, options);
  } finally {
    await server.stop();
  }
}

const open = (databaseUrl: string | null, file: string) =>
  openSharedStore({ databaseUrl, file, migrations: workQueueMigrations, clock: systemClock });

async function compare(engine: Engine, { quick, log }: FigureOptions): Promise<Measured> {
  const many = quick ? 100_000 : 1_000_000;
  const leases = quick ? 150 : 500;
  const small = await filled(engine, 'few', few);
  const large = await filled(engine, 'many', many);
  try {
    const taken: { few: Spent; many: Spent }[] = [];
    for (const each of [small, large]) await each.lease(warm);
    for (let round = 0; round < rounds; round += 1)
      taken.push({ few: await small.lease(leases), many: await large.lease(leases) });
    log(
      `µs of a lease, ${few} and ${many} waiting: ${taken.map((one) => `${rounded(one.few.cpu, 0)} ${rounded(one.many.cpu, 0)}`).join(', ')}`,
    );
    const of = (which: 'few' | 'many', what: keyof Spent) => median(taken.map((one) => one[which][what]));
    return {
      value: median(taken.map((one) => one.many.cpu / one.few.cpu)),
      unit: `× the CPU of a lease with ${few} waiting`,
      n: leases * rounds * 2,
      at: `store in one process on ${engine.name}, durable commits, one lease after another, ${finished} finished rows kept, ${many} waiting`,
      own: rounded(of('many', 'cpu'), 0),
      detail: {
        unit: 'µs of CPU a lease, client and engine',
        few: rounded(of('few', 'cpu'), 0),
        latencyMs: { few: rounded(of('few', 'ms'), 3), many: rounded(of('many', 'ms'), 3) },
      },
    };
  } finally {
    await small.close();
    await large.close();
  }
}

/** Of a lease: the time it took in milliseconds, the processor time of this process and the engine in microseconds. */
interface Spent {
  readonly ms: number;
  readonly cpu: number;
}

/** A store with so many tasks waiting beside the finished ones, and a way to lease some, which are made good afterwards. */
async function filled(engine: Engine, name: string, waiting: number) {
  const store = await engine.open(name);
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
  const timed = async () => {
    const began = performance.now();
    if ((await work.store.lease(owner, 'w1', work.ids.next('lease'))) === null) throw new Error('Nothing was leased.');
    return performance.now() - began;
  };
  await fill(finished, 'succeeded');
  await fill(waiting, 'queued');
  await engine.settle(name);
  return {
    async lease(count: number): Promise<Spent> {
      const before = { own: process.cpuUsage(), engine: engine.ms() };
      const took: number[] = [];
      for (let left = count; left > 0; left -= 1) took.push(await timed());
      const { user, system } = process.cpuUsage(before.own);
      const cpu = (user + system + (engine.ms() - before.engine) * 1000) / count;
      await fill(count, 'queued');
      return { ms: median(took), cpu };
    },
    close: () => store.close(),
  };
}
