/** Tasks that ask for labels or an image: which worker gets them, and why they stay queued. Both engines. */
import { describe, expect, test } from 'vitest';
import { canOf, canRun } from '../../../src/cloud-api/work-queue/needs.ts';
import { mayName } from '../../../src/kit/docker/image-rule.ts';
import { engines } from '../../support/engines.ts';
import { startQueue } from './support.ts';

const gpu = '&labels=gpu=a100,zone=eu&images=none';
const none = '&labels=&images=none';

describe.each(engines)('on $name', (engine) => {
  test('a lease call that says nothing gets the oldest task, whatever it asks for', async () => {
    const q = await startQueue(engine);
    const made = [
      await q.create(),
      await q.create({ labels: { gpu: 'a100' } }),
      await q.create(),
      await q.create({ sandbox_image: 'alpine:3' }),
      await q.create({ labels: { gpu: 'a100' }, sandbox_image: 'alpine:3', priority: 1 }),
    ];
    const leased = [];
    for (const _ of made) leased.push((await q.lease('w1')).task.id);
    expect(leased).toEqual([4, 0, 1, 2, 3].map((at) => made[at]!.id));
    expect((await q.lease('w1')).task).toBeNull();
  });

  test('a worker that says what it has gets the oldest of those that it can run', async () => {
    const q = await startQueue(engine);
    const both = await q.create({ labels: { gpu: 'a100', zone: 'us' } });
    const image = await q.create({ sandbox_image: 'ghcr.io/acme/api:1' });
    const one = await q.create({ labels: { gpu: 'a100' } });
    const plain = await q.create();
    const two = await q.create({ labels: { zone: 'eu' } });
    expect((await q.lease('w1', none)).task.id).toBe(plain.id);
    expect((await q.lease('w1', none)).task).toBeNull();
    expect((await q.lease('w2', gpu)).task.id).toBe(one.id);
    expect((await q.lease('w2', gpu)).task.id).toBe(two.id);
    expect((await q.lease('w2', gpu)).task).toBeNull();
    expect((await q.lease('w3', '&images=ghcr.io/acme-other,docker.io/')).task).toBeNull();
    expect((await q.lease('w3', '&images=ghcr.io/acme')).task.id).toBe(image.id);
    expect((await q.lease('w4')).task.id).toBe(both.id);
  });

  test('a task that no connected worker can run stays queued and says why, until one connects', async () => {
    const q = await startQueue(engine);
    const { id } = await q.create({ labels: { gpu: 'a100' }, sandbox_image: 'alpine:3' });
    await q.lease('w1', none);
    const why = 'No connected worker has the label gpu=a100 and runs the image alpine:3.';
    const told = async () => (await q.task(id)).waiting_for;
    await expect.poll(told).toBe(why);
    expect((await q.send('GET', '?status=queued')).tasks[0]).toMatchObject({ id, status: 'queued', waiting_for: why });
    expect((await q.send('GET', '/stats')).depth).toBe(1);
    expect((await q.send('GET', '/workers')).workers).toMatchObject([{ worker_id: 'w1', labels: {}, images: [] }]);
    // One that drains takes nothing more.
    await q.lease('w2', '&labels=gpu=a100&images=*&draining=1');
    await expect.poll(async () => (await q.send('GET', '/workers')).workers).toHaveLength(2);
    expect(await told()).toBe(why);
    expect((await q.lease('w3', '&labels=gpu=a100&images=*')).task.id).toBe(id);
    expect((await q.task(id)).waiting_for).toBeNull();
  });

  test('one that waits is woken by a task that it can run, and hinders nobody who can run another', async () => {
    const q = await startQueue(engine);
    const waiting = [q.lease('w1', `${none}&wait=30`), q.lease('w2', `${gpu}&wait=30`)];
    await expect.poll(() => q.waiting()).toBeGreaterThan(3);
    const { id } = await q.create({ labels: { gpu: 'a100' } });
    expect((await waiting[1]!).task.id).toBe(id);
    const plain = await q.create();
    expect((await waiting[0]!).task.id).toBe(plain.id);
  });

  test('a lease that ends is taken over only by a worker that can run the task', async () => {
    const q = await startQueue(engine);
    const { id } = await q.create({ labels: { gpu: 'a100' } });
    await q.lease('w2', gpu);
    q.later(60_001);
    expect((await q.lease('w1', none)).task).toBeNull();
    expect(await q.lease('w3', gpu)).toMatchObject({ task: { id }, lease: { attempt: 2 } });
    q.later(60_001);
    expect((await q.lease('w4')).lease.attempt).toBe(3);
  });

  test('a task that waits for its time and one that is put back keep what they ask for', async () => {
    const q = await startQueue(engine);
    const at = new Date(q.clock.now() + 5_000).toISOString();
    const later = await q.create({ labels: { gpu: 'a100' }, not_before: at });
    const failed = await q.create({ labels: { gpu: 'a100' }, retry: { on: ['x'], backoff_seconds: 1 } });
    expect((await q.send('GET', '/stats')).scheduled).toBe(1);
    await q.lease('w2', gpu);
    await q.post(`/${failed.id}/stop`, { worker_id: 'w2', error: { code: 'x', message: '' } });
    expect((await q.lease('w2', gpu)).task).toBeNull();
    q.later(5_000);
    expect((await q.lease('w1', none)).task).toBeNull();
    expect([(await q.lease('w2', gpu)).task.id, (await q.lease('w2', gpu)).task.id]).toEqual([failed.id, later.id]);
    await q.post(`/${failed.id}/stop`, { worker_id: 'w2', error: { code: 'y', message: '' } });
    await q.post(`/${failed.id}/retry`);
    expect((await q.lease('w1', none)).task).toBeNull();
    expect((await q.lease('w2', gpu)).task.id).toBe(failed.id);
  });

  test('a task with an image that an earlier version queued goes to nobody who said that it cannot run it', async () => {
    const q = await startQueue(engine);
    const { id } = await q.create();
    await q.store.write((tx) => tx.run(`UPDATE work_task SET sandbox_image = 'alpine:3' WHERE id = ?`, id));
    const { id: next } = await q.create();
    expect((await q.lease('w1', none)).task.id).toBe(next);
    expect(await q.task(id)).toMatchObject({ status: 'queued', attempts: 0, sandbox_image: 'alpine:3' });
    expect((await q.lease('w1', none)).task).toBeNull();
    expect((await q.lease('w2', '&images=alpine')).task.id).toBe(id);
  });

  test('fifty that lease at once get fifty different tasks, whether or not they say what they can run', async () => {
    const q = await startQueue(engine);
    for (let count = 0; count < 60; count += 1) await q.create(count % 3 === 0 ? {} : { labels: { gpu: 'a100' } });
    const all = await Promise.all(Array.from({ length: 50 }, (_, n) => q.lease(`w${n}`, n % 2 === 0 ? gpu : '')));
    expect(new Set(all.map(({ task }) => task?.id)).size).toBe(50);
  });

  test('only images that the operator allows to a person can be named', async () => {
    const q = await startQueue(engine, {
      images: [
        { userId: null, beginning: 'ghcr.io/acme' },
        { userId: 'user_eve', beginning: 'docker.io/' },
      ],
    });
    const post = (sandbox_image: string, token = 'ada') => q.post('', { sandbox_image }, { token });
    expect((await post('ghcr.io/acme/api:1')).status).toBe(201);
    expect((await post('docker.io/library/alpine', 'eve')).status).toBe(201);
    expect(await post('docker.io/library/alpine')).toMatchObject({ status: 400, error: 'image_not_allowed' });
    expect((await post('ghcr.io/acme-other/api')).status).toBe(400);
  });

  test.each(['labels=gpu', 'labels=GPU=1', 'labels=a=b,,c=d', 'images=', 'images=a b'])(
    'a lease call with %s is refused',
    async (query) => {
      const q = await startQueue(engine);
      expect((await q.lease('w1', `&${query.replace(' ', '%20')}`)).status).toBe(400);
    },
  );
});

test('what a worker says about itself', () => {
  expect(canOf({})).toBeNull();
  expect(canOf({ labels: '', images: 'none' })).toEqual({ labels: {}, images: [] });
  const can = canOf({ labels: 'a=1,b=', images: 'x/,y' })!;
  expect(can).toEqual({ labels: { a: '1', b: '' }, images: ['x/', 'y'] });
  expect(canRun(can, { image: 'x/z', labels: { b: '' } })).toBe(true);
  expect(canRun(can, { image: 'yy', labels: {} })).toBe(false);
  expect(canRun(can, { image: null, labels: { a: '2' } })).toBe(false);
  expect(mayName(null, 'user_ada', 'any')).toBe(true);
  expect(mayName([], 'user_ada', 'any')).toBe(false);
});
