/**
 * Of single bits that flip in live cells, how many the walk over rows or the start finds. Two databases with all their tables and 120 rows
 * in each of ten (ledger, approvals of both sides, tasks, consent, sealed rows); one walk gives each row its checksum, then both are
 * closed. Each round takes a fresh copy, flips one bit of one random byte of a random table's live cell (its header or any of its
 * values, straight in the file, so that nothing of SQLite knows), and makes the walk that the doctor makes. Found is what the walk names;
 * what it does not, a start may still refuse as damaged, which is told apart. The bits are the same in each run.
 */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { cloudMigrations } from '../../../src/host/cloud-migrations.ts';
import { runtimeMigrations } from '../../../src/host/runtime-migrations.ts';
import { cloudRows, runtimeRows } from '../../../src/host/watched-rows.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { type Checked, createRowChecks, type WatchedTable } from '../../../src/kit/store/row-checks.ts';
import { shareStore } from '../../../src/kit/store/share-store.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import type { Migration, Store, Tx, Value } from '../../../src/kit/store/store.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { cellsOf, flipBit } from '../../support/flip-cells.ts';

export const figures: readonly Figure[] = [{ name: 'store.bitrot', run }];

const rowsEach = 120;
const walkMs = 60_000;
const sealed = (n: number) => Buffer.from(`sealed ${n} `.repeat(12)).toString('base64url');

/** Rows of a table, by its columns. */
type Fill = Readonly<Record<string, (n: number) => Readonly<Record<string, Value>>>>;

const runtimeFill: Fill = {
  approval_hold: (n) => ({
    id: `apr_${n}`,
    question: `{"title":"Send the report of day ${n}?"}`,
    action_hash: `hash-${n}`,
    deadline: 1e12 + n,
    ledger_id: `led_${n}`,
    state: n % 2 === 0 ? 'live' : 'withdrawn',
  }),
  computer_use_approval: (n) => ({
    id: `cua_${n}`,
    holder_id: 'bot',
    action_hash: `hash-${n}`,
    seen: `seen-${n}`,
    state: 'pending',
    words: `Press the button ${n}`,
    shown: '{}',
    asked_at: 1e12 + n,
  }),
  engine_secret: (n) => ({ name: `secret-${n}`, sealed: sealed(n), updated_at: 1e12 + n }),
  oauth_grant: (n) => ({ target: `server-${n}`, sealed: sealed(n), updated_at: 1e12 + n }),
};

const cloudFill: Fill = {
  approval: (n) => ({
    id: `apr_${n}`,
    user_id: 'usr_1',
    computer_id: 'cmp_1',
    engine_id: `eng_${n}`,
    ledger_id: `led_${n}`,
    kind: 'tool',
    title: `Send ${n}?`,
    summary: `The report of day ${n}`,
    risk: 'low',
    source: '{}',
    state: 'pending',
    requested_at: 1e12 + n,
    expires_at: 2e12 + n,
  }),
  work_task: (n) => ({
    id: `task_${n}`,
    user_id: 'usr_1',
    status: 'queued',
    rank: n,
    queued_at: 1e12 + n,
    waits: 0,
    attempts: 0,
    max_attempts: 3,
    fence: 0,
    stop_requested: 0,
    created_at: 1e12 + n,
    updated_at: 1e12 + n,
    payload: `{"prompt":"Read page ${n} and say what is on it"}`,
    env: '{}',
  }),
  phone_consent: (n) => ({
    id: `con_${n}`,
    number_id: 'num_1',
    e164: `+1415555${1000 + n}`,
    source: 'form',
    evidence: `Ticked on page ${n}`,
    at: 1e12 + n,
  }),
  phone_opt_out: (n) => ({
    id: `opt_${n}`,
    number_id: 'num_1',
    peer: `+1415555${1000 + n}`,
    action: 'stop',
    source: 'text',
    at: 1e12 + n,
  }),
  cloud_secret: (n) => ({ name: `secret-${n}`, sealed: sealed(n) }),
};

interface Database {
  readonly file: string;
  readonly migrations: readonly Migration[];
  readonly watched: readonly WatchedTable[];
  readonly tables: readonly string[];
}

