// Runs apart: its leases of a few seconds run out by real time, which a busy machine does not keep.
/** A worker against a real queue over HTTP, with its real thread: what it does with each end of a task, and what it leaves behind. */
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { TaskFailure } from '../../../src/programs/worker/outcome.ts';
import type { WorkerOptions } from '../../../src/programs/worker/worker.ts';
import { startQueue, type TestQueue } from '../../cloud-api/work-queue/support.ts';
import { engines } from '../../support/engines.ts';
import { startVictim } from '../../support/victim.ts';
import { begin as beginAt } from './support.ts';

const victim = (name: string) => fileURLToPath(new URL(`../../support/victims/${name}.ts`, import.meta.url));
const [blocking, dying] = [victim('blocking-worker'), victim('dying-worker')];
const start = (options: Parameters<typeof startQueue>[1] = { real: true }) => startQueue(engines[0]!, options);

const begin = (q: TestQueue, run: WorkerOptions['run'], more?: Partial<WorkerOptions>) =>
  beginAt(q.server.port, run, more);

test('it ends each task with what became of it, and with an empty queue it ends itself', async () => {
  const q = await start();
  const tasks = [await q.create({ payload: { n: 1 } }), await q.create({ payload: { n: 2 } }), await q.create()];
  const { worker } = begin(
    q,
    async ({ task }) => {
      if (task.payload.n === 1) return { doubled: 2 };
      if (task.payload.n === 2) throw new TaskFailure({ code: 'odd', message: 'Too odd.' });
      throw new Error('what nobody thought of');
    },
    { untilEmpty: true, concurrency: 2 },
  );
  expect(await worker.ended).toEqual({
    succeeded: 1,
    failed: 2,
    stopped: 0,
    lost: 0,
    abandoned: 0,
    kept: 0,
    delivered: 0,
  });
  const ended = await Promise.all(tasks.map(({ id }) => q.task(id)));
  expect(ended.map(({ status, result, error }) => ({ status, result, error }))).toEqual([
    { status: 'succeeded', result: { doubled: 2 }, error: null },
    { status: 'failed', result: null, error: { code: 'odd', message: 'Too odd.' } },
    { status: 'failed', result: null, error: { code: 'worker_error', message: 'what nobody thought of' } },
  ]);
});

test('it says what it has and runs, and leaves tasks that ask for more to other workers', async () => {
  const q = await start();
  const [plain, labelled, image] = [
    await q.create(),
    await q.create({ labels: { gpu: 'a100' } }),
    await q.create({ sandbox_image: 'alpine:3' }),
  ];
  const can = { labels: { gpu: 'a100' }, images: [] };
  const { worker } = begin(q, async () => 1, { untilEmpty: true, can });
  expect((await worker.ended).succeeded).toBe(2);
  expect((await q.task(plain.id)).status).toBe('succeeded');
  expect((await q.task(labelled.id)).status).toBe('succeeded');
  expect(await q.task(image.id)).toMatchObject({ status: 'queued', attempts: 0 });
});

test('a queue of an earlier version, which refuses what it says, is asked without it', async () => {
  const q = await start();
  await q.create();
  const refusing: WorkerOptions['fetch'] = async (url, init) =>
    url.includes('images=')
      ? new Response(JSON.stringify({ error: 'bad_request', message: 'images is unknown.' }), { status: 400 })
      : fetch(url, init);
  const more = { untilEmpty: true, fetch: refusing };
  expect(await begin(q, async () => 1, { ...more, can: { labels: {}, images: [] } }).worker.ended).toMatchObject({
    succeeded: 1,
  });
  // Labels that the queue does not know would be a promise that nobody keeps.
  const labelled = begin(q, async () => 1, { ...more, can: { labels: { gpu: 'a100' }, images: [] } }).worker.ended;
  await expect(labelled).rejects.toThrow('images is unknown.');
});

