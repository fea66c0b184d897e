/** Every statement that is ever asked of the queue for one person, asked beside very many tasks of somebody else. */
import { expect, onTestFinished, test } from 'vitest';
import { forgetSamples } from '../../../src/cloud-api/work-queue/history.ts';
import { forgetEnded, workQueueMigrations } from '../../../src/cloud-api/work-queue/index.ts';
import { createWorkReads } from '../../../src/cloud-api/work-queue/reads.ts';
import { createWorkStore, type WorkStore } from '../../../src/cloud-api/work-queue/store.ts';
import { historyRanges, type NewTask, taskStatuses } from '../../../src/contracts/work-queue/task.ts';
import { iso, systemClock } from '../../../src/kit/clock/clock.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import { sqliteIn } from '../../support/engines.ts';
import { recording, scansOfPostgres, scansOfSqlite } from '../../support/plans.ts';
import { postgres, type TestPostgres } from '../../support/postgres.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { fillOthers } from './others.ts';

interface Plans {
  /** How many statements were asked. */
  readonly asked: number;
  /** Those that read what belongs to others. */
  readonly scans: readonly string[];
}

async function plansOfSqlite(others: number): Promise<Plans> {
  const store = await sqliteIn(scratchFolder()).open(workQueueMigrations);
  await fillOthers(store, others);
  // What a close learns, and a later start plans with.
  await store.write((tx) => tx.run('ANALYZE'));
  const asked = await everything(store);
  return {
    asked: asked.size,
    scans: await scansOfSqlite(store, asked.values(), ['work_move', 'work_slot', 'work_gate', 'work_turn']),
  };
}

async function plansOfPostgres(server: TestPostgres, others: number): Promise<Plans> {
  const url = await server.schema();
  const store = await openSharedStore({
    databaseUrl: url,
    file: '',
    migrations: workQueueMigrations,
    clock: systemClock,
  });
  onTestFinished(() => store.close());
  await fillOthers(store, others);
  await server.ask(url, 'ANALYZE');
  const asked = await everything(store);
  return { asked: asked.size, scans: await scansOfPostgres(url, asked.values()) };
}

/** Asks all that is ever asked of the queue for one person, and answers the statements. */
async function everything(real: SharedStore) {
  const { store, asked } = recording(real);
  let now = Date.now();
  const work = createWorkStore({ store, now: () => now, leaseMs: 60_000 });
  const reads = createWorkReads(store);
  const userId = 'user_ada';
  const session = 'session_ada';
  await real.write(function* (tx) {
    yield* tx.run(
      'INSERT INTO work_session (id, user_id, metadata, created_at) VALUES (?, ?, ?, ?)',
      session,
      userId,
      '{}',
      now,
    );
  });
  const create = (n: number, task: NewTask = {}) => work.create(userId, `task_ada_${n}`, task);
  await work.lease(userId, 'w1', 'lease_0');
  for (let n = 0; n < 8; n += 1) await create(n);
  await create(8, { session_id: session });
  await create(9, { not_before: iso(now + 1_000) });
  await create(10, { priority: 3, max_attempts: 1 });
  const lease = async () => (await work.lease(userId, 'w1', 'lease_1'))!;
  const holder = { userId, workerId: 'w1', leaseId: 'lease_1' };
  const first = await lease();
  await work.heartbeat({ ...holder, id: first.id });
  await work.askToStop(userId, first.id, { by: null, error: null });
  const second = await lease();
  await work.giveBack({ ...holder, id: second.id });
  await work.ack({ ...holder, id: (await lease()).id }, '1');
  await work.stop(userId, 'task_ada_7', { by: null, error: '{}' });
  await work.retry(userId, 'task_ada_7');
  await work.find(userId, 'task_ada_7');
  await lease();
  now += 61_000;
  await lease();
  await everythingListed(work, userId, (ms) => {
    now += ms;
  });
  await work.settle(null);
  await work.settle(userId);
  await work.lineUp();
  await work.seen(userId, 'w1', false);
  await work.seen(userId, 'w2', false, can);
  await work.forgetPollers(1);
  await work.forgetTurns();
  await work.fold();
  // Much later, so that what was recorded is put into larger steps.
  now += 3 * 60 * 60_000;
  await create(11);
  await work.fold();
  await forgetSamples(store, 1);
  for (const after of [null, { at: now, id: 'task_z' }]) {
    const list = (filter: object) => reads.list({ userId, after, limit: 50, ...filter });
    for (const status of [undefined, ...taskStatuses]) {
      await list({ status });
      await list({ status, workerId: 'w1' });
      await list({ status, sessionId: session });
      await list({ status, deploymentId: 'deployment_ada', workerId: 'w1' });
    }
  }
  await reads.stats(userId, now, now - 30_000);
  for (const range of historyRanges) await reads.history(userId, range, now);
  await reads.workers(userId, now - 30_000);
  const shown = await reads.list({ userId, after: null, limit: 50 });
  await reads.waitingFor(userId, shown.shown, now - 30_000);
  await reads.changed(userId, { at: now - 60_000, id: '' }, 1_000);
  await forgetEnded(store, 1);
  await work.lease('user_nobody', 'w1', 'lease_2');
  await work.lease('user_nobody', 'w1', 'lease_2', can);
  return asked;
}

