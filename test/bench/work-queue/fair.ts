/**
 * 199 fairness keys with one task each beside one with 100,000, on each engine: after how many leases the last of the small ones was leased, where the
 * large key came first. Counted, not timed.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { workQueueMigrations } from '../../../src/cloud-api/work-queue/index.ts';
import { createWorkStore } from '../../../src/cloud-api/work-queue/store.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { rounded } from '../../support/bench/numbers.ts';
import { startBenchPostgres } from '../../support/bench/postgres.ts';
import { atOnce, owner } from './support.ts';

export const figures: readonly Figure[] = [
  { name: 'work-queue.fair.sqlite', run: onSqlite },
  { name: 'work-queue.fair.postgres', run: onPostgres },
];

const small = 199;
const parallel = 16;

const open = (databaseUrl: string | null, file: string) =>
  openSharedStore({ databaseUrl, file, migrations: workQueueMigrations, clock: systemClock });

async function onSqlite(options: FigureOptions): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-fair-'));
  try {
    return await measure('SQLite', await open(null, join(folder, 'cloud.db')), options);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function onPostgres(options: FigureOptions): Promise<Measured> {
  const server = await startBenchPostgres();
  try {
    return await measure(`PostgreSQL ${server.version}`, await open(await server.database('fair'), ''), options);
  } finally {
    await server.stop();
  }
}

async function measure(engine: string, store: SharedStore, { quick, log }: FigureOptions): Promise<Measured> {
  // PostgreSQL writes each commit of the one key down by itself, which is not what is counted here.
  const large = quick || store.engine === 'postgres' ? 10_000 : 100_000;
  const work = createWorkStore({ store, now: Date.now, leaseMs: 3_600_000 });
  try {
    const began = performance.now();
    let made = 0;
    await atOnce(parallel, large, () => {
      made += 1;
      return work.create(owner, `task_large_${made}`, { fairness_key: 'large' });
    });
    const createMs = (performance.now() - began) / large;
    log(`${large} tasks of one key were added in ${rounded(createMs, 2)} ms each`);
    for (let n = 0; n < small; n += 1) await work.create(owner, `task_small_${n}`, { fairness_key: `small_${n}` });
    let left = small;
    let leases = 0;
    const leasing = performance.now();
    while (left > 0) {
      const row = await work.lease(owner, 'w1', `lease_${leases}`);
      if (row === null) throw new Error('Nothing was leased.');
      leases += 1;
      if (row.id.startsWith('task_small')) left -= 1;
    }
    return {
      value: leases,
      unit: 'leases until each of 199 small keys had its turn',
      n: leases,
      at: `store in one process on ${engine}, one lease after another, ${large} tasks of one key were there before`,
      detail: {
        createMs: rounded(createMs, 2),
        leaseMs: rounded((performance.now() - leasing) / leases, 2),
      },
    };
  } finally {
    await store.close();
  }
}
