/** Enqueue → lease → ack on SQLite beside plainjob, both at `synchronous=NORMAL`, in one process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { better, defineQueue } from 'plainjob';
import { workQueueMigrations } from '../../../src/cloud-api/work-queue/index.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { shareStore } from '../../../src/kit/store/share-store.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { atOnce, cpuPerRun, createCycles, payload } from './support.ts';

export const figures: readonly Figure[] = [{ name: 'work-queue.cycle-sqlite', run }];

const backlog = 1_000;
const parallel = 16;

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 7 : 9;
  const cycles = quick ? 2_000 : 10_000;
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-queue-'));
  const store = await openAtNormal(join(folder, 'cloud.db'));
  const ours = createCycles(shareStore(store));
  const peer = new Database(join(folder, 'plainjob.db'));
  const silent = { error() {}, warn() {}, info() {}, debug() {} };
  const queue = defineQueue({ connection: better(peer), logger: silent });
  try {
    const levels = [peer.pragma('synchronous', { simple: true }), peer.pragma('journal_mode', { simple: true })];
    if (levels.join() !== '1,wal') throw new Error(`plainjob runs at ${levels.join()}.`);
    await atOnce(parallel, backlog, () => ours.create());
    for (let count = 0; count < backlog; count += 1) queue.add('task', payload);
    const own = () => cpuPerRun(cycles, () => atOnce(parallel, cycles, (lane) => ours.cycle(`w${lane}`)));
    const theirs = () =>
      cpuPerRun(cycles, async () => {
        for (let count = 0; count < cycles; count += 1) {
          queue.add('task', payload);
          const job = queue.getAndMarkJobAsProcessing('task');
          if (job === undefined) throw new Error('plainjob gave nothing.');
          queue.markJobAsDone(job.id);
        }
      });
    await own();
    await theirs();
    const samples: { own: number; peer: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      // In turns, and each first as often.
      const first = round % 2 === 0 ? await own() : await theirs();
      const second = round % 2 === 0 ? await theirs() : await own();
      samples.push(round % 2 === 0 ? { own: first, peer: second } : { own: second, peer: first });
      log(`round ${round + 1}: ${rounded(samples.at(-1)!.own)} and ${rounded(samples.at(-1)!.peer)} µs a cycle`);
    }
    return {
      value: median(samples.map((sample) => sample.own / sample.peer)),
      unit: '× plainjob, CPU of a cycle',
      n: rounds * cycles,
      at: `store in one process, ${parallel} at once, ${backlog} waiting, WAL and synchronous=NORMAL on both sides, ${rounds} rounds in turns; plainjob calls in a loop, keeps no result and checks no holder`,
      own: rounded(median(samples.map((sample) => sample.own))),
      peer: { name: 'plainjob 0.0.14', value: rounded(median(samples.map((sample) => sample.peer))) },
      detail: { unit: 'µs of CPU a cycle' },
    };
  } finally {
    await store.close();
    queue.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The product commits at FULL; the peer cannot, so that ours is put to the peer's level while it opens. */
async function openAtNormal(file: string) {
  const own = Database.prototype.pragma;
  Database.prototype.pragma = function pragma(
    this: Database.Database,
    source: string,
    options?: Database.PragmaOptions,
  ) {
    return own.call(this, source === 'synchronous = FULL' ? 'synchronous = NORMAL' : source, options);
  };
  try {
    return await openStore({ file, migrations: workQueueMigrations, clock: systemClock });
  } finally {
    Database.prototype.pragma = own;
  }
}
