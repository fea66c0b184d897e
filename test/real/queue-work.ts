/** A thousand commands, the workers that run them, and what must have become of each; on whichever cloud. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Task } from '../../src/contracts/work-queue/task.ts';
import { type Caller, createCaller, insist } from '../support/bench/http.ts';
import { gantryCommand } from '../support/bench/product.ts';
import { createRestarts, type Restarts } from '../support/restarts.ts';
import { startVictim } from '../support/victim.ts';
import type { Look, QueuePage } from './queue-page.ts';

export interface Bench {
  readonly caller: Caller;
  readonly key: string;
  readonly workers: readonly Restarts[];
  /** `gantry worker --drain` once more beside them; answers how it ended and what it said last. */
  drain(name: string): Promise<{ code: number | null; said: string }>;
  /** What is left of all workers when they have ended: sentences. */
  left(): Promise<string[]>;
  close(): Promise<void>;
}

const hands = 8;
const concurrency = 4;

export function createBench(origin: string, key: string, count: number): Bench {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-queue-'));
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, key, { mode: 0o600 });
  const caller = createCaller(origin, key);
  const places: string[] = [];
  const worker = (name: string, ...more: string[]) => {
    const place = join(folder, name);
    places.push(place);
    for (const part of ['tmp', 'home']) mkdirSync(join(place, part), { recursive: true });
    const given = ['--url', origin, '--key-file', keyFile, '--name', name, '--concurrency', `${concurrency}`, ...more];
    const command: [string, ...string[]] = [...gantryCommand, 'worker', ...given];
    const env = { HOME: join(place, 'home'), GANTRY_HOME: join(place, 'home', '.gantry'), TMPDIR: join(place, 'tmp') };
    return { name, command, env };
  };
  const workers = Array.from({ length: count }, (_, index) => createRestarts(worker(`worker-${index + 1}`)));
  return {
    caller,
    key,
    workers,
    async drain(name) {
      const one = startVictim(worker(name, '--drain'));
      const { code } = await one.ended;
      return { code, said: one.lines.at(-1) ?? '' };
    },
    async left() {
      const files = places.flatMap((place) =>
        ['tmp', 'home'].flatMap((part) => readdirSync(join(place, part)).map((name) => join(place, part, name))),
      );
      const held = (await Promise.all(['leased', 'running'].map((status) => tasksOf(caller, status)))).flat();
      return [
        ...files.map((file) => `the file ${file}`),
        ...processesOfTasks(folder).map((line) => `the process ${line}`),
        ...held.map(({ id, lease_worker_id: by }) => `the lease of ${by} on ${id}`),
      ];
    },
    async close() {
      await Promise.all(workers.map((one) => one.stop('SIGKILL')));
      caller.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Whatever was started with a folder of ours as its home or for its temporary files. */
function processesOfTasks(folder: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || !existsSync(`/proc/${pid}/environ`)) return [];
    try {
      const text = readFileSync(`/proc/${pid}/environ`, 'latin1');
      if (!text.includes(folder)) return [];
      return [`${pid} ${readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ')}`];
    } catch {
      return [];
    }
  });
}

export async function tasksOf(caller: Caller, status: string | null = null): Promise<Task[]> {
  const all: Task[] = [];
  const narrow = status === null ? '' : `&status=${status}`;
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `/beta/work?limit=200${narrow}${cursor === '' ? '' : `&cursor=${cursor}`}`;
    const page = await insist(() => caller.call<{ tasks: Task[]; next_cursor: string | null }>('GET', path));
    all.push(...page.tasks);
    cursor = page.next_cursor;
  }
  return all;
}

/** Task n is a line for a shell; each fiftieth fails. */
function commandOf(n: number): string {
  if (n % 50 === 0) return `echo "why ${n}" >&2; exit 3`;
  if (n % 3 === 0) return `seq 1 ${n} | awk '{ sum += $1 } END { print sum }'`;
  return n % 3 === 1
    ? `sleep 0.${n % 10}; expr ${n} '*' ${n}`
    : `printf '%s' ${n} | sha256sum | cut -c1-8 > out; wc -c < out`;
}

function expected(n: number): string {
  if (n % 3 === 0) return `${(n * (n + 1)) / 2}\n`;
  return n % 3 === 1 ? `${n * n}\n` : '9\n';
}

export async function handIn({ caller }: Bench, from: number, to: number): Promise<void> {
  let next = from;
  await Promise.all(
    Array.from({ length: hands }, async () => {
      while (next <= to) {
        const n = next;
        next += 1;
        // Asked again until it is answered: what was cut off may be there as well, and is told apart by nothing.
        await insist(() =>
          caller.call('POST', '/beta/work', { payload: { n, command: commandOf(n) }, max_attempts: 20 }),
        );
      }
    }),
  );
}

export interface Watched {
  readonly looks: readonly Look[];
  readonly seconds: number;
}

/** Looks at the page each second, until the queue is empty and the page says so too. */
export async function watchUntilEmpty({ caller }: Bench, page: QueuePage, limitMs: number): Promise<Watched> {
  const began = performance.now();
  const looks: Look[] = [];
  while (performance.now() - began < limitMs) {
    await delay(1000);
    const stats = await insist(() =>
      caller.call<{ depth: number; leased: number; running: number }>('GET', '/beta/work/stats'),
    );
    const look = await page.look();
    looks.push(look);
    const left = stats.depth + stats.leased + stats.running;
    if (left === 0 && look.queued + look.held === 0) return { looks, seconds: (performance.now() - began) / 1000 };
  }
  throw new Error(`The queue is not empty after ${limitMs / 1000} s; the page shows ${JSON.stringify(looks.at(-1))}.`);
}

/** Every task ended, as its command ends; answers how many, how many of them failed, and how many were leased again. */
export async function checkEnds(bench: Bench, from: number, to: number) {
  const all = (await tasksOf(bench.caller)).filter(
    ({ payload }) => Number(payload.n) >= from && Number(payload.n) <= to,
  );
  const numbers = new Set(all.map(({ payload }) => Number(payload.n)));
  for (let n = from; n <= to; n += 1) assert.ok(numbers.has(n), `task ${n} was handed in and is not there`);
  for (const task of all) {
    const n = Number(task.payload.n);
    if (n % 50 === 0) assert.equal(task.error?.code, 'exit_3', `${task.id} (${n}) is ${task.status}`);
    else assert.equal((task.result as { stdout?: string } | null)?.stdout, expected(n), `${task.id} (${n})`);
  }
  return {
    ended: all.length,
    failed: all.filter(({ status }) => status === 'failed').length,
    again: all.filter(({ attempts }) => attempts > 1).length,
    twice: all.length - numbers.size,
  };
}
