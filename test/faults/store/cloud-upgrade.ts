/**
 * `cloud.upgrade`: three replicas of the version before the last change of the database are replaced by this one, one after the other, while clients ask 200
 * times a second and streams are read. A request may be repeated where clients repeat it: a read, or a creation with its `Idempotency-Key`, whose
 * connection was cut or that was answered 502 or 503. What still fails is a problem, as is an event that a stream missed, a creation that came twice or is
 * not there, and a replica that did not end in good order.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { CallError, type Caller, createCaller } from '../../support/bench/http.ts';
import { spread } from '../../support/bench/numbers.ts';
import { gantryCommand } from '../../support/bench/product.ts';
import { startReplicas } from '../../support/replicas.ts';
import { personAt } from '../../support/signed-in.ts';

export const figures: readonly Figure[] = [{ name: 'cloud.upgrade', run: upgrade }];

const root = new URL('../../..', import.meta.url).pathname;
const requestsASecond = 200;
/** Requests under way at which no more are made: a machine that is too slow makes fewer, and the line says how many. */
const maxUnderWay = 400;
const streamCount = 30;
/** Every so manyth request creates a task, the others read. */
const createEvery = 4;
/** So long all three run before, between and after the replacements. */
const settledMs = 3_000;
/** A client gives up after so many tries, half a second apart: longer than a replica needs to end. */
const maxTries = 20;
const pauseMs = 500;

