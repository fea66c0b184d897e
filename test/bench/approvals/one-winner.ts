/** Four processes answer the same approvals at once: each approval has one winner, which the row and every loser name. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { approvalMigrations } from '../../../src/cloud-api/approvals/index.ts';
import { createApprovalStore } from '../../../src/cloud-api/approvals/store.ts';
import { iso, systemClock } from '../../../src/kit/clock/clock.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { seededRandom } from '../../support/kill-loop.ts';
import { startVictim, type Victim } from '../../support/victim.ts';
import type { Told } from '../../support/victims/approver.ts';

export const figures: readonly Figure[] = [{ name: 'approvals.one-winner', run }];

const approvals = 500;
const surfaces = ['cli', 'browser', 'push', 'text'] as const;
const approver = fileURLToPath(new URL('../../support/victims/approver.ts', import.meta.url));

/** The same in both modes: it takes about two seconds. */
async function run({ log }: FigureOptions): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-'));
  const file = join(folder, 'cloud.db');
  const clock = systemClock;
  const store = await openSharedStore({
    databaseUrl: null,
    file,
    migrations: [...laneMigrations, ...approvalMigrations],
    clock,
  });
  try {
    const rows = createApprovalStore(store);
    const ids = createIds(clock);
    const asked = Array.from({ length: approvals }, () => ids.next('apr'));
    const times = { requestedAt: iso(clock.now()), expiresAt: iso(clock.now() + 3_600_000) };
    const question = {
      kind: 'tool_call',
      title: 'x',
      summary: 'x',
      risk: 'low',
      source: 'gate',
      agentId: null,
    } as const;
    const report = { ...question, ...times, engineId: 'engine_1', ledgerId: '1' };
    await Promise.all(asked.map((id) => rows.put(id, report, { userId: 'user_1', computerId: 'computer_1' })));

    const began = performance.now();
    const told = await answerAll(file, asked);
    log(`${Math.round(performance.now() - began)} ms for ${asked.length * surfaces.length} answers`);

    const winners = await Promise.all(asked.map(async (id) => hasOneWinner(told.get(id) ?? [], await rows.get(id))));
    const queued = (await store.get<{ n: number }>('SELECT count(*) AS n FROM lane_item'))!.n;
    if (queued !== approvals) throw new Error(`${queued} answers were queued for ${approvals} approvals.`);
    return {
      value: winners.filter(Boolean).length,
      unit: 'approvals with exactly one winner',
      n: approvals,
      at: `${surfaces.length} processes on one cloud.db, at the same time each answers all ${approvals} in an order of its own, five a commit; the row, the winner and the three losers name the same surface, and one answer is queued`,
      detail: Object.fromEntries(
        surfaces.map((surface) => [
          surface,
          [...told.values()].flat().filter(({ won, by }) => won && by === surface).length,
        ]),
      ),
    };
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function answerAll(file: string, ids: readonly string[]): Promise<Map<string, Told[]>> {
  const processes: Victim[] = [];
  const random = seededRandom(1);
  const told = new Map<string, Told[]>(ids.map((id) => [id, []]));
  try {
    for (const surface of surfaces) {
      // A store is opened by one process at a time; what is measured begins when all are open.
      const started = startVictim({ command: [process.execPath, approver, file, surface] });
      processes.push(started);
      await started.until((line) => line === 'ready');
    }
    const lines = processes.map((each) => {
      const order = ids.map((id) => [random(), id] as const).sort(([a], [b]) => a - b);
      each.child.stdin?.write(`${JSON.stringify(order.map(([, id]) => id))}\n`);
      return each.until((line) => line.startsWith('['));
    });
    for (const line of await Promise.all(lines)) {
      for (const one of JSON.parse(line) as Told[]) told.get(one.id)?.push(one);
    }
  } finally {
    for (const each of processes) await each.kill();
  }
  return told;
}

function hasOneWinner(told: readonly Told[], row: { readonly resolvedSurface: string | null } | null): boolean {
  const winners = told.filter(({ won }) => won);
  return told.length === surfaces.length && winners.length === 1 && told.every(({ by }) => by === row?.resolvedSurface);
}
