/** Shared parts of the queue's figures: one task's cycle through the store, and running many of them at once. */
import { createWorkStore, type WorkStore } from '../../../src/cloud-api/work-queue/store.ts';
import { createIds, type Ids } from '../../../src/kit/ids/ids.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';

export const owner = 'user_ada';
const command = { command: 'true' };
export const payload = JSON.stringify(command);
const result = JSON.stringify({ exit_code: 0 });

export interface Cycles {
  readonly store: WorkStore;
  readonly ids: Ids;
  create(): Promise<unknown>;
  /** Enqueue → lease → ack. */
  cycle(workerId: string): Promise<void>;
}

export function createCycles(shared: SharedStore): Cycles {
  const now = () => Date.now();
  const ids = createIds({ now, monotonic: () => performance.now() });
  const store = createWorkStore({ store: shared, now, leaseMs: 60_000 });
  const create = () => store.create(owner, ids.next('task'), { payload: command });
  return {
    store,
    ids,
    create,
    async cycle(workerId) {
      await create();
      const leaseId = ids.next('lease');
      const task = await store.lease(owner, workerId, leaseId);
      if (task === null) throw new Error('Nothing was leased.');
      const acked = await store.ack({ userId: owner, id: task.id, workerId, leaseId }, result);
      if (acked === null) throw new Error('The ack was refused.');
    },
  };
}

/** `total` runs of `work`, so many at the same time. */
export async function atOnce(parallel: number, total: number, work: (lane: number) => Promise<unknown>): Promise<void> {
  let left = total;
  await Promise.all(
    Array.from({ length: parallel }, async (_, lane) => {
      while (left > 0) {
        left -= 1;
        await work(lane);
      }
    }),
  );
}

/** Processor microseconds of this process a run of `work`. */
export async function cpuPerRun(total: number, work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / total;
}
