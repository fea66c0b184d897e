/**
 * What a person with a few tasks pays beside another person's million, on each engine: a lease that finds nothing, a create, and a list of
 * fifty, each as processor time of client and engine; the worst of the three counts. Both stores are measured in turns, so that what else
 * the machine does weighs on both. The million are of every state, a third of them waiting.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { workQueueMigrations } from '../../../src/cloud-api/work-queue/index.ts';
import { createWorkReads } from '../../../src/cloud-api/work-queue/reads.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import { fillOthers } from '../../cloud-api/work-queue/others.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { startBenchPostgres } from '../../support/bench/postgres.ts';
import { createCycles, owner } from './support.ts';

export const figures: readonly Figure[] = [
  { name: 'work-queue.others.sqlite', run: onSqlite },
  { name: 'work-queue.others.postgres', run: onPostgres },
];

const rounds = 9;
const warm = 300;
const own = 1_000;
const others = 1_000_000;

interface Engine {
  readonly name: string;
  open(name: string): Promise<SharedStore>;
  /** Processor milliseconds of its own processes so far. */
  ms(): number;
  /** After the filling: what it learns and cleans up beside the calls otherwise, at their cost. */
  settle(store: SharedStore, name: string): Promise<void>;
}

async function onSqlite(options: FigureOptions): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-others-'));
  try {
    return await compare(
      {
        name: 'SQLite',
        open: (name) => open(null, join(folder, `${name}.db`)),
        ms: () => 0,
        settle: async (store) => void (await store.write((tx) => tx.run('ANALYZE'))),
      },
      options,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function onPostgres(options: FigureOptions): Promise<Measured> {
  const server = await startBenchPostgres();
  const places = new Map<string, string>();
  try {
    return await compare(
      {
        name: `PostgreSQL ${server.version}`,
        async open(name) {
          const url = await server.database(name);
          places.set(name, url);
          return open(url, '');
        },
        ms: () => server.cpuMs(),
        async settle(_, name) {
          const url = places.get(name) ?? '';
          await server.ask(url, 'VACUUM (ANALYZE)');
          await server.ask(url, 'CHECKPOINT');
        },
      },
      options,
    );
  } finally {
    await server.stop();
  }
}

const open = (databaseUrl: string | null, file: string) =>
  openSharedStore({ databaseUrl, file, migrations: workQueueMigrations, clock: systemClock });

const calls = ['lease', 'create', 'list'] as const;
type Call = (typeof calls)[number];

async function compare(engine: Engine, { quick, log }: FigureOptions): Promise<Measured> {
  const times = quick ? 100 : 300;
  const alone = await prepared(engine, 'alone', 0);
  const beside = await prepared(engine, 'beside', others);
  try {
    const samples: Record<Call, { alone: number; beside: number }[]> = { lease: [], create: [], list: [] };
    for (const call of calls) for (const each of [alone, beside]) await each.cost(call, warm);
    for (let round = 0; round < rounds; round += 1) {
      for (const call of calls) {
        const first = round % 2 === 0 ? alone : beside;
        const one = await first.cost(call, times);
        const other = await (first === alone ? beside : alone).cost(call, times);
        samples[call].push(first === alone ? { alone: one, beside: other } : { alone: other, beside: one });
      }
    }
    const ratios = calls.map((call) => median(samples[call].map((one) => one.beside / one.alone)));
    const part = (side: 'alone' | 'beside') =>
      Object.fromEntries(calls.map((call) => [call, rounded(median(samples[call].map((one) => one[side])), 0)]));
    log(`${calls.map((call, at) => `${call} ${rounded(ratios[at]!, 2)}`).join(', ')} × alone`);
    return {
      value: Math.max(...ratios),
      unit: '× the CPU of the same call alone, the worst of an empty lease, a create and a list',
      n: rounds * times * calls.length,
      at: `store in one process on ${engine.name}, durable commits, one call after another, ${own} tasks of the caller, beside ${others} of somebody else`,
      detail: { unit: 'µs of CPU a call, client and engine', alone: part('alone'), beside: part('beside') },
    };
  } finally {
    await alone.close();
    await beside.close();
  }
}

/** A store with some tasks of the caller, beside so many of somebody else. */
async function prepared(engine: Engine, name: string, others: number) {
  const store = await engine.open(name);
  if (others > 0) await fillOthers(store, others);
  const { store: work, ids, create } = createCycles(store);
  const reads = createWorkReads(store);
  for (let n = 0; n < own; n += 1) await create();
  await engine.settle(store, name);
  const run: Record<Call, () => Promise<unknown>> = {
    lease: () => work.lease('user_nobody', 'w1', ids.next('lease')),
    create,
    list: () => reads.list({ userId: owner, after: null, limit: 50 }),
  };
  return {
    async cost(call: Call, times: number): Promise<number> {
      const before = { own: process.cpuUsage(), engine: engine.ms() };
      for (let left = times; left > 0; left -= 1) await run[call]();
      const { user, system } = process.cpuUsage(before.own);
      return (user + system + (engine.ms() - before.engine) * 1000) / times;
    },
    close: () => store.close(),
  };
}
