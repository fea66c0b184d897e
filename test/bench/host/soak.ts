/** Half an hour at sixteen times the usual load: what stays in memory a request, in open files, and on disk after the end. */
import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { type Inspected, inspect, inspectable } from '../../support/bench/inspected.ts';
import { createLife, type Life } from '../../support/bench/life.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { processes, withDescendants } from '../../support/bench/processes.ts';
import {
  type Product,
  paneHostOf,
  type ScratchHome,
  scratchHome,
  shellTeam,
  startBuilt,
  teamUp,
} from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [{ name: 'host.soak', run: soak }];

/** What a page with three working bots asks a second. */
const usual = 2;
const times = 16;
/**
 * Before anything counts, as fast as it goes: caches fill, code is compiled, and what was only needed for the start is thrown away, which
 * takes some collections. Seconds.
 */
const length = { quick: { warm: 20, counted: 40, every: 4 }, full: { warm: 180, counted: 1800, every: 30 } };
const collectEvery = 3000;

interface Sample {
  readonly requests: number;
  readonly heap: number;
  readonly files: number;
}

async function soak({ quick, log }: FigureOptions): Promise<Measured> {
  const { warm, counted, every } = length[quick ? 'quick' : 'full'];
  const place = scratchHome({ bench: shellTeam('bench', ['one', 'two', 'three']) });
  try {
    const way = await inspectable();
    const product = await startBuilt({ ...place, env: { ...place.env, ...way.env } });
    await teamUp(product, 'bench');
    const inspected = await inspect(way.port);
    const life = await createLife(product, 'one@bench');
    await live(life, warm * 1000, collectEvery, 0, async () => void (await inspected.heapInUse()));
    const samples: Sample[] = [await sample(product, inspected, 0)];
    const sent = await live(life, counted * 1000, every * 1000, usual * times, async (requests) => {
      samples.push(await sample(product, inspected, requests));
      const { heap, files } = samples.at(-1) as Sample;
      log(`${requests} requests: ${(heap / 1e6).toFixed(2)} MB of heap after a collection, ${files} files open`);
    });
    inspected.close();
    life.close();
    const { first, last } = ends(samples.map(({ files }) => files));
    if (last > first) throw new Error(`Open files grew from ${first} to ${last} within ${sent} requests.`);
    const left = await leftovers(product, place);
    if (left.length > 0) throw new Error(`Programs were left behind: ${left.join('; ')}`);
    const heaps = samples.map(({ heap }) => heap);
    return {
      // In a minute the engine's own housekeeping outweighs what thousands of requests could leave.
      ...(quick
        ? { value: null, why: 'a line through one minute says nothing of half an hour: npm run bench -- host.soak' }
        : { value: slope(samples) }),
      unit: 'bytes of heap a request',
      n: sent,
      at: `gantry start with a team of three shells, ${usual * times} requests a second for ${counted} s after ${warm} s that do not count, over routes of pages, bots, tools, event streams and queue workers; heap of the server's process after a full collection every ${every} s, straight line through them`,
      detail: {
        perSecond: rounded(sent / counted, 1),
        slope: rounded(slope(samples), 1),
        lastHalf: rounded(slope(samples.slice(Math.floor(samples.length / 2))), 1),
        heapMb: [rounded((heaps[0] as number) / 1e6), rounded((heaps.at(-1) as number) / 1e6)],
        files: [first, last],
        leftover: left.length,
      },
    };
  } finally {
    await place.remove();
  }
}

/**
 * Sends so many requests a second (0: as many as possible) for so long; calls `look` now and then, between two rounds. Returns the number of
 * requests.
 */
async function live(
  life: Life,
  ms: number,
  every: number,
  perSecond: number,
  look: (sent: number) => Promise<void>,
): Promise<number> {
  const pace = perSecond === 0 ? 0 : (life.requests * 1000) / perSecond;
  const until = performance.now() + ms;
  let next = performance.now();
  let looked = performance.now();
  let sent = 0;
  while (performance.now() < until) {
    await life.round();
    sent += life.requests;
    if (performance.now() - looked >= every) {
      await look(sent);
      looked = performance.now();
    }
    next = Math.max(next + pace, performance.now() - pace);
    await delay(Math.max(0, next - performance.now()));
  }
  return sent;
}

async function sample(product: Product, inspected: Inspected, requests: number): Promise<Sample> {
  // What a request left for the next turns of the loop is no leak.
  await delay(200);
  return { requests, heap: await inspected.heapInUse(), files: readdirSync(`/proc/${product.pid}/fd`).length };
}

/** Middles of the first and the last third: one connection more or less at one moment is no growth. */
function ends(values: readonly number[]): { first: number; last: number } {
  const third = Math.max(1, Math.floor(values.length / 3));
  return { first: median(values.slice(0, third)), last: median(values.slice(-third)) };
}

/** Least squares. */
function slope(samples: readonly Sample[]): number {
  const meanOf = (pick: (one: Sample) => number) => samples.reduce((sum, one) => sum + pick(one), 0) / samples.length;
  const x = meanOf(({ requests }) => requests);
  const y = meanOf(({ heap }) => heap);
  const rise = samples.reduce((sum, one) => sum + (one.requests - x) * (one.heap - y), 0);
  return rise / samples.reduce((sum, one) => sum + (one.requests - x) ** 2, 0);
}

/** What of the servers and bots still runs after their stop. */
async function leftovers(product: Product, place: ScratchHome): Promise<string[]> {
  const host = paneHostOf(place.home);
  const all = processes();
  const ours = [product.pid, ...(host === null ? [] : [host])].flatMap((pid) => withDescendants(pid, all));
  await product.stop();
  let left = ours;
  for (let tries = 0; tries < 50 && left.length > 0; tries += 1) {
    const now = processes();
    left = left.filter((one) => now.some(({ pid, command }) => pid === one.pid && command === one.command));
    await delay(100);
  }
  return left.map(({ pid, command }) => `${pid} ${command.slice(0, 100)}`);
}
