/**
 * What a server that posts events waits for, what accepting them costs the cloud, and when their tickets exist. The cost is scaled to the machine on
 * which its bound was set, by a server that takes a post, checks its HMAC and keeps it in a row (`floor.ts`).
 */
import { setTimeout as delay } from 'node:timers/promises';
import Database from 'better-sqlite3';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { besideFloor, machineBy } from '../../support/bench/floor.ts';
import { median, rounded, spread } from '../../support/bench/numbers.ts';
import { cpuMs } from '../../support/bench/processes.ts';
import { openPoster, openWay, type Post, type Poster, type Way } from './way.ts';

export const figures: readonly Figure[] = [
  { name: 'connector-events.callback', run: (options) => onWay(options, callback) },
  { name: 'connector-events.rate', run: (options) => onWay(options, rate) },
  { name: 'connector-events.rate-cpu', run: (options) => onWay(options, rateCpu) },
  { name: 'connector-events.ticket', run: (options) => onWay(options, ticket) },
];

const subscriptions = 10;
const perSecond = 100;
/** A cloud runs for weeks: until then it is compiling. Events. */
const warmUp = 10_000;
const connections = 32;
const programs = 'gantry cloud on SQLite (FULL, group commit) and a paired gantry start, two programs on one machine';

async function onWay(options: FigureOptions, run: (way: Way, options: FigureOptions) => Promise<Measured>) {
  const way = await openWay(subscriptions);
  try {
    return await run(way, options);
  } finally {
    await way.close();
  }
}

/** At their times, whether or not those before were answered. */
async function callback(way: Way, { quick }: FigureOptions): Promise<Measured> {
  const count = quick ? 500 : 3_000;
  const free: Poster[] = [];
  const samples: number[] = [];
  const under: Promise<void>[] = [];
  const all = way.posts(count + perSecond);
  const began = performance.now();
  for (const [at, { text }] of all.entries()) {
    await delay(Math.max(0, began + (at * 1000) / perSecond - performance.now()));
    const poster = free.pop() ?? openPoster(way.port);
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
  return {
    value: median(samples),
    unit: 'ms from the post to its durable 202, p50',
    n: count,
    at: `${programs}; ${perSecond} events a second to ${subscriptions} subscriptions while they are brought to the computer and become tickets, on kept connections`,
    detail: { ...spread(samples), perSecond: rounded((all.length / took) * 1000, 0) },
  };
}

interface Rates {
  readonly perSecond: readonly number[];
  readonly cpuUs: readonly number[];
  /** µs of CPU of the floor, in turn with them. */
  readonly floors: readonly number[];
  readonly n: number;
}

async function rates(way: Way, { quick, log }: FigureOptions): Promise<Rates> {
  const rounds = quick ? 3 : 7;
  const each = quick ? 3_000 : 8_000;
  await way.computerAway();
  const load = async (posts: readonly Post[]) => {
    const queue = [...posts];
    const posters = Array.from({ length: connections }, () => openPoster(way.port));
    const before = cpuMs(way.cloudPid);
    const began = performance.now();
    await Promise.all(
      posters.map(async (poster) => {
        for (let next = queue.pop(); next !== undefined; next = queue.pop()) await poster.post(next.text);
      }),
    );
    const seconds = (performance.now() - began) / 1000;
    for (const poster of posters) poster.close();
    return { perSecond: posts.length / seconds, cpuUs: ((cpuMs(way.cloudPid) - before) * 1000) / posts.length };
  };
  await load(way.posts(warmUp));
  const { found, floors } = await besideFloor('hmac', rounds, async (round) => {
    const one = await load(way.posts(each));
    const { perSecond: speed, cpuUs } = one;
    log(`round ${round + 1}: ${rounded(speed, 0)} events a second, ${rounded(cpuUs, 0)} µs of the cloud's CPU each`);
    return one;
  });
  return {
    perSecond: found.map((one) => one.perSecond),
    cpuUs: found.map((one) => one.cpuUs),
    floors,
    n: rounds * each,
  };
}

const atRate = `${programs}, the computer off; ${connections} kept connections, one event at a time on each, ${subscriptions} subscriptions, after ${warmUp} events that do not count`;

async function rate(way: Way, options: FigureOptions): Promise<Measured> {
  const { perSecond: speeds, cpuUs, n } = await rates(way, options);
  const [worst, best] = [Math.min(...speeds), Math.max(...speeds)].map((one) => rounded(one, 0));
  return {
    value: median(speeds),
    unit: 'events a second, each durable before its 202',
    n,
    at: atRate,
    detail: { worst, best, cpuUs: rounded(median(cpuUs), 0) },
  };
}

async function rateCpu(way: Way, options: FigureOptions): Promise<Measured> {
  const { perSecond: speeds, cpuUs, floors, n } = await rates(way, options);
  const machine = machineBy('hmac', floors);
  const [best, worst] = [Math.min(...cpuUs), Math.max(...cpuUs)].map((one) => rounded(one, 0));
  return {
    value: median(cpuUs) / machine.factor,
    unit: 'µs of cloud CPU an event taken, on the machine of the bound',
    n,
    at: `${atRate}; CPU of the cloud's process, user and system`,
    detail: { rawUs: rounded(median(cpuUs), 1), ...machine.detail, best, worst, perSecond: rounded(median(speeds), 0) },
  };
}

/** Read from the database, where nothing appears before it is durable. */
async function ticket(way: Way, { quick }: FigureOptions): Promise<Measured> {
  const count = quick ? 100 : 500;
  const patienceMs = 30_000;
  const database = new Database(way.runtimeFile, { readonly: true });
  const poster = openPoster(way.port);
  try {
    const find = database.prepare("SELECT 1 FROM engine_ticket WHERE source_kind = 'connector' AND source_ref LIKE ?");
    const newest = database.prepare<[], { n: number }>('SELECT max(rowid) AS n FROM engine_ticket');
    const samples: number[] = [];
    for (const { eventId, text } of way.posts(count)) {
      const before = newest.get()?.n;
      await poster.post(text);
      const answered = performance.now();
      while (newest.get()?.n === before) {
        if (performance.now() - answered > patienceMs) throw new Error(`${eventId} became no ticket.`);
        await delay(1);
      }
      samples.push(performance.now() - answered);
      if (find.get(`%/${eventId}`) === undefined) throw new Error(`Another ticket than that of ${eventId} is there.`);
    }
    return {
      value: median(samples),
      unit: 'ms from the 202 to the ticket in the computer’s database, p50',
      n: count,
      at: `${programs} over their link; one event after the other to ${subscriptions} subscriptions, the database looked at every millisecond`,
      detail: spread(samples),
    };
  } finally {
    poster.close();
    database.close();
  }
}