test('it works on as many at once as it was told, and on no more', async () => {
  const q = await start();
  for (let count = 0; count < 6; count += 1) await q.create();
  let [max, at] = [0, 0];
  const gates: (() => void)[] = [];
  const { worker } = begin(
    q,
    async () => {
      at += 1;
      max = Math.max(max, at);
      await new Promise<void>((resolve) => gates.push(resolve));
      at -= 1;
    },
    { concurrency: 3, untilEmpty: true },
  );
  await expect.poll(() => gates.length).toBe(3);
  expect((await q.send('GET', '/stats')).depth).toBe(3);
  for (let count = 0; count < 6; count += 1) {
    await expect.poll(() => gates.length).toBeGreaterThan(0);
    gates.shift()!();
  }
  expect((await worker.ended).succeeded).toBe(6);
  expect(max).toBe(3);
});

test('one that drains finishes what it holds, takes nothing new, and leaves nothing behind', async () => {
  const q = await start();
  const { id } = await q.create();
  let finish = () => {};
  let asking = 0;
  const { worker, events } = begin(q, () => new Promise<void>((resolve) => (finish = resolve)), {
    concurrency: 2,
    async fetch(input, init) {
      const waits = String(input).includes('wait=30');
      if (waits) asking += 1;
      return fetch(input, init).finally(() => {
        if (waits) asking -= 1;
      });
    },
  });
  await expect.poll(() => [events.length, asking]).toEqual([1, 1]);
  // It waits for a second task now; that call ends at once, instead of after its 30 seconds.
  worker.drain();
  await expect.poll(() => asking).toBe(0);
  const later = await q.create();
  await expect.poll(async () => (await q.task(id)).status).toBe('running');
  finish();
  expect(await worker.ended).toMatchObject({ succeeded: 1, lost: 0 });
  expect((await q.task(id)).status).toBe('succeeded');
  expect(await q.task(later.id)).toMatchObject({ status: 'queued', attempts: 0 });
  expect(events.map(({ kind }) => kind)).toEqual(['began', 'draining', 'succeeded']);
});

test('one that waits for a task and drains ends at once', async () => {
  const q = await start();
  const { worker } = begin(q, async () => null);
  await expect.poll(async () => (await q.send('GET', '/stats')).workers_polling).toBe(1);
  const began = performance.now();
  worker.drain();
  await worker.ended;
  expect(performance.now() - began).toBeLessThan(15_000);
});

test('a task that is stopped from outside ends its job, is called stopped, and nothing more is told', async () => {
  const q = await start({ real: true, leaseMs: 6_000 });
  const { id } = await q.create();
  let aborted = false;
  const { worker, kinds } = begin(q, ({ signal }) => {
    return new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        aborted = true;
        reject(new Error('ended'));
      }),
    );
  });
  await expect.poll(async () => (await q.task(id)).status).toBe('running');
  await q.post(`/${id}/stop`);
  await expect.poll(kinds).toEqual(['began', 'stopped']);
  expect(aborted).toBe(true);
  expect(await q.task(id)).toMatchObject({ status: 'cancelled', error: null });
  worker.drain();
  expect(await worker.ended).toEqual({
    succeeded: 0,
    failed: 0,
    stopped: 1,
    lost: 0,
    abandoned: 0,
    kept: 0,
    delivered: 0,
  });
});

test('a worker that ends at once says what it gave up', async () => {
  const q = await start({ real: true });
  const { id } = await q.create();
  const { worker, kinds } = begin(q, ({ signal }) => {
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))));
  });
  await expect.poll(async () => (await q.task(id)).status).toBe('running');
  worker.abort();
  expect(await worker.ended).toEqual({
    succeeded: 0,
    failed: 0,
    stopped: 0,
    lost: 0,
    abandoned: 1,
    kept: 0,
    delivered: 0,
  });
  expect(kinds()).toEqual(['began', 'abandoned']);
});