const can = { labels: { gpu: 'a100' }, images: ['alpine'] };

/** What is asked of tasks that name an image, labels or a key. */
async function everythingListed(work: WorkStore, userId: string, later: (ms: number) => void): Promise<void> {
  const named: NewTask[] = [
    { labels: { gpu: 'a100' } },
    { sandbox_image: 'alpine:3', fairness_key: 'one', retry: { on: ['x'] } },
    { sandbox_image: 'alpine:3', fairness_key: 'two' },
    { fairness_key: 'one' },
    { concurrency_key: 'db', rate: { key: 'api', per_minute: 60 } },
    { concurrency_key: 'db', rate: { key: 'api', per_minute: 60 } },
  ];
  for (const [n, task] of named.entries()) await work.create(userId, `task_ada_listed_${n}`, task);
  const leased: string[] = [];
  for (let n = 0; n < 12; n += 1) {
    const row = await work.lease(userId, 'w1', 'lease_listed', n % 2 === 0 ? can : null);
    if (row !== null) leased.push(row.id);
  }
  const holder = { userId, workerId: 'w1', leaseId: 'lease_listed' };
  const failure = JSON.stringify({ code: 'x', message: 'x' });
  for (const [n, id] of leased.entries()) {
    if (n % 3 === 0) await work.giveBack({ ...holder, id });
    else await work.stop(userId, id, { by: holder, error: failure });
    await work.retry(userId, id);
  }
  // What nobody can run gives way.
  await work.create(userId, 'task_ada_stuck', {
    concurrency_key: 'gpu',
    rate: { key: 'gpu', per_minute: 60 },
    labels: { gpu: 'h100' },
  });
  await work.create(userId, 'task_ada_next', { concurrency_key: 'gpu' });
  // Workers that said nothing, which may have anything, are no longer connected.
  later(31_000);
  while ((await work.lease(userId, 'w1', 'lease_listed', can)) !== null);
  expect((await work.find(userId, 'task_ada_next'))?.status).toBe('leased');
  later(61_000);
  await work.sweepLine();
  await work.lease(userId, 'w1', 'lease_listed', can);
}

/** Holds of both engines, beside so many tasks of somebody else. */
export function testPlans(others: number): void {
  test('SQLite finds what is asked along an index, and sorts nothing but what a limit has cut', async () => {
    const { asked, scans } = await plansOfSqlite(others);
    expect(asked).toBeGreaterThan(40);
    expect(scans).toEqual([]);
  });

  test.skipIf(postgres === null)(
    'PostgreSQL touches a few pages beside very many tasks of somebody else, planned for the values and for any',
    async () => {
      const { asked, scans } = await plansOfPostgres(postgres!, others);
      expect(asked).toBeGreaterThan(40);
      expect(scans).toEqual([]);
    },
  );
}
