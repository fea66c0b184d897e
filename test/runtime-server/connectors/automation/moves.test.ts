/** The table of moves: every pair of states is tried against real rows, and what the table does not have never happens. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  type JobStatus,
  jobStatuses,
  type RuleConfig,
  ruleDefaults,
} from '../../../../src/contracts/connectors/rule.ts';
import { runtimeMigrations } from '../../../../src/host/runtime-migrations.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../../src/kit/ledger/create-ledger.ts';
import { openStore } from '../../../../src/kit/store/open-store.ts';
import { createJobs, engine, type Jobs } from '../../../../src/runtime-server/connectors/automation/jobs.ts';
import { nextStates } from '../../../../src/runtime-server/connectors/automation/model.ts';
import {
  insertJob,
  type JobRecord,
  movesOf,
  readJob,
} from '../../../../src/runtime-server/connectors/automation/store.ts';
import { scratchFolder } from '../../../support/scratch.ts';
import { createTestClock } from '../../../support/test-clock.ts';

const config: RuleConfig = { ...ruleDefaults, botId: 'agent_1', instructions: 'Look.' };

async function table() {
  const clock = createTestClock();
  const ids = createIds(clock);
  const store = await openStore({ file: join(scratchFolder(), 'runtime.db'), migrations: runtimeMigrations, clock });
  const ledger = await createLedger({ store, clock, ids });
  let moved = 0;
  const jobs = createJobs({ ledger, clock, ids, moved: () => (moved += 1) });
  const inState = (status: JobStatus) =>
    store.write((tx) => {
      const id = ids.next('job');
      const of = { subscriptionId: 'sub_1', eventName: 'e', ruleId: 'rule_1', ruleVersion: 1 };
      insertJob(tx, { id, ...of, status, config, batchUntil: null, createdAt: clock.now() });
      return readJob(tx, id) as JobRecord;
    });
  return { store, ledger, jobs, inState, moved: () => moved };
}

test('of every pair of states exactly those of the table are moves, each with its row and its line in the ledger', async () => {
  const { store, ledger, jobs, inState, moved } = await table();
  let allowed = 0;
  for (const from of jobStatuses) {
    for (const to of jobStatuses) {
      const job = await inState(from);
      const move = store.write((tx) => jobs.move(tx, job, to, engine, { reason: 'why' }));
      const may = (nextStates[from] as readonly JobStatus[]).includes(to);
      if (may) {
        allowed += 1;
        expect((await move)?.status, `${from} → ${to}`).toBe(to);
      } else
        await expect(move, `${from} → ${to}`).rejects.toMatchObject({ options: { wireCode: 'invalid_transition' } });
      const { now, moves } = await store.read((tx) => ({ now: readJob(tx, job.id), moves: movesOf(tx, job.id) }));
      expect(now?.status).toBe(may ? to : from);
      expect(moves).toEqual(
        may ? [expect.objectContaining({ index: 0, status: to, reason: 'why', actor: 'engine' })] : [],
      );
    }
  }
  expect(moved()).toBe(allowed);
  const told = await ledger.read('0', 1000, ['automation.run.moved']);
  expect(told).toHaveLength(allowed);
  await store.close();
});

test('a job that was moved since it was read is left as it is', async () => {
  const { store, jobs, inState } = await table();
  const job = await inState('queued');
  await store.write((tx) => jobs.move(tx, job, 'running', engine, { reason: null }));
  expect(await store.write((tx) => jobs.move(tx, job, 'cancelled', engine, { reason: null }))).toBeNull();
  expect((await store.read((tx) => readJob(tx, job.id)))?.status).toBe('running');
  await store.close();
});

test('each verb of a person works from its states alone', async () => {
  const { store, jobs, inState } = await table();
  const verbs: Record<string, { act: keyof Jobs; to: JobStatus; from: readonly JobStatus[] }> = {
    approve: { act: 'approve', to: 'queued', from: ['awaiting_approval'] },
    deny: { act: 'deny', to: 'denied', from: ['awaiting_approval'] },
    retry: { act: 'retry', to: 'awaiting_approval', from: ['failed', 'cancelled', 'interrupted'] },
    stop: { act: 'stop', to: 'cancelled', from: ['batching', 'awaiting_approval', 'queued'] },
  };
  for (const [verb, { to, from }] of Object.entries(verbs)) {
    for (const status of jobStatuses) {
      const job = await inState(status);
      const done = store.write((tx) => {
        if (verb === 'approve') return jobs.approve(tx, job, engine);
        if (verb === 'deny') return jobs.deny(tx, job, engine, null);
        return verb === 'retry' ? jobs.retry(tx, job, engine) : jobs.stop(tx, job, engine);
      });
      if (from.includes(status)) expect((await done).status, `${verb} ${status}`).toBe(to);
      else if (verb === 'stop' && (status === 'running' || status === 'stopping')) {
        expect((await done).status).toBe('stopping');
      } else await expect(done, `${verb} ${status}`).rejects.toMatchObject({ status: 409 });
    }
  }
  await store.close();
});
