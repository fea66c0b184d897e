/** What the verbs of schedules and limits ask of the engine, and what a person reads. */
import { expect, test } from 'vitest';
import type { Schedule } from '../../src/contracts/factory/schedules-routes.ts';
import type { Spending, Used } from '../../src/contracts/factory/spending-routes.ts';
import { agent, run, startEngine } from './support.ts';

const schedule: Schedule = {
  id: 'schedule_1',
  title: 'Nightly',
  run: { template: 'nightly', projectId: 'p' },
  cron: '0 2 * * *',
  at: null,
  timezone: 'UTC',
  paused: false,
  runMissed: false,
  next: ['2026-01-03T02:00:00.000Z'],
  last: {
    due: '2026-01-02T02:00:00.000Z',
    state: 'missed',
    dagId: null,
    reason: 'Gantry was not running',
    at: '2026-01-02T03:00:00.000Z',
  },
  missed: 2,
  createdAt: '2026-01-01T00:00:00.000Z',
};

test('a dry run of a schedule prints the next times; without it the schedule is kept', async () => {
  const next = [3, 4, 5, 6, 7].map((day) => `2026-01-0${day}T02:00:00.000Z`);
  const { env, seen } = await startEngine({
    answers: {
      createSchedule: ({ body }) =>
        (body as { dryRun?: boolean }).dryRun === true
          ? {
              dryRun: true,
              plan: { title: 'nightly', timezone: 'UTC', next, nodes: [{ title: 'Test', executor: 'shell' }] },
            }
          : schedule,
    },
  });
  const words = ['workflows', 'schedule', 'nightly', '--cron', '0 2 * * *', '--timezone', 'UTC', '--project', 'p'];
  const dry = await run(env, [...words, '--dry-run']);
  expect(dry.code).toBe(0);
  expect(dry.out.split('\n').filter((line) => line.startsWith('2026-01-'))).toHaveLength(5);
  expect((await run(env, [...words, '--param', 'a=1', '--run-missed'])).out).toContain('"Nightly" is saved');
  expect(seen.at(-1)?.body).toEqual({
    run: { template: 'nightly', params: { a: '1' }, projectId: 'p' },
    cron: '0 2 * * *',
    timezone: 'UTC',
    runMissed: true,
  });
});

test('times of a schedule are printed in its own zone, which stands beside them', async () => {
  const kolkata = { ...schedule, timezone: 'Asia/Kolkata', next: ['2026-01-03T20:30:00.000Z'] };
  const { env } = await startEngine({
    answers: {
      createSchedule: ({ body }) =>
        (body as { dryRun?: boolean }).dryRun === true
          ? { dryRun: true, plan: { title: 'n', timezone: 'Asia/Kolkata', next: kolkata.next, nodes: [] } }
          : kolkata,
      listSchedules: () => ({ schedules: [kolkata] }),
      listOccurrences: () => ({ occurrences: [], nextCursor: null }),
    },
  });
  const words = [
    'workflows',
    'schedule',
    'nightly',
    '--cron',
    '0 2 * * *',
    '--timezone',
    'Asia/Kolkata',
    '--project',
    'p',
  ];
  expect((await run(env, [...words, '--dry-run'])).out).toContain('(Asia/Kolkata):\n2026-01-04 02:00');
  expect((await run(env, words)).out).toContain('It first runs at 2026-01-04 02:00 (Asia/Kolkata).');
  const list = (await run(env, ['workflows', 'schedules'])).out;
  expect(list).toMatch(/TIME ZONE/);
  expect(list).toMatch(/0 2 \* \* \*\s+Asia\/Kolkata\s+2026-01-04 02:00\s+missed 2026-01-02 07:30/);
  expect((await run(env, ['workflows', 'schedules', 'Nightly'])).out).toContain('2026-01-04 02:00');
});

test('schedules are listed with what was missed, paused by their title, and made up for', async () => {
  const { env, seen } = await startEngine({
    answers: {
      listSchedules: () => ({ schedules: [schedule] }),
      listOccurrences: () => ({ occurrences: [schedule.last], nextCursor: null }),
      changeSchedule: () => ({ ...schedule, paused: true, next: [] }),
      runSchedule: () => ({ dagId: 'dag_1', campaignId: 'project-p', nodes: [] }),
      removeSchedule: () => ({ removed: schedule }),
    },
  });
  expect((await run(env, ['workflows', 'schedules'])).out).toMatch(/Nightly +0 2 \* \* \* .+ missed .+ 2\n/);
  expect((await run(env, ['workflows', 'schedules', 'Nightly'])).out).toContain('Gantry was not running');
  expect((await run(env, ['workflows', 'schedules', 'Nightly', '--pause'])).out).toBe('"Nightly" is paused.\n');
  expect(seen.at(-1)).toMatchObject({ op: 'changeSchedule', params: { id: 'schedule_1' }, body: { paused: true } });
  await run(env, ['workflows', 'schedules', 'schedule_1', '--run', '--due', '2026-01-02T02:00:00Z']);
  expect(seen.at(-1)).toMatchObject({ op: 'runSchedule', body: { due: '2026-01-02T02:00:00.000Z' } });
  expect((await run(env, ['workflows', 'unschedule', 'Nightly'])).out).toContain('is removed');
  expect(await run(env, ['workflows', 'unschedule', 'Weekly', '--json'])).toMatchObject({ code: 2 });
});

const used = (cents: number, more: Partial<Used> = {}): Used => ({
  requests: 3,
  inputTokens: 1200,
  outputTokens: 40,
  cents,
  unpriced: 0,
  ...more,
});

test('usage says who used what, which limits are reached, who is held and what has no price', async () => {
  const web = agent('web');
  const spending: Spending = {
    day: '2026-01-02',
    today: used(512),
    month: used(900, { unpriced: 1 }),
    bots: [{ agentId: web.id, address: web.address, today: used(512), month: used(900) }],
    unpricedModels: ['dream-1'],
    limits: [{ subject: web.address, dailyCents: 500, spentCents: 512, reached: true }],
    holds: [
      {
        agentId: web.id,
        kind: 'budget',
        reason: 'budget: it spent enough.',
        until: null,
        since: '2026-01-02T03:00:00.000Z',
      },
    ],
    waitOut: false,
  };
  const { env, seen } = await startEngine({
    agents: [web],
    answers: {
      getSpending: () => spending,
      setSpendLimit: () => ({ limits: [] }),
      letBotGoOn: () => ({ hold: spending.holds[0] }),
      setWaitOut: () => ({ waitOut: false }),
    },
  });
  const { out } = await run(env, ['agents', 'usage']);
  for (const words of [
    '$5.12',
    '1200 in, 40 out',
    'of $5.00 a day, reached',
    'agents go-on web@',
    'dream-1',
    'do not wait for usage limits',
  ]) {
    expect(out).toContain(words);
  }
  await run(env, ['agents', 'limit', 'all', '--daily', '12.50']);
  expect(seen.at(-1)?.body).toEqual({ subject: '*', dailyCents: 1250 });
  await run(env, ['agents', 'limit', 'dev', '--none']);
  expect(seen.at(-1)?.body).toEqual({ subject: 'dev', dailyCents: null });
  expect((await run(env, ['agents', 'go-on', 'web'])).out).toContain('one more message');
  expect((await run(env, ['agents', 'wait-out', 'off'])).out).toContain('waits for you');
  for (const wrong of [
    ['limit', 'dev'],
    ['limit', 'dev', '--daily', 'much'],
    ['wait-out', 'maybe'],
  ]) {
    expect(await run(env, ['agents', ...wrong, '--json'])).toMatchObject({ code: 64 });
  }
});
