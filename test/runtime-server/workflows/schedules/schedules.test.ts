import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import type { Occurrence, Schedule, ScheduleRequest } from '../../../../src/contracts/factory/schedules-routes.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { createSchedules } from '../../../../src/runtime-server/workflows/schedules/index.ts';
import { createTestClock, type TestClock } from '../../../support/test-clock.ts';
import { openWorld, scratch, statuses, type World } from '../support.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.parse('2026-06-01T08:30:00Z');

interface Given {
  readonly folder?: string;
  readonly clock?: TestClock;
  readonly mayBot?: boolean;
  /** Templates that the disk does not give for now. */
  readonly unread?: ReadonlySet<string>;
}

async function open({ folder = scratch(), clock = createTestClock(start), mayBot = false, unread }: Given = {}) {
  const world = await openWorld({ folder, clock });
  const failures: string[] = [];
  const schedules = createSchedules({
    store: world.store,
    ledger: world.ledger,
    clock,
    timers: clock,
    ids: createIds(clock),
    log: { warn: (message, facts) => failures.push(`${message} ${JSON.stringify(facts)}`) },
    workspace: join(folder, 'workspace'),
    runs: {
      start: async (request, ...more) => {
        if (unread?.has(request.template) !== true) return world.runs.start(request, ...more);
        throw new AppError('transport', `${request.template} cannot be read.`, 'Check the disk.');
      },
    },
    mayBot: () => mayBot,
    timezone: 'UTC',
    failed: (_tx, title, reason) => void failures.push(`${title}: ${reason}`),
  });
  await schedules.start();
  const owner = { kind: 'owner', userId: 'user_local', via: 'file-token' };
  async function call<T>(
    op: string,
    given: { id?: string; body?: object; query?: object; principal?: object } = {},
  ): Promise<T> {
    const bound = schedules.routes.find(({ route }) => route.op === op);
    if (bound === undefined) throw new Error(`No route ${op}.`);
    const request = {
      params: { id: given.id },
      query: given.query ?? {},
      body: given.body ?? {},
      principal: given.principal ?? owner,
    };
    return ((await (bound.handler as (one: unknown) => Promise<{ body: unknown }>)(request)) as { body: T }).body;
  }
  const make = (more: Partial<ScheduleRequest> = {}) =>
    call<Schedule>('createSchedule', { body: { run: { template: 't', projectId: 'p' }, cron: '0 9 * * *', ...more } });
  const times = async (id: string) =>
    (await call<{ occurrences: Occurrence[] }>('listOccurrences', { id })).occurrences.map(
      ({ due, state }) => `${due.slice(5, 16)} ${state}`,
    );
  const runs = async () => (await world.store.read((tx) => tx.all('SELECT dag_id FROM factory_run'))).length;
  const close = async () => {
    await schedules.close();
    await world.stop();
  };
  world.template('t', { steps: [{ id: 'a', command: 'true' }] });
  return { world, schedules, clock, folder, failures, call, make, times, runs, close };
}

/** Its runs have ended. */
async function ended(world: World): Promise<void> {
  const rows = await world.store.read((tx) => tx.all<{ id: string }>('SELECT dag_id AS id FROM factory_run'));
  for (const { id } of rows) await world.until(id, ({ status }) => status === 'done');
}

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no refusal',
    (error: unknown) => (error instanceof AppError ? `${error.code}: ${error.fact}` : String(error)),
  );

test('a template runs at its times, once each', async () => {
  const { clock, make, times, runs, world, call } = await open();
  const { id, next } = await make();
  expect(next.slice(0, 2)).toEqual(['2026-06-01T09:00:00.000Z', '2026-06-02T09:00:00.000Z']);
  await clock.advance(31 * minute);
  await expect.poll(runs).toBe(1);
  await ended(world);
  await clock.advance(day);
  await expect.poll(() => times(id)).toEqual(['06-02T09:00 started', '06-01T09:00 started']);
  const [schedule] = (await call<{ schedules: Schedule[] }>('listSchedules')).schedules;
  expect(schedule).toMatchObject({ missed: 0, last: { state: 'started' } });
});

test('times at which Gantry did not run are missed and shown, and nothing is started for them', async () => {
  const first = await open();
  const { id } = await first.make();
  await first.close();
  first.clock.jump(3 * day);
  const again = await open(first);
  await expect.poll(() => again.times(id)).toEqual(['06-03T09:00 missed', '06-02T09:00 missed', '06-01T09:00 missed']);
  expect(await again.runs()).toBe(0);
  const [schedule] = (await again.call<{ schedules: Schedule[] }>('listSchedules')).schedules;
  expect(schedule).toMatchObject({ missed: 3, next: expect.arrayContaining(['2026-06-04T09:00:00.000Z']) });
  // "Run now" makes up for one, once.
  const due = '2026-06-02T09:00:00.000Z';
  await again.call('runSchedule', { id, body: { due } });
  expect(await refusal(again.call('runSchedule', { id, body: { due } }))).toContain('already has its run');
  expect(await refusal(again.call('runSchedule', { id, body: { due: '2026-06-02T10:00:00.000Z' } }))).toContain(
    'was not due at',
  );
  expect(await again.times(id)).toContain('06-02T09:00 started');
});

