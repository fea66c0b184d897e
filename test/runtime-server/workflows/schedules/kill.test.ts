/** Real kills while runs are started at their times. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import { ledgerMigrations } from '../../../../src/kit/ledger/migrations.ts';
import { openStore } from '../../../../src/kit/store/open-store.ts';
import { factoryMigrations } from '../../../../src/runtime-server/agents/migrations.ts';
import { workflowMigrations } from '../../../../src/runtime-server/workflows/migrations.ts';
import { scheduleMigrations } from '../../../../src/runtime-server/workflows/schedules/index.ts';
import { startVictim } from '../../../support/victim.ts';

const keeper = new URL('../../../support/victims/schedule-keeper.ts', import.meta.url).pathname;
const minute = 60_000;

test('killed again and again, no time of a schedule starts twice and none is lost without a word', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-schedules-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const acknowledged = new Set<string>();
  for (let life = 0; life < 8; life += 1) {
    const victim = startVictim({ command: [process.execPath, keeper, folder] });
    onTestFinished(async () => void (await victim.kill('SIGKILL')));
    victim.onLine((line) => line.startsWith('run ') && acknowledged.add(line.slice(4)));
    await victim.until((line) => line.startsWith('run '));
    await delay(life * 23);
    await victim.kill('SIGKILL');
  }
  const store = await openStore({
    file: join(folder, 'runtime.db'),
    migrations: [...ledgerMigrations, ...factoryMigrations, ...workflowMigrations, ...scheduleMigrations],
    clock: systemClock,
  });
  onTestFinished(() => store.close());
  const { times, runs, started } = await store.read((tx) => ({
    times: tx.all<{ id: string; due: number; state: string; dag: string | null }>(
      'SELECT schedule_id AS id, due, state, dag_id AS dag FROM factory_occurrence ORDER BY schedule_id, due',
    ),
    runs: tx.all<{ dag: string }>('SELECT dag_id AS dag FROM factory_run').map(({ dag }) => dag),
    started: tx.all<{ n: number }>(`SELECT count(*) AS n FROM ledger WHERE type = 'run.started'`)[0]?.n ?? 0,
  }));
  const withRun = times.filter(({ state }) => state === 'started');
  expect(withRun.length).toBeGreaterThanOrEqual(8);
  // A run for each time that is said to have one, and for nothing else.
  expect(withRun.map(({ dag }) => dag).sort()).toEqual([...runs].sort());
  expect(started).toBe(runs.length);
  expect([...acknowledged].filter((dag) => !runs.includes(dag))).toEqual([]);
  // No hole: each time up to the last is decided.
  for (const [id, every] of Object.entries({ one: minute, two: minute, three: 5 * minute })) {
    const dues = times.filter((time) => time.id === id).map(({ due }) => due);
    expect(dues.length).toBeGreaterThanOrEqual(5);
    expect(dues.slice(1).filter((due, index) => due - (dues[index] as number) !== every)).toEqual([]);
  }
});
