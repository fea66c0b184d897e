/**
 * Keeps the schedules of a workspace until it is killed, with a clock that runs 300 times as fast and resumes, some minutes later, where the previous
 * process stopped, so that start times do not shift it. `node schedule-keeper.ts <folder>` prints `run <dag>` for each start once it is durable.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../src/kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../../src/kit/clock/timers.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { ledgerMigrations } from '../../../src/kit/ledger/migrations.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { factoryMigrations } from '../../../src/runtime-server/agents/migrations.ts';
import { createWorkflows } from '../../../src/runtime-server/workflows/index.ts';
import { workflowMigrations } from '../../../src/runtime-server/workflows/migrations.ts';
import { createSchedules, scheduleMigrations } from '../../../src/runtime-server/workflows/schedules/index.ts';
import { saveSchedule } from '../../../src/runtime-server/workflows/schedules/store.ts';
import { everythingAgreed } from '../trust.ts';

const [folder = '.'] = process.argv.slice(2);
const fast = 300;
const offFor = 4.5 * 60_000;
let base = Date.parse('2026-06-01T00:00:30Z');
/** It stands until everything has started. */
let began = Number.POSITIVE_INFINITY;
const clock: Clock = {
  now: () => base + Math.floor(Math.max(0, performance.now() - began) * fast),
  monotonic: () => performance.now() * fast,
};
const timers: Timers = { after: (ms, effect) => systemTimers.after(ms / fast, effect) };
const workspace = join(folder, 'workspace');
mkdirSync(join(workspace, '.gantry', 'templates'), { recursive: true });
mkdirSync(join(folder, 'shipped'), { recursive: true });
writeFileSync(
  join(workspace, '.gantry', 'templates', 't.json'),
  JSON.stringify({ steps: [{ id: 'a', wait_gate: { kind: 'timer', minutes: 0.2 }, command: 'true' }] }),
);

const store = await openStore({
  file: join(folder, 'runtime.db'),
  migrations: [...ledgerMigrations, ...factoryMigrations, ...workflowMigrations, ...scheduleMigrations],
  clock,
});
const last = await store.read(
  (tx) => tx.get<{ due: number | null }>('SELECT max(due) AS due FROM factory_occurrence')?.due ?? null,
);
if (last !== null) base = last + offFor;
const ids = createIds(clock);
const ledger = await createLedger({ store, clock, ids });
const log = { warn: (message: string, facts?: unknown) => console.error(message, facts) };
const workflows = createWorkflows({
  trust: everythingAgreed,
  store,
  ledger,
  clock,
  timers,
  ids,
  log,
  workspace,
  shippedTemplates: join(folder, 'shipped'),
  env: process.env,
  workforce: { teams: () => [], team: () => Promise.reject(), inTerminal: () => null, addressOf: () => null } as never,
  dispatch: () => Promise.reject(new Error('No bots here.')),
  places: {
    takeUp: async () => {},
    setUp: async () => 'ready' as const,
    has: () => false,
    folderOf: () => null,
    patchOf: async () => null,
  },
  approvals: null,
  agentRuns: { begin() {}, end() {} },
  events: { needsUser() {}, ended() {} },
  deliveriesOf: async () => [],
  slots: 4,
  ownerId: 'user_local',
});
await workflows.start();
// As its person does: a run that a kill interrupted waits for them, and its schedule begins no other one before that has ended.
const interrupted = await store.read((tx) =>
  tx.all<{ dagId: string }>("SELECT dag_id AS dagId FROM factory_run WHERE status = 'needs_you'"),
);
for (const { dagId } of interrupted) await workflows.cancel(dagId, { actor: 'user_local', surface: 'cli' });
await store.write((tx) => {
  if (tx.get('SELECT 1 FROM factory_schedule') !== undefined) return;
  for (const [id, every] of Object.entries({ one: 1, two: 1, three: 5 })) {
    saveSchedule(tx, workspace, {
      id,
      title: id,
      run: { template: 't', projectId: id },
      cron: `*/${every} * * * *`,
      at: null,
      timezone: 'UTC',
      paused: false,
      runMissed: id === 'three',
      nextDue: Date.parse(`2026-06-01T00:0${every}:00Z`),
      createdAt: base,
    });
  }
});
const schedules = createSchedules({
  store,
  ledger,
  clock,
  timers,
  ids,
  log,
  workspace,
  runs: {
    async start(...given) {
      const started = await workflows.runs.start(...given);
      if ('dagId' in started) process.stdout.write(`run ${started.dagId}\n`);
      return started;
    },
  },
  mayBot: () => false,
  timezone: 'UTC',
  failed() {},
});
began = performance.now();
await schedules.start();
setInterval(() => {}, 60_000);
