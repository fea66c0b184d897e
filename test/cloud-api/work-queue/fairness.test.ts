/** Fairness keys take turns; tasks that name none are leased oldest first among all others. Both engines. */
import { describe, expect, test } from 'vitest';
import { createWorkStore } from '../../../src/cloud-api/work-queue/store.ts';
import { engines } from '../../support/engines.ts';
import { startQueue, type TestQueue } from './support.ts';

describe.each(engines)('on $name', (engine) => {
  const next = async (q: TestQueue, count: number, more = '') => {
    const names: unknown[] = [];
    for (let n = 0; n < count; n += 1) names.push((await q.lease('w1', more)).task?.payload.name ?? null);
    return names;
  };
  const add = (q: TestQueue, name: string, fairness_key?: string, more: Record<string, unknown> = {}) =>
    q.create({ payload: { name }, fairness_key, ...more });

  test('keys take turns, and a key that comes later begins with the current round', async () => {
    const q = await startQueue(engine);
    for (const name of ['a1', 'a2', 'a3', 'a4']) await add(q, name, 'a');
    await add(q, 'b1', 'b');
    expect(await next(q, 2)).toEqual(['a1', 'b1']);
    for (const name of ['c1', 'c2']) await add(q, name, 'c');
    expect(await next(q, 6)).toEqual(['a2', 'c1', 'a3', 'c2', 'a4', null]);
  });

  test('two keys that come again and again do not keep a third from its turn', async () => {
    const q = await startQueue(engine);
    for (const name of ['a1', 'a2', 'a3']) await add(q, name, 'a');
    await add(q, 'b', 'b');
    await add(q, 'c', 'c');
    const leased: unknown[] = [];
    for (let n = 0; n < 9; n += 1) {
      const [name] = await next(q, 1);
      leased.push(name);
      if (name === 'b' || name === 'c') await add(q, name, name);
    }
    expect(leased.filter((name) => String(name).startsWith('a'))).toEqual(['a1', 'a2', 'a3']);
  });

  test('tasks without a key are leased oldest first: those with one take turns among themselves', async () => {
    const q = await startQueue(engine);
    await add(q, 'a1', 'a');
    await add(q, 'a2', 'a');
    await add(q, 'plain1');
    await add(q, 'b1', 'b');
    await add(q, 'plain2');
    expect(await next(q, 5)).toEqual(['a1', 'b1', 'plain1', 'a2', 'plain2']);
  });

  test('a priority goes before any turn', async () => {
    const q = await startQueue(engine);
    await add(q, 'a1', 'a');
    await add(q, 'b1', 'b', { priority: 1 });
    await add(q, 'b2', 'b', { priority: 1 });
    expect(await next(q, 3)).toEqual(['b1', 'b2', 'a1']);
  });

  test('turns hold among tasks of different needs for a worker that says what it has', async () => {
    const q = await startQueue(engine);
    const labels = { gpu: 'a100' };
    for (const name of ['a1', 'a2']) await add(q, name, 'a', { labels });
    await add(q, 'x', 'x', { labels: { gpu: 'other' } });
    await add(q, 'b1', 'b');
    expect(await next(q, 4, '&labels=gpu=a100')).toEqual(['a1', 'b1', 'a2', null]);
  });

  test('a key that is done is forgotten', async () => {
    const q = await startQueue(engine);
    await add(q, 'a1', 'a');
    await add(q, 'b1', 'b');
    await next(q, 2);
    await createWorkStore({ store: q.store, now: () => q.clock.now(), leaseMs: 60_000 }).forgetTurns();
    expect(await q.store.all('SELECT * FROM work_turn')).toEqual([]);
  });
});
