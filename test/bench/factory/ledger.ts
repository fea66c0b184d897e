/**
 * What the ledger costs: durable rows a second with concurrent callers, and rows checked by a second of CPU. The latter is scaled to the machine on
 * which its bound was set, by better-sqlite3 reading the same rows and node:crypto hashing them (`floor.ts`).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import type { Ledger, LedgerEntry } from '../../../src/kit/ledger/ledger.ts';
import { ledgerMigrations } from '../../../src/kit/ledger/migrations.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import type { Store } from '../../../src/kit/store/store.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { hashLedger, machineBy } from '../../support/bench/floor.ts';
import { median, rounded } from '../../support/bench/numbers.ts';

export const figures: readonly Figure[] = [
  { name: 'factory.ledger', run: append },
  { name: 'factory.ledger-verify', run: verify },
];

/** Callers of one turn of the loop: a run that moves, with its deliveries and proofs. */
const together = 200;

/** As the scheduler writes runs of 1,000 nodes in 10 waves: six rows a node, those of a wave in turn. */
function entry(n: number): LedgerEntry {
  const within = n % 6000;
  const node = Math.floor(within / 600) * 100 + (within % 100);
  const dagId = `dag_01JZ${String(Math.floor(n / 6000)).padStart(22, '0')}`;
  const nodeId = `node_01JZ0000000000000000${String(node).padStart(6, '0')}`;
  return {
    type: n % 3 === 0 ? 'delivery' : 'node.status',
    actor: 'engine',
    surface: 'engine',
    subject: `node:${dagId}/${nodeId}`,
    body: { v: 1, dagId, nodeId, stepId: `s${node}`, status: 'working', cause: 'started', attempt: 1, detail: null },
  };
}

async function withLedger<T>(use: (store: Store, ledger: Ledger, file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-'));
  const clock = systemClock;
  const file = join(folder, 'runtime.db');
  const store = await openStore({ file, migrations: ledgerMigrations, clock });
  try {
    return await use(store, await createLedger({ store, clock, ids: createIds(clock) }), file);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fill(store: Store, ledger: Ledger, rows: number, from = 0): Promise<void> {
  for (let n = from; n < from + rows; n += together) {
    await Promise.all(
      Array.from({ length: together }, (_, at) => store.write((tx) => ledger.append(tx, entry(n + at)))),
    );
  }
}

async function append({ quick, log }: FigureOptions): Promise<Measured> {
  const rows = quick ? 20_000 : 100_000;
  const rounds = quick ? 2 : 3;
  return withLedger(async (store, ledger) => {
    await fill(store, ledger, 10_000);
    const values: number[] = [];
    const cpus: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const began = performance.now();
      const before = process.cpuUsage();
      await fill(store, ledger, rows, 10_000 + round * rows);
      const { user, system } = process.cpuUsage(before);
      cpus.push((user + system) / rows);
      values.push(rows / ((performance.now() - began) / 1000));
      log(`round ${round + 1}: ${Math.round(values.at(-1) ?? 0)} rows/s, ${cpus.at(-1)?.toFixed(1)} µs CPU a row`);
    }
    const sorted = [...values].sort((a, b) => a - b);
    return {
      value: sorted[Math.floor(sorted.length / 2)] ?? null,
      unit: 'rows/s',
      n: rounds,
      at: `${rows} rows of about 300 bytes, each from an operation of its own, ${together} together in one durable commit (WAL, synchronous FULL), all indexes and triggers on`,
      detail: { rounds: values.map((one) => rounded(one)), cpuMicrosecondsARow: cpus.map((one) => rounded(one)) },
    };
  });
}

async function verify({ quick, log }: FigureOptions): Promise<Measured> {
  const rows = quick ? 50_000 : 300_000;
  const rounds = quick ? 3 : 5;
  return withLedger(async (store, ledger, file) => {
    await fill(store, ledger, rows);
    const values: number[] = [];
    const floors: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = process.cpuUsage();
      const verdict = await ledger.verify();
      const { user, system } = process.cpuUsage(before);
      if (!verdict.ok || verdict.rows !== rows + 1) throw new Error(`The verdict is ${JSON.stringify(verdict)}.`);
      values.push(verdict.rows / ((user + system) / 1e6));
      floors.push(hashLedger(file));
      log(`round ${round + 1}: ${Math.round(values.at(-1) ?? 0)} rows a CPU second`);
    }
    const machine = machineBy('hash', floors);
    return {
      value: median(values) * machine.factor,
      unit: 'rows a CPU second, on the machine of the bound',
      n: rounds,
      at: `CPU of the whole process over ${rows} rows of about 300 bytes: read, hashed, compared, every 2,000 rows a turn of the loop for others`,
      detail: { raw: rounded(median(values), 0), ...machine.detail, rounds: values.map((one) => rounded(one)) },
    };
  });
}
