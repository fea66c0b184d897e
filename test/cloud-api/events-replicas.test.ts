/** What one process stores is told in the others, without a gap: late transactions, lost wakes, approvals that are answered elsewhere. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { approvalMigrations, createApprovals } from '../../src/cloud-api/approvals/index.ts';
import { createEvents, eventMigrations } from '../../src/cloud-api/events/index.ts';
import type { ApprovalReport } from '../../src/contracts/approvals/approval.ts';
import { systemClock as clock, iso } from '../../src/kit/clock/clock.ts';
import { systemTimers } from '../../src/kit/clock/timers.ts';
import { createIds } from '../../src/kit/ids/ids.ts';
import { laneMigrations } from '../../src/kit/lane/migrations.ts';
import { createSharedLanes } from '../../src/kit/lane/shared-lanes.ts';
import { engines, type Place } from '../support/engines.ts';

const migrations = [...laneMigrations, ...approvalMigrations, ...eventMigrations];
const owner = { userId: 'user_1', computerId: 'computer_1' };
const report = (): ApprovalReport => ({
  kind: 'tool_call',
  title: 'Push',
  summary: 'git push',
  risk: 'high',
  source: 'gate',
  agentId: 'agent_1',
  requestedAt: iso(clock.now()),
  expiresAt: iso(clock.now() + 60_000),
  engineId: 'engine_1',
  ledgerId: '42',
});

async function replica(place: Place, listen = true) {
  const store = await place.open(migrations, clock, { listen });
  const { backbone } = createEvents({ store, clock, ids: createIds(clock) });
  const { service, close } = createApprovals({
    store,
    clock,
    timers: systemTimers,
    log: { warn() {} },
    openLanes: (send) => createSharedLanes({ store, clock, name: 'answers', send }),
    call: async () => ({ status: 503, body: null }),
    events: backbone,
  });
  onTestFinished(close);
  const told: string[] = [];
  service.onEvent(({ data }) => told.push(`${data.type} ${data.data.id} ${data.data.decision}`));
  return { store, backbone, service, told };
}
type Replica = Awaited<ReturnType<typeof replica>>;

/** Followers begin with what is stored after their first look. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 200));
const emit = ({ store, backbone }: Replica, sourceId: string, sleepS = 0) =>
  store.write(function* (tx) {
    const event = {
      userId: 'user_1',
      type: 'thread.needs_user',
      occurredAt: clock.now(),
      data: { reason: 'x' },
    } as const;
    yield* backbone.emit(tx, { ...event, sourceId });
    if (sleepS > 0) yield* tx.get('SELECT 1 AS x FROM pg_sleep(?)', sleepS);
  });

describe.each(engines)('on $name', ({ name, place }) => {
  test('an approval is told as it is asked and answered', async () => {
    const { service, told } = await replica(await place());
    await settle();
    await service.put('apr_1', report(), owner);
    await service.resolve('apr_1', { decision: 'approve', note: null, userId: 'user_1', surface: 'cli' });
    const words = ['approval.requested apr_1', 'approval.resolved apr_1 approve'];
    await expect.poll(() => words.every((word) => told.some((one) => one.startsWith(word)))).toBe(true);
    await settle();
    expect(told).toHaveLength(2);
  });

  test('each event is told once to whoever follows, whatever was stored before', async () => {
    const there = await replica(await place());
    await emit(there, 'before');
    const told: string[] = [];
    onTestFinished(there.backbone.follow(['thread.needs_user'], ({ sourceId }) => void told.push(sourceId)));
    await settle();
    for (let n = 0; n < 20; n += 1) void emit(there, `${n}`);
    await emit(there, '0');
    await expect.poll(() => told.length).toBe(20);
    await settle();
    expect(told.toSorted()).toEqual(Array.from({ length: 20 }, (_, n) => `${n}`).toSorted());
  });

  // A file of SQLite has one process.
  if (name === 'postgres')
    test.each([true, false])(
      'what another process stores is told here, also a lower place that comes late (woken: %s)',
      async (listen) => {
        const there = await place();
        const [here, other] = [await replica(there, listen), await replica(there, listen)];
        const told: string[] = [];
        onTestFinished(here.backbone.follow(['thread.needs_user'], ({ sourceId }) => void told.push(sourceId)));
        await settle();
        // Longer than two looks, so that the later one is found first.
        const slow = emit(other, 'slow', listen ? 0.6 : 2.5);
        await new Promise((resolve) => setTimeout(resolve, 100));
        await emit(other, 'quick');
        await expect.poll(() => told).toEqual(['quick']);
        await slow;
        await expect.poll(() => told).toEqual(['quick', 'slow']);
        const rows = await here.store.all<{ source_id: string }>('SELECT source_id FROM user_event ORDER BY seq');
        expect(rows.map((row) => row.source_id)).toEqual(['slow', 'quick']);
        await other.service.put('apr_1', report(), owner);
        await expect.poll(() => here.told).toEqual(['approval.requested apr_1 null']);
        await here.service.resolve('apr_1', { decision: 'reject', note: null, userId: 'user_1', surface: 'cli' });
        await expect.poll(() => other.told.at(-1)).toBe('approval.resolved apr_1 reject');
      },
    );
});
