/** The work queue of a running Gantry as programs use it: tasks are handed in, and real workers do what the test tells them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import {
  type LeasedTask,
  startWorker,
  type Worker,
  type WorkerAbilities,
} from '../../../src/programs/worker/worker.ts';
import type { Gantry } from './gantry.ts';
import { ownerCall } from './owner-call.ts';

/** A task that its worker holds until the test ends it. */
export interface Held {
  done(result: unknown): void;
  fail(why: string): void;
}

export function queueOf(gantry: Gantry) {
  const key = readFileSync(join(gantry.home, 'token'), 'utf8').trim();
  const workers: Worker[] = [];

  const call = <T = { id: string }>(method: string, path: string, body?: unknown): Promise<T> =>
    ownerCall<T>(gantry, method, path, body);

  function start(
    workerId: string,
    concurrency: number,
    run: (task: LeasedTask) => Promise<unknown>,
    can?: WorkerAbilities,
  ): Worker {
    const worker = startWorker({ url: gantry.origin, key, workerId, concurrency, can, random: Math.random, run });
    workers.push(worker);
    return worker;
  }

  return {
    key,
    call,
    start,
    add: async (command: string, more: Record<string, unknown> = {}) =>
      (await call('POST', '/beta/work', { payload: { command }, ...more })).id,
    /** A worker whose jobs end when the test says so, or when they are to stop. */
    work(workerId: string, concurrency = 1, can?: WorkerAbilities) {
      const held = new Map<string, Held>();
      const worker = start(
        workerId,
        concurrency,
        ({ task, signal }) =>
          new Promise((resolve, reject) => {
            signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
            held.set(task.id, { done: resolve, fail: (why) => reject(new Error(why)) });
          }),
        can,
      );
      const job = async (id: string): Promise<Held> => {
        await expect.poll(() => held.has(id), { interval: 20 }).toBe(true);
        return held.get(id) as Held;
      };
      return { worker, job };
    },
    /** Workers let go of what they hold. */
    async close(): Promise<void> {
      for (const worker of workers) worker.abort();
      await Promise.all(workers.map((worker) => worker.ended.catch(() => {})));
    },
  };
}

export type Queue = ReturnType<typeof queueOf>;