test('a graceful stop reaches the job, and the worker ends the task', async () => {
  const q = await start({ real: true, leaseMs: 6_000 });
  const { id } = await q.create();
  const { worker } = begin(q, ({ signal }) => {
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('ended'))));
  });
  await expect.poll(async () => (await q.task(id)).status).toBe('running');
  await q.post(`/${id}/stop`, { graceful: true });
  await expect.poll(async () => (await q.task(id)).status).toBe('cancelled');
  worker.drain();
  expect(await worker.ended).toMatchObject({ stopped: 1, lost: 0 });
});

test('a result that is too large fails the task, with a sentence', async () => {
  const q = await start();
  const { id } = await q.create();
  const { worker } = begin(q, async () => 'x'.repeat(2_000_000), { untilEmpty: true });
  expect(await worker.ended).toMatchObject({ failed: 1 });
  expect((await q.task(id)).error).toMatchObject({
    code: 'bad_result',
    message: expect.stringContaining('larger than'),
  });
});

test('a key without the scope ends the worker, and a queue that is away does not', async () => {
  const q = await start();
  await expect(begin(q, async () => null, { key: 'ada/compute' }).worker.ended).rejects.toMatchObject({
    code: 'refused',
  });
  let away = true;
  const { id } = await q.create();
  const { worker, kinds } = begin(q, async () => 1, {
    untilEmpty: true,
    fetch: (input, init) => (away ? Promise.reject(new Error('no way')) : fetch(input, init)),
  });
  await expect.poll(() => kinds().length).toBeGreaterThan(2);
  away = false;
  await worker.ended;
  expect((await q.task(id)).status).toBe('succeeded');
});

test('a job that blocks its thread keeps its lease all the same', async () => {
  const q = await start({ real: true, leaseMs: 3_000 });
  const { id } = await q.create();
  const victim = startVictim({
    command: [process.execPath, blocking, `http://127.0.0.1:${q.server.port}`, 'ada', '7000'],
  });
  onTestFinished(() => void victim.kill());
  await victim.until((line) => line === 'blocking');
  // Longer than a lease nobody else gets it.
  for (let count = 0; count < 20; count += 1) {
    expect((await q.lease('other')).task).toBeNull();
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  await victim.ended;
  expect(await q.task(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
});

test('a worker that is killed loses its lease, and another finishes the task', async () => {
  const q = await start({ real: true, leaseMs: 3_000 });
  const { id } = await q.create();
  const victim = startVictim({
    command: [process.execPath, blocking, `http://127.0.0.1:${q.server.port}`, 'ada', '60000'],
  });
  await victim.until((line) => line === 'blocking');
  await victim.kill();
  const { worker } = begin(q, async () => 'second', { workerId: 'w2', waitSeconds: 0 });
  await expect.poll(async () => (await q.task(id)).status).toBe('succeeded');
  expect(await q.task(id)).toMatchObject({ attempts: 2, result: 'second' });
  worker.drain();
  await worker.ended;
});

test('a task that kills each worker that takes it is given up after five, and can be tried again', {
  timeout: 90_000,
}, async () => {
  // A busy machine may take seconds from a lease to the death of its worker.
  const q = await start({ real: true, leaseMs: 4_000 });
  const { id } = await q.create();
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    const name = `w${attempt}`;
    const one = startVictim({ command: [process.execPath, dying, `http://127.0.0.1:${q.server.port}`, 'ada', name] });
    expect((await one.ended).signal).toBe('SIGKILL');
    const { attempts, lease_worker_id: holder } = await q.task(id);
    expect(attempts).toBe(attempt);
    // On a busy machine its lease may have ended by now.
    expect([name, null]).toContain(holder);
  }
  const { worker, events } = begin(q, async () => 'at last', { workerId: 'w6', waitSeconds: 0 });
  const given = async () => (await q.send('GET', '?status=failed')).tasks.map((task) => [task.id, task.error?.code]);
  await expect.poll(given).toEqual([[id, 'lease_expired']]);
  expect(events).toEqual([]);
  await q.post(`/${id}/retry`);
  await expect.poll(async () => (await q.task(id)).result).toBe('at last');
  worker.drain();
  await worker.ended;
});
