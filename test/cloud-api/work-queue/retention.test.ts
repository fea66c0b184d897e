/** What has ended is kept for 30 days and then goes by itself; what has not ended stays. */
import { describe, expect, test } from 'vitest';
import { retentionMs } from '../../../src/cloud-api/work-queue/index.ts';
import { engines } from '../../support/engines.ts';
import { startQueue } from './support.ts';

const day = 24 * 3600 * 1000;

describe.each(engines)('on $name', (engine) => {
  test('an ended task is kept for 30 days, whoever ended it, and what waits or is held longer than that', async () => {
    const q = await startQueue(engine);
    const eve = { token: 'eve' };
    const [done, failed, cancelled] = [await q.create(), await q.create(), await q.create()];
    for (const { id } of [done, failed]) expect((await q.lease('w1')).task.id).toBe(id);
    await q.post(`/${done.id}/ack`, { worker_id: 'w1' });
    await q.post(`/${failed.id}/stop`, { worker_id: 'w1', error: 'no' });
    await q.post(`/${cancelled.id}/stop`);
    const theirs = (await q.create({}, eve)).id;
    await q.post(`/${theirs}/stop`, undefined, eve);
    const held = await q.create();
    await q.lease('w1');
    const queued = await q.create();
    q.later(retentionMs - day);
    const recent = await q.create();
    await q.post(`/${recent.id}/stop`);
    const listed = async () => (await q.send('GET', '')).tasks.map(({ id }) => id);
    const all = [recent, queued, held, cancelled, failed, done].map(({ id }) => id);
    await q.work.forgetOld(q.clock.now());
    expect(await listed()).toEqual(all);
    q.later(day);
    await q.work.forgetOld(q.clock.now());
    expect(await listed()).toEqual([recent.id, queued.id, held.id]);
    expect((await q.send('GET', '', eve)).tasks).toEqual([]);
    expect(q.faults).toEqual([]);
  });

  test('of very many, all go', async () => {
    const q = await startQueue(engine);
    const { id } = await q.create();
    await q.post(`/${id}/stop`);
    const columns = (await q.store.all<Record<string, string>>('SELECT * FROM work_task'))[0]!;
    const names = Object.keys(columns).filter((name) => name !== 'id');
    await q.store.write(function* (tx) {
      const many = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1234)
        INSERT INTO work_task (id, ${names}) SELECT 'task_' || i, ${names} FROM work_task, n`;
      yield* tx.run(many);
    });
    const count = async () => {
      await q.work.forgetOld(q.clock.now());
      return (await q.store.get<{ n: number }>('SELECT count(*) AS n FROM work_task'))!.n;
    };
    expect(await count()).toBe(1235);
    q.later(retentionMs + 1);
    expect(await count()).toBe(0);
  });
});