async function upgrade({ quick, log }: FigureOptions): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-upgrade-'));
  const unit = 'problems';
  const at = `three replicas on PostgreSQL behind one balancer, each stopped with SIGTERM and started as the new version, under ${requestsASecond} requests a second and ${streamCount} event streams; all on one machine`;
  try {
    const before = versionBefore();
    if (before === null) {
      return {
        value: null,
        unit,
        n: 0,
        at,
        why: 'There is no history of the repository here to take the earlier version from.',
      };
    }
    const earlier = unpack(before, folder);
    const isNew = [false, false, false];
    const cloud = await startReplicas(3, undefined, {}, (index) => (isNew[index] ? gantryCommand : earlier));
    try {
      const person = await personAt(cloud.origin);
      const { secret } = await person<{ secret: string }>('POST', '/api/v1/keys', { name: 'work', scopes: ['work'] });
      const load = createLoad(cloud.origin, secret);
      await load.start(quick ? streamCount / 3 : streamCount);
      await delay(settledMs);
      for (const [index, replica] of cloud.replicas.entries()) {
        const code = await replica.stop();
        if (code !== 0) load.problems.push(`${replica.name} ended with ${code} after SIGTERM.`);
        isNew[index] = true;
        await replica.start();
        log(`${replica.name} is replaced: ${load.told()}`);
        await delay(settledMs);
      }
      const { seconds } = await load.stop();
      const tasks = await cloud.postgres.ask<{ id: string; n: string }>(
        cloud.databaseUrl,
        `SELECT id, payload AS n FROM work_task`,
      );
      const problems = [
        ...load.problems,
        ...load.missing(tasks),
        ...cloud.replicas.flatMap(({ surprises }) => surprises),
      ];
      return {
        value: problems.length,
        problems,
        unit,
        n: load.counts.answered,
        at,
        detail: {
          from: before.slice(0, 8),
          requestsASecond: Math.round(load.counts.answered / seconds),
          ...load.counts,
          events: load.events(),
          ms: spread(load.tookMs),
        },
      };
    } finally {
      await cloud.close();
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const git = (...words: readonly string[]) =>
  execFileSync('git', ['-C', root, ...words], { maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'ignore'] });

/** The commit before the one that last changed the tables of a cloud; null without a history. */
function versionBefore(): string | null {
  try {
    const changed = git('log', '-1', '--format=%H', '--', 'src/cloud-api/*/migrations.ts', 'src/kit/*/migrations.ts');
    return String(git('rev-parse', `${String(changed).trim()}~1`)).trim();
  } catch {
    return null;
  }
}

/** The sources of that commit with the packages and pages of this one; the program that runs them. */
function unpack(commit: string, folder: string): readonly [string, ...string[]] {
  const place = join(folder, 'earlier');
  mkdirSync(join(place, 'out'), { recursive: true });
  execFileSync('tar', ['x', '-C', place], { input: git('archive', commit) });
  symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'));
  symlinkSync(join(root, 'out', 'renderer'), join(place, 'out', 'renderer'));
  return [process.execPath, join(place, 'src', 'cli', 'main.ts')];
}

function createLoad(origin: string, secret: string) {
  const caller = createCaller(origin, secret);
  const problems: string[] = [];
  const counts = { answered: 0, created: 0, repeated: 0, cutStreams: 0, skipped: 0 };
  const tookMs: number[] = [];
  /** Ids of tasks, by the number of their creation. */
  const created = new Map<number, string>();
  const streams: ReturnType<typeof follow>[] = [];
  const underWay = new Set<Promise<void>>();
  let driving = true;
  let made = 0;
  let driver = Promise.resolve();
  let beganAt = 0;

  /** As a client does: what may be repeated is, until there is an answer. */
  async function insist<T>(what: string, call: () => Promise<T>): Promise<T | null> {
    const began = performance.now();
    for (let tries = 1; ; tries += 1) {
      try {
        const answer = await call();
        counts.answered += 1;
        tookMs.push(performance.now() - began);
        return answer;
      } catch (error) {
        const mayRepeat = !(error instanceof CallError) || error.status === 502 || error.status === 503;
        if (!mayRepeat || tries === maxTries) {
          problems.push(`${what} failed at try ${tries}: ${error instanceof Error ? error.message : String(error)}`);
          return null;
        }
        counts.repeated += 1;
        await delay(tries === 1 ? 0 : pauseMs);
      }
    }
  }

  async function one(n: number): Promise<void> {
    if (n % createEvery !== 0) {
      await insist('A read', () => caller.call('GET', '/beta/work/stats'));
      return;
    }
    const answer = await insist(`Creation ${n}`, () =>
      caller.call<{ task: { id: string } }>('POST', '/beta/work', { payload: { n } }, { 'idempotency-key': `n-${n}` }),
    );
    if (answer === null) return;
    counts.created += 1;
    created.set(n, answer.task.id);
  }

  async function drive(): Promise<void> {
    while (driving) {
      const due = ((performance.now() - beganAt) * requestsASecond) / 1000;
      while (made < due) {
        made += 1;
        if (underWay.size >= maxUnderWay) {
          counts.skipped += 1;
          continue;
        }
        const work = one(made).finally(() => underWay.delete(work));
        underWay.add(work);
      }
      await delay(5);
    }
  }

  return {
    problems,
    counts,
    tookMs,
    told: () => JSON.stringify({ ...counts, problems: problems.length }),
    async start(count: number) {
      for (let index = 0; index < count; index += 1) streams.push(follow(caller, () => (counts.cutStreams += 1)));
      await Promise.all(streams.map(({ open }) => open));
      // A stream that has seen nothing yet cannot name a place to come back to.
      await one(0);
      await Promise.all(streams.map(({ begun }) => begun));
      beganAt = performance.now();
      driver = drive();
    },
    async stop() {
      driving = false;
      const seconds = (performance.now() - beganAt) / 1000;
      await driver;
      await Promise.all(underWay);
      // A stream gets what happened within a second or two.
      const last = [...created.values()];
      const until = performance.now() + 30_000;
      while (performance.now() < until && streams.some(({ seen }) => last.some((id) => !seen.has(id))))
        await delay(100);
      for (const stream of streams) stream.close();
      caller.close();
      return { seconds };
    },
    events: () => streams.reduce((sum, { seen }) => sum + seen.size, 0),
    /** Where tasks, streams and answers do not agree. */
    missing(tasks: readonly { id: string; n: string }[]): string[] {
      const found: string[] = [];
      const there = new Set(tasks.map(({ id }) => id));
      const numbers = tasks.map(({ n }) => n);
      if (new Set(numbers).size !== numbers.length) found.push('A creation that was repeated made two tasks.');
      for (const [n, id] of created)
        if (!there.has(id)) found.push(`Creation ${n} was answered with ${id}, which does not exist.`);
      for (const [index, { seen }] of streams.entries()) {
        const missed = [...created].filter(([, id]) => !seen.has(id)).map(([n]) => n);
        if (missed.length > 0)
          found.push(
            `Stream ${index} missed ${missed.length} of ${created.size} tasks: numbers ${missed[0]} to ${missed.at(-1)}.`,
          );
      }
      return found;
    },
  };
}

/** Reads the stream of tasks; after a cut it comes back with the id that it saw last. */
function follow(caller: Caller, onCut: () => void) {
  const seen = new Set<string>();
  let last: string | undefined;
  let closed = false;
  let stop = () => {};
  let opened = () => {};
  const open = new Promise<void>((resolve) => {
    opened = resolve;
  });
  let began = () => {};
  const begun = new Promise<void>((resolve) => {
    began = resolve;
  });

  async function read(): Promise<void> {
    while (!closed) {
      try {
        const stream = await caller.events(
          '/beta/work/events',
          ({ id, data }) => {
            if (id !== null) last = id;
            if (typeof data === 'object' && data !== null && 'id' in data) seen.add(String(data.id));
            began();
          },
          last,
        );
        stop = stream.close;
        opened();
        await stream.ended;
      } catch {
        await delay(pauseMs);
      }
      if (!closed) onCut();
    }
  }

  void read();
  return {
    open,
    begun,
    seen,
    close() {
      closed = true;
      stop();
    },
  };
}