test('asked to, one run makes up for all that was missed; asleep it is as off', async () => {
  const { clock, make, times, runs } = await open();
  const { id } = await make({ runMissed: true });
  clock.jump(3 * day);
  await clock.advance(31_000);
  await expect.poll(runs).toBe(1);
  expect(await times(id)).toEqual(['06-03T09:00 started', '06-02T09:00 missed', '06-01T09:00 missed']);
});

test('a little late is on time', async () => {
  const { clock, make, times } = await open();
  const { id } = await make();
  clock.jump(31 * minute);
  await clock.advance(31_000);
  await expect.poll(() => times(id)).toEqual(['06-01T09:00 started']);
});

test('a clock that is set back brings no time a second time', async () => {
  const { clock, make, times, world, runs } = await open();
  const { id } = await make({ cron: '0 * * * *' });
  await clock.advance(31 * minute);
  await expect.poll(runs).toBe(1);
  await ended(world);
  clock.jump(-2 * hour);
  await clock.advance(3 * hour - 5 * minute);
  expect(await times(id)).toEqual(['06-01T09:00 started']);
  await clock.advance(10 * minute);
  await expect.poll(() => times(id)).toEqual(['06-01T10:00 started', '06-01T09:00 started']);
});

test('two engines on one database start a time once', async () => {
  const one = await open();
  const { id } = await one.make();
  const two = await open({ folder: one.folder, clock: one.clock });
  await one.clock.advance(31 * minute);
  await expect.poll(() => one.times(id)).toEqual(['06-01T09:00 started']);
  await one.clock.advance(minute);
  expect(await one.runs()).toBe(1);
  expect([...one.failures, ...two.failures]).toEqual([]);
});

test('while its last run goes on a time is skipped, and says so', async () => {
  const { clock, make, times, world, call, runs } = await open();
  world.template('t', { steps: [{ id: 'a', command: 'true', wait_gate: { kind: 'manual' } }] });
  const { id } = await make();
  await clock.advance(31 * minute);
  await expect.poll(runs).toBe(1);
  await clock.advance(day);
  await expect.poll(() => times(id)).toEqual(['06-02T09:00 skipped', '06-01T09:00 started']);
  const [newest] = (await call<{ occurrences: Occurrence[] }>('listOccurrences', { id })).occurrences;
  expect(newest?.reason).toMatch(/^Its run dag_\w+ has not ended$/);
});

test('one moment: it runs once and is over', async () => {
  const { clock, make, times, call } = await open();
  const { id } = await make({ cron: undefined, at: '2026-06-01T11:00:00+02:00' });
  await clock.advance(2 * day);
  await expect.poll(() => times(id)).toEqual(['06-01T09:00 started']);
  expect((await call<{ schedules: Schedule[] }>('listSchedules')).schedules[0]?.next).toEqual([]);
});

test('paused it does nothing, and what passed then was not missed', async () => {
  const { clock, make, times, call } = await open();
  const { id } = await make();
  expect((await call<Schedule>('changeSchedule', { id, body: { paused: true } })).next).toEqual([]);
  await clock.advance(2 * day);
  await call('changeSchedule', { id, body: { paused: false } });
  expect(await times(id)).toEqual([]);
  await clock.advance(day);
  await expect.poll(() => times(id)).toEqual(['06-03T09:00 started']);
});

test('a run that cannot be started has failed, with the reason, and its person hears of it; the next time comes all the same', async () => {
  const { clock, make, times, world, failures, call, folder } = await open();
  const { id } = await make();
  world.template('t', { steps: [] });
  await clock.advance(31 * minute);
  await expect.poll(() => times(id)).toEqual(['06-01T09:00 failed']);
  expect(failures).toHaveLength(1);
  expect(failures[0]).toMatch(/^t: /);
  expect(folder).not.toBe('');
  const [schedule] = (await call<{ schedules: Schedule[] }>('listSchedules')).schedules;
  expect(schedule?.next[0]).toBe('2026-06-02T09:00:00.000Z');
});

