/** Sums of what bots spent: what is kept for each day is what the requests add up to, and no sum reads what others spent. */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openStore } from '../../../src/kit/store/open-store.ts';
import type { Store } from '../../../src/kit/store/store.ts';
import { modelMigrations } from '../../../src/runtime-server/models/migrations.ts';
import {
  recordSpend,
  sumSpend,
  sumSpendByAgent,
  sumSpendByDay,
  unpricedModels,
} from '../../../src/runtime-server/models/spend.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

const dayMs = 86_400_000;
const noon = Date.parse('2026-07-10T12:00:00Z');

async function open(file = join(scratchFolder(), 'x.db'), migrations = modelMigrations): Promise<Store> {
  const store = await openStore({ file, migrations, clock: createTestClock() });
  onTestFinished(() => store.close());
  return store;
}

/** A request: every third is of a model without a price. */
const request = (n: number) => ({
  id: `request_${n}`,
  at: noon - (n % 5) * dayMs,
  agentId: `agent_${n % 3}`,
  runId: n % 7 === 0 ? `run_${n % 2}` : null,
  wire: 'openai' as const,
  model: n % 3 === 0 ? 'dream-1' : 'real-1',
  usage: { input: n, cachedInput: 1, cacheWrite: 2, output: 3 },
  microUsd: n % 3 === 0 ? null : n * 10,
});

const fill = (store: Store) =>
  store.write((tx) => {
    for (let n = 0; n < 60; n += 1) recordSpend(tx, request(n));
  });

const sums = (store: Store) =>
  store.read((tx) => ({
    byAgent: [...sumSpendByAgent(tx, noon - 2 * dayMs)].sort(),
    byDay: sumSpendByDay(tx, noon - 2 * dayMs, 'day'),
    byBot: sumSpendByDay(tx, noon - 2 * dayMs, 'bot'),
    byModel: sumSpendByDay(tx, noon - 2 * dayMs, 'model'),
    unpriced: unpricedModels(tx, noon - 2 * dayMs),
  }));

test('the sums of days, bots and models are those of the requests, each counted once', async () => {
  const store = await open();
  await fill(store);
  const told = await sums(store);
  await fill(store);
  expect(await sums(store)).toEqual(told);
  // From the beginning of the first day on, whatever the hour that is asked for.
  const since = Math.floor((noon - 2 * dayMs) / dayMs) * dayMs;
  const each = await store.read((tx) =>
    told.byAgent.map(([agentId]) => [agentId, sumSpend(tx, agentId, since)] as const),
  );
  expect(told.byAgent).toEqual(each);
  const whole = await store.read((tx) => sumSpend(tx, null, since));
  for (const rows of [told.byDay, told.byBot, told.byModel]) {
    expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBe(whole.requests);
    expect(rows.reduce((sum, { microUsd }) => sum + microUsd, 0)).toBe(whole.microUsd);
    expect(rows.reduce((sum, { input }) => sum + input, 0)).toBe(whole.input);
    expect(rows.reduce((sum, { unpriced }) => sum + unpriced, 0)).toBe(whole.unpriced);
  }
  expect(told.unpriced).toEqual(['dream-1']);
});

test('what was spent before the sums of days were kept is in them after the upgrade', async () => {
  const file = join(scratchFolder(), 'x.db');
  const older = await open(file, modelMigrations.slice(0, 3));
  // As it was then, save for a column that came later.
  await older.write((tx) => tx.run('ALTER TABLE model_spend ADD COLUMN account TEXT'));
  await fill(older);
  await older.write((tx) => tx.run('ALTER TABLE model_spend DROP COLUMN account'));
  await older.close();
  const upgraded = await open(file);
  const fresh = await open();
  await fill(fresh);
  expect(await sums(upgraded)).toEqual(await sums(fresh));
});

test('no sum reads the requests of others: of a month the days, of a run and of a bot their own', async () => {
  const store = await open();
  await fill(store);
  const plans: string[] = [];
  await store.read((tx) => {
    const explained = {
      get: (sql: string, ...values: never[]) => {
        plans.push(tx.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values)[0]?.detail ?? '');
        return tx.get(sql, ...values);
      },
      all: (sql: string, ...values: never[]) => {
        plans.push(tx.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values)[0]?.detail ?? '');
        return tx.all(sql, ...values);
      },
    } as never;
    sumSpend(explained, null, 0, 'run_1');
    sumSpend(explained, 'agent_1', 0, 'run_1');
    sumSpend(explained, 'agent_1', noon);
    sumSpendByAgent(explained, noon);
    for (const by of ['day', 'bot', 'model'] as const) sumSpendByDay(explained, noon, by);
    unpricedModels(explained, noon);
  });
  expect(plans).toEqual([
    expect.stringContaining('INDEX model_spend_run (run_id=?)'),
    expect.stringContaining('INDEX model_spend_run (run_id=?)'),
    expect.stringContaining('INDEX model_spend_agent (agent_id=? AND at>?)'),
    ...Array.from({ length: 5 }, () => expect.stringContaining('model_spend_day USING PRIMARY KEY (day>?)')),
  ]);
});
