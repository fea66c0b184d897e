/** Walks the transition table of tasks: every state × every move does what the table says, and nothing else. Both engines. */
import { describe, expect, test } from 'vitest';
import { type Move, moves } from '../../../src/cloud-api/work-queue/model.ts';
import { createWorkStore } from '../../../src/cloud-api/work-queue/store.ts';
import { type TaskStatus, taskStatuses } from '../../../src/contracts/work-queue/task.ts';
import { engines } from '../../support/engines.ts';
import { startQueue, type TestQueue } from './support.ts';

/** The shortest way to each state. */
const ways: Readonly<Record<TaskStatus, (q: TestQueue, id: string) => Promise<unknown>>> = {
  queued: async () => {},
  leased: (q) => q.lease('w1'),
  running: async (q, id) => {
    await q.lease('w1');
    await q.post(`/${id}/heartbeat`, { worker_id: 'w1' });
  },
  succeeded: async (q, id) => {
    await q.lease('w1');
    await q.post(`/${id}/ack`, { worker_id: 'w1', result: 1 });
  },
  failed: (q, id) => q.post(`/${id}/stop`, { error: 'x' }),
  cancelled: (q, id) => q.post(`/${id}/stop`),
};

const tries: Readonly<Record<Move, (q: TestQueue, id: string) => Promise<unknown>>> = {
  lease: (q) => {
    q.later(60_001);
    return q.lease('w2');
  },
  giveBack: (q, id) =>
    createWorkStore({ store: q.store, now: () => q.clock.now(), leaseMs: 60_000 }).giveBack({
      userId: 'user_ada',
      id,
      workerId: 'w1',
      leaseId: null,
    }),
  heartbeat: (q, id) => q.post(`/${id}/heartbeat`, { worker_id: 'w1' }),
  ack: (q, id) => q.post(`/${id}/ack`, { worker_id: 'w1', result: 1 }),
  fail: (q, id) => q.post(`/${id}/stop`, { error: 'x' }),
  again: (q, id) => q.post(`/${id}/stop`, { worker_id: 'w1', error: { code: 'x', message: 'x' } }),
  cancel: (q, id) => q.post(`/${id}/stop`),
  expire: (q) => {
    q.later(60_001);
    return q.work.queue.sweep();
  },
  retry: (q, id) => q.post(`/${id}/retry`),
};

describe.each(engines)('on $name', (engine) => {
  test.each(Object.keys(moves) as Move[])('%s', async (move) => {
    const q = await startQueue(engine);
    const { from, to } = moves[move];
    for (const status of taskStatuses) {
      // The last attempt, where the end of a lease is the end.
      const retry = move === 'again' ? { on: ['x'] } : undefined;
      const { id } = await q.create({ max_attempts: move === 'expire' ? 1 : 5, retry });
      await ways[status](q, id);
      expect((await q.task(id)).status).toBe(status);
      await tries[move](q, id);
      expect([status, (await q.task(id)).status]).toEqual([status, from.includes(status) ? to : status]);
      await q.post(`/${id}/stop`);
    }
  });
});
