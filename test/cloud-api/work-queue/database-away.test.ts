// Runs apart: it kills servers and waits for their leases by real time.
/**
 * The database goes away under a queue at work: whoever asks is told so at once, a worker goes on with what it holds until its own
 * deadline, and all of it goes on by itself. Minutes are seconds here: leases are short.
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openPostgres } from '../../../src/kit/store/open-postgres.ts';
import { startWorker, type WorkerEvent, type WorkerOptions } from '../../../src/programs/worker/worker.ts';
import { createCaller } from '../../support/bench/http.ts';
import type { Engine } from '../../support/engines.ts';
import { postgres } from '../../support/postgres.ts';
import { openWay, type PostgresWay } from '../../support/postgres-way.ts';
import { startQueue, type TestQueue } from './support.ts';

async function startBehind(leaseMs: number): Promise<{ q: TestQueue; way: PostgresWay }> {
  const way = await openWay(await postgres!.schema());
  const engine: Engine = {
    name: 'postgres',
    place: async () => ({
      async open(migrations) {
        const store = await openPostgres({ url: way.url, migrations, clock: systemClock, connections: 4 });
        onTestFinished(() => store.close());
        return store;
      },
    }),
  };
  return { q: await startQueue(engine, { real: true, leaseMs }), way };
}

function work(q: TestQueue, workerId: string, run: WorkerOptions['run'], random = 0.1) {
  const events: (WorkerEvent & { readonly at: number })[] = [];
  const worker = startWorker({
    url: `http://127.0.0.1:${q.server.port}`,
    key: 'ada',
    workerId,
    run,
    random: () => random,
    tell: (event) => events.push({ ...event, at: performance.now() }),
  });
  onTestFinished(async () => {
    worker.abort();
    await worker.ended.catch(() => {});
  });
  const of = (kind: WorkerEvent['kind']) => events.find((event) => event.kind === kind);
  return { worker, of };
}

// Programs that wait for leases, on a computer that is busy with other tests.
describe.skipIf(postgres === null)('on PostgreSQL', { timeout: 90_000 }, () => {
  test('for less than a lease: each call is told so at once, also those that wait, and nothing is lost', async () => {
    const { q, way } = await startBehind(20_000);
    const { id } = await q.create();
    let finish = () => {};
    const holder = work(q, 'w1', ({ signal }) => {
      return new Promise<void>((resolve) => {
        finish = resolve;
        signal.addEventListener('abort', () => resolve());
      });
    });
    await expect.poll(async () => (await q.task(id)).status).toBe('running');
    const told: string[] = [];
    const reader = createCaller(`http://127.0.0.1:${q.server.port}`, 'ada');
    onTestFinished(() => reader.close());
    await reader.events('/beta/work/events', ({ data }) => told.push((data as { id: string }).id));
    const waiting = q.lease('w2', '&wait=30');

    way.close();
    const away = { status: 502, error: 'transport', message: expect.stringContaining('cannot be reached') };
    const asked = [
      ...[q.post('', {}), q.send('GET', ''), q.send('GET', `/${id}`), q.send('GET', '/stats'), q.lease('w3')],
      ...[q.lease('w4', '&wait=30'), q.post(`/${id}/heartbeat`, { worker_id: 'w1' }), q.post(`/${id}/stop`)],
      waiting,
    ];
    // All of them are answered before the way is open again.
    for (const answer of await Promise.all(asked)) expect(answer).toMatchObject(away);
    // It ends while nobody can be told; that it did is said until somebody hears it.
    finish();
    await expect.poll(() => holder.of('trouble')).toBeDefined();

    await way.reopen();
    await expect.poll(() => holder.of('succeeded')).toBeDefined();
    expect(await q.task(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
    const next = await q.create();
    await expect.poll(() => told).toContain(next.id);
    await expect.poll(async () => (await q.task(next.id)).lease_worker_id).toBe('w1');
  });

  test('for longer than a lease: its holder ends the job before anybody else can begin it', async () => {
    const { q, way } = await startBehind(3_000);
    const { id } = await q.create();
    let endedAt = Number.POSITIVE_INFINITY;
    const first = work(q, 'w1', ({ signal }) => {
      return new Promise((_, reject) => {
        signal.addEventListener('abort', () => {
          endedAt = performance.now();
          reject(signal.reason);
        });
      });
    });
    await expect.poll(async () => (await q.task(id)).status).toBe('running');
    first.worker.drain();
    way.close();
    const second = work(q, 'w2', async () => 'second');
    await expect.poll(() => second.of('trouble')).toBeDefined();
    await expect.poll(() => first.of('lost')).toBeDefined();
    await way.reopen();
    await expect.poll(() => second.of('succeeded')).toBeDefined();
    expect(second.of('began')!.at).toBeGreaterThan(endedAt);
    expect(await q.task(id)).toMatchObject({ status: 'succeeded', attempts: 2, result: 'second' });
    expect((await first.worker.ended).lost).toBe(1);
  });

  test.each([true, false])(
    'a job that ends meanwhile is told when it is back, and counts unless somebody else has it by then (nobody has: %s)',
    async (free) => {
      const { q, way } = await startBehind(4_000);
      const { id } = await q.create();
      let finish = () => {};
      const job = () => new Promise<string>((resolve) => (finish = () => resolve('first')));
      // It asks again so late that whoever is meant to be before it is.
      const holder = work(q, 'w1', job, free ? 0.05 : 0.9);
      await expect.poll(async () => (await q.task(id)).status).toBe('running');
      holder.worker.drain();
      way.close();
      finish();
      await expect.poll(() => holder.of('trouble')).toBeDefined();
      // Longer than its lease of four seconds, which nobody can read meanwhile.
      await new Promise((resolve) => setTimeout(resolve, 4_500));
      await way.reopen();
      if (free) {
        await expect.poll(() => holder.of('succeeded')).toBeDefined();
        expect(await q.task(id)).toMatchObject({ status: 'succeeded', attempts: 1, result: 'first' });
        return;
      }
      await expect.poll(async () => (await q.lease('w2')).task?.id).toBe(id);
      expect(await q.post(`/${id}/ack`, { worker_id: 'w2', result: 'second' })).toMatchObject({ status: 200 });
      await expect.poll(() => holder.of('lost')).toBeDefined();
      expect(await q.task(id)).toMatchObject({ status: 'succeeded', attempts: 2, result: 'second' });
    },
  );
});