test('one that cannot be tried for now keeps no other from its times, and is tried again', async () => {
  const unread = new Set<string>();
  const { clock, make, times, world } = await open({ unread });
  world.template('lost', { steps: [{ id: 'a', command: 'true' }] });
  const { id: lost } = await make({ run: { template: 'lost', projectId: 'p' } });
  const { id } = await make({ cron: '1 9 * * *' });
  unread.add('lost');
  await clock.advance(31 * minute + 1000);
  await expect.poll(() => times(id)).toEqual(['06-01T09:01 started']);
  expect(await times(lost)).toEqual([]);
  unread.clear();
  await clock.advance(31_000);
  await expect.poll(() => times(lost)).toEqual(['06-01T09:00 started']);
});

test('of all times that there ever were the newest are kept', async () => {
  const { clock, make, world, call } = await open();
  const { id } = await make();
  await world.store.write((tx) => {
    for (let day = 1; day <= 1100; day += 1) {
      tx.run(`INSERT INTO factory_occurrence VALUES (?, ?, 'started', NULL, NULL, 0)`, id, day * 86_400_000);
    }
  });
  await clock.advance(31 * minute);
  const count = () =>
    world.store.read((tx) => tx.get<{ n: number }>('SELECT count(*) AS n FROM factory_occurrence')?.n);
  await expect.poll(count).toBe(1000);
  const [newest] = (await call<{ occurrences: Occurrence[] }>('listOccurrences', { id })).occurrences;
  expect(newest?.state).toBe('started');
});

test('a run that goes on past all times that are kept still lets no second one begin', async () => {
  const { clock, make, world, times, runs } = await open();
  world.template('t', { steps: [{ id: 'a', command: 'true', wait_gate: { kind: 'manual' } }] });
  const { id } = await make();
  await clock.advance(31 * minute);
  await expect.poll(runs).toBe(1);
  await world.store.write((tx) => {
    for (let n = 1; n <= 1100; n += 1) {
      tx.run(`INSERT INTO factory_occurrence VALUES (?, ?, 'skipped', NULL, NULL, 0)`, id, start + hour + n * minute);
    }
  });
  await clock.advance(day);
  await expect.poll(async () => (await times(id))[0]).toBe('06-02T09:00 skipped');
  await clock.advance(day);
  await expect.poll(async () => (await times(id))[0]).toBe('06-03T09:00 skipped');
  expect(await runs()).toBe(1);
});

test('one that is taken away while it is changed stays away', async () => {
  const { make, call } = await open();
  const { id } = await make();
  const changed = refusal(call('changeSchedule', { id, body: { cron: '0 10 * * *' } }));
  await call('removeSchedule', { id });
  expect(await changed).toContain('not_found');
  expect((await call<{ schedules: Schedule[] }>('listSchedules')).schedules).toEqual([]);
});

test('a dry run shows the next five times and who would do what, and keeps nothing', async () => {
  const { make, call } = await open();
  const plan = await make({ dryRun: true, cron: '30 7 * * 1', timezone: 'Europe/Berlin' });
  expect(plan).toMatchObject({
    dryRun: true,
    plan: {
      timezone: 'Europe/Berlin',
      next: expect.arrayContaining(['2026-06-08T05:30:00.000Z']),
      nodes: [{ executor: 'shell' }],
    },
  });
  expect((await call<{ schedules: Schedule[] }>('listSchedules')).schedules).toEqual([]);
});

test('what could never start is refused before it is kept', async () => {
  const { make } = await open();
  expect(await refusal(make({ run: { template: 'gone', projectId: 'p' } }))).toContain('gone');
  expect(await refusal(make({ cron: 'soon' }))).toContain('is not a cron expression');
  expect(await refusal(make({ cron: undefined, at: '2026-01-01T00:00:00Z' }))).toContain('has passed');
});

test.each([
  [false, 'refused: A bot may not create schedules.'],
  [true, 'no refusal'],
])('a bot makes a schedule only where the policy says so: %s', async (mayBot, answer) => {
  const { call } = await open({ mayBot });
  const body = { run: { template: 't', projectId: 'p' }, cron: '0 9 * * *' };
  const principal = { kind: 'bot', userId: 'user_local', agentId: 'agent_1', via: 'bot' };
  expect(await refusal(call('createSchedule', { body, principal }))).toBe(answer);
});

test('there are at most a hundred', async () => {
  const { make } = await open();
  for (let count = 0; count < 100; count += 1) await make();
  expect(await refusal(make())).toContain('already 100 schedules');
});

test('taken away it runs no more; its runs stay', async () => {
  const { clock, make, world, call, runs } = await open();
  const { id } = await make();
  await clock.advance(31 * minute);
  await expect.poll(runs).toBe(1);
  await ended(world);
  await call('removeSchedule', { id });
  await clock.advance(2 * day);
  expect(await runs()).toBe(1);
  const [row] = await world.store.read((tx) => tx.all<{ id: string }>('SELECT dag_id AS id FROM factory_run'));
  expect(statuses(await world.pages.flow(row?.id ?? ''))).toEqual({ a: 'done' });
});
