/**
 * `store.growth.sqlite`, `store.growth.postgres`: what the default calls about the six tables that grow fastest read from the database at a million rows,
 * compared with ten thousand. It is counted, not timed: PostgreSQL says how many buffers each statement touched, and of SQLite's file the operating system
 * says how many bytes a fresh connection read. The work queue has figures of its own (`work-queue.growth`).
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { cloudMigrations } from '../../../src/host/cloud-migrations.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import { personWith, startPeople } from '../../cloud-api/identity/support.ts';
import { fillTables, type Table, tablesOf } from '../../cloud-api/others-rows.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { rounded } from '../../support/bench/numbers.ts';
import { startBenchPostgres } from '../../support/bench/postgres.ts';
import { signInAs } from '../../support/oidc-provider.ts';
import { startSimulator } from '../../support/phone/simulator.ts';
import { type AskedStatement, buffersOfPostgres, recording } from '../../support/plans.ts';

export const figures: readonly Figure[] = [
  { name: 'store.growth.sqlite', run: onSqlite },
  { name: 'store.growth.postgres', run: onPostgres },
];

/** One row or more for each event, notice, question, unit of usage, webhook and text. */
const growing = ['user_event', 'notification', 'approval', 'usage_line', 'connector_receipt', 'phone_text'];
const sizes = { few: 10_000, many: { quick: 100_000, full: 1_000_000 } };
/** The caller's own, at either size: more than a page of a list. */
const ownRows = 1_000;

/** The lists that a page or a client asks for, as it asks without a filter. */
const calls = [
  '/api/v1/notifications',
  '/api/factory/approvals?state=pending',
  '/api/factory/approvals?state=resolved',
  '/api/v1/usage?month=2026-01',
  '/api/v1/usage/budget',
  '/api/v1/phone/numbers/own_1/messages',
  '/api/v1/phone/numbers/own_1/conversations',
];

interface Engine {
  readonly name: string;
  readonly unit: string;
  readonly databaseUrl: string | null;
  readonly file: string;
  /** Of each statement: what it reads. */
  work(asked: readonly AskedStatement[]): Promise<number[]>;
  analyze(store: SharedStore): Promise<unknown>;
}

