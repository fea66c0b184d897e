/**
 * Detects rows that changed without a write: a disk that loses a bit reports nothing, and SQLite checks only the structure of its pages. Each row of
 * a watched table has a checksum beside it, made by a walk in the background and not by writers; a trigger drops the checksum of a row that SQL
 * changes or removes, and the next walk makes a new one. A row that differs from its checksum, or is gone while its checksum exists, was damaged.
 * Must not know tables.
 *
 * Only for SQLite: PostgreSQL has checksums of its own. First user: the runtime's database; second: the cloud's.
 */
import { hash } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';
import type { Timers } from '../clock/timers.ts';
import { type DiskReader, openDiskReader } from './read-disk.ts';
import { portion as removedAtOnce, removePortions } from './remove-portions.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from './shared-store.ts';
import { isDamage, sqliteCode } from './sqlite-errors.ts';
import type { Row, Value } from './store.ts';

export interface WatchedTable {
  readonly name: string;
  /** The only key column of a table WITHOUT ROWID. */
  readonly key?: string;
}

export interface Checked {
  /** Rows that were compared with their checksums, and rows that got their first one. */
  readonly rows: number;
  /** False: the time ended before the last table was done. */
  readonly whole: boolean;
  /** All known findings, including those of earlier walks. Sentences. */
  readonly found: readonly string[];
}

export interface RowChecks {
  /** Starts walks soon, in small portions, and repeats them. */
  start(): void;
  /** One walk now, which gives others a turn between its portions. */
  check(limitMs: number): Promise<Checked>;
  close(): Promise<void>;
}

type Key = string | number;
type Keyed = Row & { readonly row_check_key: Key };

interface Portion {
  readonly rows: readonly Keyed[];
  /** Rows without a checksum of the current columns. */
  readonly fresh: readonly { readonly key: Key; readonly sum: string }[];
  readonly wrong: readonly { readonly key: Key; readonly sentence: string }[];
}

interface Step {
  readonly rows: number;
  readonly next: Key | null;
}

const firstMs = 60_000;
const betweenMs = 1_000;
const restMs = 10 * 60_000;
const maxRows = 500;
/** A portion slower than this is followed by a smaller one: everybody else waits in the meantime. */
const longMs = 10;
const table =
  'CREATE TABLE IF NOT EXISTS row_check (tbl TEXT, key ANY, sum TEXT NOT NULL, PRIMARY KEY (tbl, key)) STRICT, WITHOUT ROWID';
const keep =
  'INSERT INTO row_check (tbl, key, sum) VALUES (?, ?, ?) ON CONFLICT (tbl, key) DO UPDATE SET sum = excluded.sum';
const forget = `DELETE FROM row_check WHERE tbl = ? AND key IN (SELECT key FROM row_check WHERE tbl = ? LIMIT ${removedAtOnce})`;

export function createRowChecks({
  store,
  file,
  tables,
  clock,
  timers,
  tell,
  onFault,
}: {
  readonly store: SharedStore;
  /** The store's file: rows are read from it, and not from the store's memory. */
  readonly file: string;
  readonly tables: readonly WatchedTable[];
  readonly clock: { now(): number };
  readonly timers: Timers;
  /** Called once for each row that is found. */
  readonly tell: (sentence: string) => void;
  readonly onFault: (fault: unknown) => void;
}): RowChecks {
  const found = new Map<string, string>();
  let closed = false;
  let cancel = () => {};
  let walking: Promise<unknown> = Promise.resolve();
  let ready: Promise<void> | null = null;

  function mark(at: string, sentence: string): void {
    if (found.get(at) === sentence) return;
    found.set(at, sentence);
    tell(sentence);
  }

  /** Compares and stores one portion; returns where the next begins, null after the last row. `marked`: rows that this walk found. */
  async function step(
    disk: DiskReader,
    watched: WatchedTable,
    from: Key,
    max: number,
    marked: Set<string>,
  ): Promise<Step> {
    const { name } = watched;
    let seen: Portion;
    try {
      seen = disk.read((tx) => look(tx, watched, from, max));
    } catch (error) {
      if (!isDamage(sqliteCode(error))) throw error;
      marked.add(name);
      mark(name, `${name}: there are rows that cannot be read`);
      return { rows: 0, next: null };
    }
    for (const { key, sentence } of seen.wrong) {
      marked.add(`${name} ${key}`);
      mark(`${name} ${key}`, sentence);
    }
    if (seen.fresh.length > 0) await store.write((tx) => keepSums(tx, watched, from, max)).catch(unlessRefused);
    const last = seen.rows.at(-1)?.row_check_key;
    // A damaged key may be out of order in its index.
    const next = seen.rows.length < max || last === undefined || last <= from ? null : last;
    return { rows: seen.rows.length, next };
  }

  async function walk(limitMs: number, pause: () => Promise<void>): Promise<Checked> {
    ready ??= prepare(store, tables).catch((error) => {
      ready = null;
      throw error;
    });
    await ready;
    const disk = openDiskReader(file);
    try {
      return await walkAll(disk, limitMs, pause);
    } finally {
      disk.close();
    }
  }

  async function walkAll(disk: DiskReader, limitMs: number, pause: () => Promise<void>): Promise<Checked> {
    const until = clock.now() + limitMs;
    const marked = new Set<string>();
    let rows = 0;
    let max = 50;
    for (const watched of tables) {
      let from: Key | null = watched.key === undefined ? Number.MIN_SAFE_INTEGER : '';
      while (from !== null) {
        if (closed || clock.now() >= until) return { rows, whole: false, found: [...found.values()] };
        const began = clock.now();
        const done: Step = await step(disk, watched, from, max, marked);
        const took = clock.now() - began;
        if (took > longMs) max = Math.max(1, max >> 1);
        else if (took < longMs / 4) max = Math.min(maxRows, max * 2);
        rows += done.rows;
        from = done.next;
        await pause();
      }
    }
    // An earlier finding that is fine now was written again, or removed.
    for (const at of found.keys()) if (!marked.has(at)) found.delete(at);
    return { rows, whole: true, found: [...found.values()] };
  }

  function later(ms: number): void {
    if (closed) return;
    cancel = timers.after(ms, () => {
      walking = walk(Number.POSITIVE_INFINITY, waited)
        .catch(onFault)
        .finally(() => later(restMs));
    });
  }

  /** Waits between two portions in the background. Ends at once when the watch ends. */
  let endWait = () => {};
  const waited = () =>
    new Promise<void>((resolve) => {
      const stop = timers.after(betweenMs, resolve);
      endWait = () => {
        stop();
        resolve();
      };
      if (closed) endWait();
    });

  return {
    start: () => later(firstMs),
    check: (limitMs) => walk(limitMs, () => new Promise((resolve) => setImmediate(resolve))),
    async close() {
      closed = true;
      cancel();
      endWait();
      await walking;
    },
  };
}

