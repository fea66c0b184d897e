/** Budgets and months: when a person is told that money is spent (`usage.threshold`). */
import { describe, expect, test } from 'vitest';
import { createEvents, eventMigrations } from '../../src/cloud-api/events/index.ts';
import { createUsage, usageMigrations } from '../../src/cloud-api/usage/index.ts';
import type { Budget } from '../../src/contracts/usage/routes.ts';
import type { Authenticator } from '../../src/kit/http/types.ts';
import { createIds } from '../../src/kit/ids/ids.ts';
import { serve } from '../kit/http/support.ts';
import { type Engine, engines } from '../support/engines.ts';
import { createTestClock } from '../support/test-clock.ts';

const bearer: Authenticator = {
  name: 'person of a test',
  authenticate: (request) => {
    const userId = /user_\d/.exec(request.headers.authorization ?? '')?.[0];
    return userId === undefined ? null : { kind: 'user', userId, via: 'cookie', scopes: new Set(['compute' as const]) };
  },
};

async function openOn({ place }: Engine) {
  const clock = createTestClock(Date.UTC(2026, 0, 31, 23, 0));
  const store = await (await place()).open([...eventMigrations, ...usageMigrations], clock);
  const { backbone } = createEvents({ store, clock, ids: createIds(clock) });
  const usage = createUsage({ store, clock, events: backbone });
  const { call } = await serve({ routes: usage.routes, authenticators: [bearer] });
  let lines = 0;
  return {
    clock,
    spend: (cents: number, { userId = 'user_1', at = clock.now() } = {}) =>
      store.write((tx) => {
        lines += 1;
        const about = {
          kind: 'model' as const,
          name: 'm',
          computerId: null,
          botId: null,
          runId: null,
          thousandths: 1000,
        };
        return usage.record(tx, userId, [{ ...about, id: `line ${lines}`, at, microUsd: cents * 10_000 }]);
      }),
    budget: (body: Partial<Budget>, token = 'user_1') => call('PUT', '/api/v1/usage/budget', { body, token }),
    told: async () =>
      (await store.all<{ source_id: string }>('SELECT source_id FROM user_event ORDER BY seq')).map(
        (row) => row.source_id,
      ),
    data: async () =>
      (await store.all<{ data: string }>('SELECT data FROM user_event ORDER BY seq')).map(
        (row) => JSON.parse(row.data) as object,
      ),
  };
}

describe.each(engines)('on $name', (engine) => {
  const open = () => openOn(engine);

  test('each level of a budget is told once, in the month of what was spent; a new month starts over', async () => {
    const { clock, spend, budget, told, data } = await open();
    await budget({ budgetCents: 1000 });
    await spend(799.99);
    expect(await told()).toEqual([]);
    await spend(0.01);
    await spend(100);
    expect(await told()).toEqual(['user_1:2026-01:80:1000']);
    expect(await data()).toEqual([{ month: '2026-01', level: 80, percent: 80, spentCents: 800, budgetCents: 1000 }]);
    await spend(5000, { userId: 'user_2' });
    await spend(100);
    await spend(100);
    expect(await told()).toEqual(['user_1:2026-01:80:1000', 'user_1:2026-01:100:1000']);
    await clock.advance(60 * 60_000);
    await spend(799);
    expect(await told()).toHaveLength(2);
    // One request that crosses both tells both.
    await spend(300);
    expect((await told()).slice(2)).toEqual(['user_1:2026-02:80:1000', 'user_1:2026-02:100:1000']);
    // What is reported late belongs to its own month.
    await spend(1, { at: Date.UTC(2025, 11, 31) });
    expect(await told()).toHaveLength(4);
  });

  test('another budget or another alert is another crossing, and none at all is never crossed', async () => {
    const { spend, budget, told } = await open();
    await spend(500);
    expect(await told()).toEqual([]);
    await budget({ budgetCents: 500, alertPercent: 100 });
    expect(await told()).toEqual(['user_1:2026-01:100:500']);
    await budget({ budgetCents: 1000 });
    await budget({ alertPercent: 50 });
    await budget({ alertPercent: 50 });
    expect((await told()).slice(1)).toEqual(['user_1:2026-01:50:1000']);
    expect((await budget({ budgetCents: null })).json).toEqual({ budgetCents: null, alertPercent: 50 });
    await spend(10_000);
    expect(await told()).toHaveLength(2);
    expect((await budget({ alertPercent: 0 })).status).toBe(400);
    expect((await budget({ budgetCents: 10.5 })).status).toBe(400);
  });
});