/** Only the walk, without the checks of a start before it. */
async function walked(database: Database, file: string): Promise<Checked> {
  const raw = new Sqlite(file);
  raw.pragma('cell_size_check = ON');
  const at = (sql: string) => raw.prepare<Value[]>(sql);
  const tx: Tx = {
    run: (sql, ...values) => at(sql).run(...values),
    get: <T>(sql: string, ...values: Value[]) => at(sql).get(...values) as T | undefined,
    all: <T>(sql: string, ...values: Value[]) => at(sql).all(...values) as T[],
    afterCommit: (effect) => effect(),
  };
  const run = async <T>(operation: (of: Tx) => T) => raw.transaction(() => operation(tx))();
  const store = shareStore({ write: run, read: run, trouble: () => null, close: async () => {} });
  try {
    return await check(database, file, store);
  } finally {
    raw.close();
  }
}

async function check({ watched }: Database, file: string, store: SharedStore): Promise<Checked> {
  const onFault = (fault: unknown) => {
    throw fault;
  };
  const rows = createRowChecks({
    store,
    file,
    tables: watched,
    clock: systemClock,
    timers: systemTimers,
    tell() {},
    onFault,
  });
  const checked = await rows.check(walkMs);
  await rows.close();
  return checked;
}

/** Whether a start refuses the file as damaged. */
async function refused({ migrations }: Database, file: string): Promise<boolean> {
  try {
    const store = await openStore({ file, migrations, clock: systemClock });
    await store.close();
    return false;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return true;
  }
}

async function fill(store: Store, tables: Fill): Promise<void> {
  for (const [table, make] of Object.entries(tables)) {
    await store.write((tx) => {
      for (let n = 1; n <= rowsEach; n += 1) {
        const row = make(n);
        const columns = Object.keys(row);
        tx.run(`INSERT INTO ${table} (${columns}) VALUES (${columns.map(() => '?')})`, ...Object.values(row));
      }
    });
  }
}

async function made(database: Database, tables: Fill): Promise<Database> {
  const store = await openStore({ ...database, clock: systemClock });
  await fill(store, tables);
  if (database.tables.includes('ledger')) {
    const ledger = await createLedger({ store, clock: systemClock, ids: createIds(systemClock) });
    const entry = { type: 'delivery', actor: 'engine', surface: 'engine', body: { v: 1, status: 'working' } } as const;
    for (let n = 0; n < rowsEach; n += 1)
      await store.write((tx) => ledger.append(tx, { ...entry, subject: `node:${n}` }));
  }
  const first = await check(database, database.file, shareStore(store));
  await store.close();
  if (!first.whole || first.found.length > 0) throw new Error(`The first walk says ${JSON.stringify(first)}.`);
  return database;
}

/** Numbers that look random and are the same in each run. */
function numbers(): (below: number) => number {
  let state = 20_261_123;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const flips = quick ? 200 : 1_000;
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-bitrot-'));
  const trial = join(folder, 'trial.db');
  const next = numbers();
  const missed: string[] = [];
  let byTheWalk = 0;
  try {
    const places = await Promise.all([
      made(
        {
          file: join(folder, 'runtime.db'),
          migrations: runtimeMigrations,
          watched: runtimeRows,
          tables: ['ledger', ...Object.keys(runtimeFill)],
        },
        runtimeFill,
      ),
      made(
        {
          file: join(folder, 'cloud.db'),
          migrations: cloudMigrations,
          watched: cloudRows,
          tables: Object.keys(cloudFill),
        },
        cloudFill,
      ),
    ]);
    const cells = places.flatMap((database) =>
      database.tables.map((table) => ({ database, table, cells: cellsOf(database.file, table) })),
    );
    for (let flip = 0; flip < flips; flip += 1) {
      const place = cells[flip % cells.length]!;
      const cell = place.cells[next(place.cells.length)]!;
      const offset = cell.offset + next(cell.length);
      const bit = next(8);
      for (const end of ['', '-wal', '-shm', '.id']) rmSync(trial + end, { force: true });
      copyFileSync(place.database.file, trial);
      flipBit(trial, offset, bit);
      const { found, whole } = await walked(place.database, trial);
      if (whole && found.length > 0) byTheWalk += 1;
      else if (!(await refused(place.database, trial))) {
        missed.push(`${place.table}: byte ${offset - cell.offset} of a cell, bit ${bit}`);
      }
      if ((flip + 1) % 100 === 0) log(`${flip + 1} flipped, ${missed.length} missed`);
    }
    return {
      value: ((flips - missed.length) / flips) * 100,
      unit: '% of the bits found',
      n: flips,
      at: `${rowsEach} rows in each of ${cells.length} tables, a fresh copy and one bit a round`,
      problems: missed,
      detail: { byTheWalk, byTheStartAlone: flips - missed.length - byTheWalk, missed: missed.length },
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