/** A full disk stores no checksums; the walk itself continues. */
function unlessRefused(error: unknown): void {
  if (!(error instanceof AppError)) throw error;
}

const keyOf = ({ key = 'rowid' }: WatchedTable) => key;

/** The tables' triggers. If one was missing, the rows may have changed unnoticed, so their checksums are void. */
async function prepare(store: SharedStore, tables: readonly WatchedTable[]): Promise<void> {
  await store.write((tx) => tx.run(table));
  for (const watched of tables) {
    const { name } = watched;
    // Without the sign SQLite compares by the column's type, and reads every checksum for each row.
    const drop = `BEGIN DELETE FROM row_check WHERE tbl = '${name}' AND key = +OLD.${keyOf(watched)}; END`;
    const triggers = {
      [`row_check_${name}_changed`]: `AFTER UPDATE ON ${name} ${drop}`,
      [`row_check_${name}_gone`]: `AFTER DELETE ON ${name} ${drop}`,
    };
    const names = Object.keys(triggers);
    const there = await store.all(`SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name IN (?, ?)`, ...names);
    if (there.length === names.length) continue;
    await removePortions(store, forget, name, name);
    await store.write(function* (tx) {
      for (const [trigger, text] of Object.entries(triggers))
        yield* tx.run(`CREATE TRIGGER IF NOT EXISTS ${trigger} ${text}`);
    });
  }
}

function* look(tx: SharedReader, watched: WatchedTable, from: Key, max: number): Op<Portion> {
  const { name } = watched;
  const key = keyOf(watched);
  const rows = yield* tx.all<Keyed>(
    `SELECT ${key} AS row_check_key, * FROM ${name} WHERE ${key} > ? ORDER BY ${key} LIMIT ?`,
    ...[from, max],
  );
  const last = rows.length < max ? null : (rows.at(-1)?.row_check_key ?? null);
  const to: [string, Value[]] = last === null ? ['', []] : ['AND key <= ?', [last]];
  const kept = yield* tx.all<{ key: Key; sum: string }>(
    `SELECT key, sum FROM row_check WHERE tbl = ? AND key > ? ${to[0]} ORDER BY key`,
    ...[name, from, ...to[1]],
  );
  const sums = new Map(kept.map(({ key: of, sum }) => [of, sum]));
  const fresh: { key: Key; sum: string }[] = [];
  const wrong: { key: Key; sentence: string }[] = [];
  for (const row of rows) {
    const at = row.row_check_key;
    const sum = sumOf(row);
    const before = sums.get(at);
    sums.delete(at);
    // A migration that changed the table's columns changed its rows.
    if (before === undefined || shapeOf(before) !== shapeOf(sum)) fresh.push({ key: at, sum });
    else if (before !== sum)
      wrong.push({ key: at, sentence: `${name}: row ${nameOf(row)} differs from what was written` });
  }
  for (const at of sums.keys()) {
    const there = yield* tx.get(`SELECT 1 FROM ${name} WHERE ${key} = ?`, at);
    if (there === undefined) wrong.push({ key: at, sentence: `${name}: row ${at} is gone, and nobody removed it` });
  }
  return { rows, fresh, wrong };
}

/** Looks again: the row may have changed since, and must not be compared with an outdated checksum. */
function* keepSums(tx: SharedTx, watched: WatchedTable, from: Key, max: number): Op<void> {
  const { fresh } = yield* look(tx, watched, from, max);
  for (const { key, sum } of fresh) yield* tx.run(keep, watched.name, key, sum);
}

const shapeLength = 8;
const shapeOf = (sum: string) => sum.slice(0, shapeLength);

function sumOf({ row_check_key, ...cells }: Keyed): string {
  const values = Object.values(cells).map((cell) =>
    cell instanceof Uint8Array ? { bytes: Buffer.from(cell).toString('base64') } : cell,
  );
  const text = (of: unknown, length: number) => hash('sha256', JSON.stringify(of), 'base64').slice(0, length);
  return text(Object.keys(cells), shapeLength) + text([row_check_key, values], 16);
}

/** How a person can find it: by its first column, which identifies a row in all watched tables. */
function nameOf(row: Keyed): string {
  const [, first] = Object.values(row);
  return String(first).slice(0, 60);
}