async function onSqlite(options: FigureOptions): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-rows-'));
  const file = join(folder, 'cloud.db');
  try {
    return await compare(
      {
        name: 'SQLite',
        unit: 'pages of 4 KiB',
        databaseUrl: null,
        file,
        work: async (asked) => asked.map((one) => pagesOfSqlite(file, one)),
        analyze: (store) => store.write((tx) => tx.run('ANALYZE')),
      },
      options,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function onPostgres(options: FigureOptions): Promise<Measured> {
  const server = await startBenchPostgres();
  try {
    const databaseUrl = await server.database('growth');
    return await compare(
      {
        name: `PostgreSQL ${server.version}`,
        unit: 'buffers of 8 KiB',
        databaseUrl,
        file: '',
        work: (asked) => buffersOfPostgres(databaseUrl, asked),
        analyze: () => server.ask(databaseUrl, 'VACUUM (ANALYZE)'),
      },
      options,
    );
  } finally {
    await server.stop();
  }
}

interface Asked {
  readonly call: string;
  readonly statements: readonly AskedStatement[];
}

async function compare(engine: Engine, { quick, log }: FigureOptions): Promise<Measured> {
  const many = sizes.many[quick ? 'quick' : 'full'];
  const { asked, tables, userId } = await record(engine);
  const store = await openSharedStore({ ...engine, migrations: cloudMigrations, clock: systemClock });
  try {
    const grown = tables.filter(({ name }) => growing.includes(name));
    const measured: number[][] = [];
    for (const rows of [sizes.few, many]) {
      const began = performance.now();
      await fillTables(store, grown, { userId, ids: 'own', many: ownRows });
      await fillTables(store, grown, { userId: 'user_bob', ids: 'other', many: rows });
      await engine.analyze(store);
      log(`${rows} rows in each of ${grown.length} tables after ${Math.round((performance.now() - began) / 1000)} s`);
      const of: number[] = [];
      for (const { statements } of asked) of.push((await engine.work(statements)).reduce((sum, one) => sum + one, 0));
      measured.push(of);
    }
    const found = asked.map(({ call }, index) => {
      const [few, lots] = [measured[0]?.[index] ?? 0, measured[1]?.[index] ?? 0];
      return { call, few, many: lots, ratio: rounded(lots / few, 2) };
    });
    for (const one of found) log(`${one.call}: ${one.few} → ${one.many}`);
    return {
      value: Math.max(...found.map(({ ratio }) => ratio)),
      unit: `× the ${engine.unit} that a call reads at ${sizes.few} rows`,
      n: found.length,
      at: `${engine.name}; ${many} rows in each of ${growing.join(', ')}, ${ownRows} of them the caller's own; the call that grows most counts`,
      detail: { calls: found },
    };
  } finally {
    await store.close();
  }
}

/** What each call asks the database of a person with a few rows in every table. */
async function record(engine: Engine): Promise<{ asked: Asked[]; tables: Table[]; userId: string }> {
  const recorded: { store: SharedStore; asked: Map<string, AskedStatement> }[] = [];
  const { sim, ...simulated } = await startSimulator();
  const { apiKey, publicKey, url } = sim;
  const people = await startPeople({
    settings: {
      databaseUrl: engine.databaseUrl,
      phone: { carrier: 'simulator', connectionId: '1', webhookUrl: null, apiKey, publicKey, url },
    },
    async openStore(options) {
      const store = await openSharedStore({ ...options, file: engine.file });
      const each = recording(store);
      recorded.push({ store, asked: each.asked });
      return { ...each.store, notices: [] };
    },
  });
  try {
    const person = await personWith(people, await signInAs('ada', people.origin));
    const { store, asked } = recorded[0] as (typeof recorded)[number];
    const tables = await tablesInSqlite();
    await fillTables(store, tables, { userId: person.id, ids: 'own', many: 3 });
    const found: Asked[] = [];
    for (const call of calls) {
      asked.clear();
      const { status, text } = await person.call('GET', call);
      if (status !== 200) throw new Error(`${call} was answered ${status}: ${text}`);
      // Those about the tables that grow; the rest of a call is the same at any size.
      const about = [...asked.values()].filter(({ sql }) =>
        growing.some((table) => new RegExp(`\\b${table}\\b`).test(sql)),
      );
      if (about.length > 0) found.push({ call, statements: about });
    }
    return { asked: found, tables, userId: person.id };
  } finally {
    await people.cloud.close();
    await simulated[Symbol.asyncDispose]();
  }
}

/** The tables of a cloud as SQLite has them; PostgreSQL has the same. */
async function tablesInSqlite(): Promise<Table[]> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-bench-tables-'));
  const file = join(folder, 'cloud.db');
  const store = await openSharedStore({ databaseUrl: null, file, migrations: cloudMigrations, clock: systemClock });
  try {
    return await tablesOf(store);
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What a connection that has read nothing yet reads for this statement, each page once. */
function pagesOfSqlite(file: string, { sql, values }: AskedStatement): number {
  const db = new Database(file, { readonly: true });
  try {
    db.pragma('mmap_size = 0');
    const statement = db.prepare(sql);
    // The schema is read by now. Of a statement that changes something, the plan reads the same as a query would.
    if (!statement.reader) return 0;
    const before = bytesRead();
    statement.all(...values);
    return Math.round((bytesRead() - before) / 4096);
  } finally {
    db.close();
  }
}

/** Bytes that this program has read so far, from caches of the system or not. */
function bytesRead(): number {
  return Number(/^rchar: (\d+)/m.exec(readFileSync('/proc/self/io', 'latin1'))?.[1]);
}
