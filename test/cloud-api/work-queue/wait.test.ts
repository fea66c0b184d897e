/** Waiting for a task over HTTP, on both engines. */
import { describe, expect, test } from 'vitest';
import type { Waited } from '../../../src/contracts/common/waiting.ts';
import { engines } from '../../support/engines.ts';
import { startQueue, type TestQueue } from './support.ts';

const wait = (q: TestQueue, id: string, query = '', options = {}) =>
  q.send('GET', `/${id}/wait${query}`, options) as unknown as Promise<Waited & { status: number }>;
/** Some wait, and the process has read what they wait for. */
const held = (q: TestQueue) => expect.poll(() => q.waiting()).toBeGreaterThan(0);

describe.each(engines)('on $name', (engine) => {
  test('a wait ends with the result of the task; a failed one has ended otherwise, with its error', async () => {
    const q = await startQueue(engine, { real: true });
    const [good, bad] = [await q.create(), await q.create()];
    const waits = [wait(q, good.id), wait(q, bad.id), wait(q, bad.id, '?for=running')];
    for (const worker of ['w1', 'w2']) {
      const { task } = await q.lease(worker);
      await q.post(`/${task.id}/heartbeat`, { worker_id: worker });
      if (task.id === good.id) await q.post(`/${task.id}/ack`, { worker_id: worker, result: 1 });
    }
    expect(await waits[2]).toMatchObject({ state: 'running', outcome: 'met' });
    await q.post(`/${bad.id}/stop`, { error: { code: 'broken', message: 'It broke.' } });
    expect(await waits[0]).toMatchObject({ kind: 'task', id: good.id, state: 'succeeded', outcome: 'met' });
    expect(await waits[1]).toMatchObject({ state: 'failed', cause: 'broken', reason: 'It broke.', outcome: 'ended' });
    expect(await wait(q, bad.id, '?for=failed')).toMatchObject({ outcome: 'met' });
    expect(q.faults).toEqual([]);
  });

  test('a task of somebody else is not there, and nobody waits for it', async () => {
    const q = await startQueue(engine, { real: true });
    const task = await q.create();
    const [theirs, made] = [
      await wait(q, task.id, '', { token: 'eve' }),
      await wait(q, 'task_made_up', '', { token: 'eve' }),
    ];
    expect([theirs.status, made.status]).toEqual([404, 404]);
    expect(await wait(q, task.id, '?for=happy')).toMatchObject({ status: 400 });
    expect(await wait(q, task.id, '?seconds=0')).toMatchObject({ status: 200, state: 'queued', outcome: 'waiting' });
  });

  test('when the time is over the wait answers what is, and nothing of it runs on', async () => {
    const q = await startQueue(engine);
    const task = await q.create();
    const waiting = wait(q, task.id, '?seconds=5');
    await held(q);
    await q.clock.advance(5_000);
    await expect.poll(async () => (await Promise.race([waiting, null]))?.outcome ?? null).toBe('waiting');
    await expect.poll(() => q.waiting()).toBe(0);
  });
});
