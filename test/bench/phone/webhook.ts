/**
 * How soon a carrier's text is durably accepted, and what a text costs the cloud from its post until it has been read. The cost is scaled to the
 * machine on which its bound was set, by a server that takes a post, checks its Ed25519 signature and keeps it in a row (`floor.ts`).
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { besideFloor, machineBy } from '../../support/bench/floor.ts';
import { quantile, rounded, spread } from '../../support/bench/numbers.ts';
import { cpuMs } from '../../support/bench/processes.ts';
import { openPoster, type Poster } from '../connector-events/way.ts';
import { openWay, type Way } from './way.ts';

export const figures: readonly Figure[] = [
  { name: 'phone.webhook', run: (options) => onWay(options, soon) },
  { name: 'phone.webhook-cpu', run: (options) => onWay(options, cost) },
];

const perSecond = 200;
/** A cloud runs for weeks: until then it is compiling. Texts. */
const warmUp = 20_000;
const connections = 16;
const where = 'gantry cloud on SQLite (FULL, group commit), the computer of the number off';

/** Of rounds, what it costs while nobody else is busy: a loaded processor or disk makes the same work dearer, and never cheaper. */
const quiet = (rounds: readonly number[]) => quantile(rounds, 0.25);

async function onWay(options: FigureOptions, run: (way: Way, options: FigureOptions) => Promise<Measured>) {
  const way = await openWay();
  try {
    return await run(way, options);
  } finally {
    await way.close();
  }
}

/** One at a time on each connection, as fast as they are taken. Answers µs of CPU each, read to the end. */
async function load(way: Way, count: number): Promise<number> {
  const queue = way.texts(count);
  const posters = Array.from({ length: connections }, () => openPoster(way.port, 200));
  const before = cpuMs(way.cloudPid);
  await Promise.all(
    posters.map(async (poster) => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop()) await poster.post(next);
    }),
  );
  await way.drained();
  for (const poster of posters) poster.close();
  return ((cpuMs(way.cloudPid) - before) * 1000) / count;
}

async function soon(way: Way, { quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 3 : 7;
  const count = quick ? 600 : 1_000;
  await load(way, warmUp);
  const p99s: number[] = [];
  const samples: number[] = [];
  const rates: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const found = await atTheirTimes(way, count);
    p99s.push(quantile(found.samples, 0.99));
    samples.push(...found.samples);
    rates.push(found.perSecond);
    log(`round ${round + 1}: ${rounded(p99s.at(-1)!)} ms, p99`);
  }
  return {
    value: quiet(p99s),
    unit: 'ms from the post to its durable 200, p99 of a quiet round',
    n: rounds * count,
    at: `${where}; ${perSecond} texts a second of 100 people to one number while those before are read, on kept connections, after ${warmUp} texts that do not count`,
    detail: { ...spread(samples), worstRound: rounded(Math.max(...p99s)), perSecond: Math.min(...rates) },
  };
}

/** Each at its time, whether or not those before were answered; those of the first second do not count. */
async function atTheirTimes(way: Way, count: number): Promise<{ samples: number[]; perSecond: number }> {
  const free: Poster[] = [];
  const samples: number[] = [];
  const under: Promise<void>[] = [];
  const all = way.texts(count + perSecond);
  const began = performance.now();
  for (const [at, text] of all.entries()) {
    await delay(Math.max(0, began + (at * 1000) / perSecond - performance.now()));
    const poster = free.pop() ?? openPoster(way.port, 200);
    under.push(
      poster.post(text).then((ms) => {
        free.push(poster);
        if (at >= perSecond) samples.push(ms);
      }),
    );
  }
  await Promise.all(under);
  const took = performance.now() - began;
  for (const poster of free) poster.close();
  await way.drained();
  return { samples, perSecond: rounded((all.length / took) * 1000, 0) };
}

async function cost(way: Way, { quick, log }: FigureOptions): Promise<Measured> {
  const rounds = 9;
  const each = quick ? 1_500 : 3_000;
  await load(way, warmUp);
  const { found, floors } = await besideFloor('ed25519', rounds, async (round) => {
    const micros = await load(way, each);
    log(`round ${round + 1}: ${rounded(micros, 0)} µs of the cloud's CPU each`);
    return micros;
  });
  const machine = machineBy('ed25519', floors, quiet);
  const [best, worst] = [Math.min(...found), Math.max(...found)].map((one) => rounded(one, 0));
  return {
    value: quiet(found) / machine.factor,
    unit: 'µs of cloud CPU a text in a quiet round, from its post until it has been read, on the machine of the bound',
    n: rounds * each,
    at: `${where}; ${connections} kept connections, one text at a time on each, 100 people, after ${warmUp} texts that do not count; CPU of the cloud's process, user and system`,
    detail: { rawUs: rounded(quiet(found), 1), best, worst, ...machine.detail },
  };
}
