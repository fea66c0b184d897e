/**
 * The ledger over a store. No cached position: every append reads the head inside its own transaction, so a rolled-back operation leaves nothing
 * behind. Must not know what the rows mean.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { AppError } from '../../contracts/common/errors.ts';
import { type Clock, iso } from '../clock/clock.ts';
import type { Ids } from '../ids/ids.ts';
import type { Store, Tx } from '../store/store.ts';
import { canonicalJson } from './canonical.ts';
import { findBreak, noHash, plain, rowHash, type StoredRow } from './chain.ts';
import type { FoundRow, Ledger, LedgerEntry, LedgerQuery, LedgerRow, LedgerVerdict } from './ledger.ts';

/** Rows checked before the loop gets a turn: 5 to 10 ms on a machine that has something else to do. */
const verifyBatch = 200;
/** The same for rows that are looked at in a search with several filters. */
const walkPortion = 2000;

/** Before any row, including one inserted before the first. */
const beforeAll = Number.MIN_SAFE_INTEGER;
/** The largest valid date. */
const lastMoment = 8.64e15;

const columns = 'seq, at, actor, surface, type, subject, idem_key, body, prev_hash, hash';
const insert = `INSERT INTO ledger (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const selectHead = 'SELECT seq, hash FROM ledger_head WHERE one = 1';

interface Head {
  seq: number;
  hash: string;
}

/** Opens the ledger, writing its genesis row into an empty one. The store has been migrated with `ledgerMigrations`. */
export async function createLedger(deps: {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
}): Promise<Ledger> {
  const { store, clock } = deps;
  const listeners = new Set<(head: string) => void>();
  let woken: number | null = null;

  const engineId = await store.write((tx) => {
    const genesis = tx.get<{ subject: string }>('SELECT subject FROM ledger WHERE seq = 0');
    if (genesis !== undefined) return genesis.subject;
    const id = deps.ids.next('engine');
    insertRow(tx, { seq: -1, hash: noHash }, clock.now(), {
      type: 'ledger.genesis',
      actor: 'engine',
      surface: 'engine',
      subject: id,
      body: { v: 1, engine: id },
    });
    return id;
  });

  /** One call for all the appends of a durable group. */
  function wake(seq: number): void {
    if (woken === null) queueMicrotask(tell);
    woken = Math.max(seq, woken ?? 0);
  }

  function tell(): void {
    const head = String(woken);
    woken = null;
    for (const listener of [...listeners]) listener(head);
  }

  function append(tx: Tx, entry: LedgerEntry): { id: string; at: string } {
    if (entry.idemKey !== undefined) {
      const first = tx.get<{ seq: number; at: number }>('SELECT seq, at FROM ledger WHERE idem_key = ?', entry.idemKey);
      if (first !== undefined) return { id: String(first.seq), at: iso(first.at) };
    }
    const head = tx.get<Head>(selectHead);
    if (head === undefined) throw new Error('The ledger has lost its head row.');
    const at = clock.now();
    const seq = insertRow(tx, head, at, entry);
    tx.afterCommit(() => wake(seq));
    return { id: String(seq), at: iso(at) };
  }

  async function read(after: string, limit: number, types?: readonly string[]): Promise<LedgerRow[]> {
    const readable: LedgerRow[] = [];
    let from = after;
    while (readable.length < limit) {
      const wanted = limit - readable.length;
      const rows = await query({ types, after: from, order: 'ascending', limit: wanted });
      for (const row of rows) if (row.body !== null) readable.push(row as LedgerRow);
      const last = rows.at(-1);
      if (last === undefined || rows.length < wanted) break;
      from = last.id;
    }
    return readable;
  }

  async function query(wanted: LedgerQuery): Promise<FoundRow[]> {
    const bounds = [
      wanted.after === undefined ? beforeAll : parseId(wanted.after),
      wanted.before === undefined ? Number.MAX_SAFE_INTEGER : parseId(wanted.before),
    ];
    if ([wanted.types, wanted.subject, wanted.actor].filter((one) => one !== undefined).length > 1) {
      return (await walk(store, wanted, bounds)).map(toRow);
    }
    const { sql, values } = searchOf(wanted, bounds);
    return sql === '' ? [] : store.read((tx) => tx.all<StoredRow>(sql, ...values, wanted.limit).map(toRow));
  }

  const headRow = () => headOf(store);

  async function knows(id: string): Promise<boolean> {
    if (!idPattern.test(id)) return false;
    const found = await store.read((tx) => tx.get('SELECT 1 FROM ledger WHERE seq = ?', Number(id)));
    return found !== undefined;
  }

  return {
    engineId,
    append,
    read,
    query,
    stored: (after, limit) => {
      const sql = `SELECT ${columns} FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?`;
      return store.read((tx) => tx.all<StoredRow>(sql, after ?? beforeAll, limit));
    },
    async hashOf(id) {
      const sql = 'SELECT hash FROM ledger WHERE seq = ?';
      return (await store.read((tx) => tx.get<{ hash: string }>(sql, parseId(id))))?.hash ?? null;
    },
    head: async () => String((await headRow()).seq),
    knows,
    onAppend: (listener) => {
      // A wrapper of its own, so that the same function may listen twice and stop once.
      const entry = (head: string) => listener(head);
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
    verify: (onProgress) => verifyLedger(store, onProgress),
  };
}

async function headOf(store: Pick<Store, 'read'>): Promise<Head> {
  const head = await store.read((tx) => tx.get<Head>(selectHead));
  return head ?? { seq: 0, hash: noHash };
}

/** Walks the whole chain of an open database, even a read-only one. `onProgress` gets how many rows are checked, of how many. */
export async function verifyLedger(
  store: Pick<Store, 'read'>,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<LedgerVerdict> {
  const end = await headOf(store);
  const sql = `SELECT ${columns} FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?`;
  let previous: Head | null = null;
  let rows = 0;
  let from = beforeAll;
  while (true) {
    // Reads one row more than it checks, so that every checked row but the very last has its successor at hand.
    const batch: StoredRow[] = await store.read((tx) => tx.all<StoredRow>(sql, from, verifyBatch + 1));
    const checked = Math.min(batch.length, verifyBatch);
    for (let index = 0; index < checked; index += 1) {
      const row = batch[index] as StoredRow;
      const broken = findBreak(previous, row, batch[index + 1]);
      if (broken !== null)
        return { ok: false, rows, id: String(broken.seq), problem: broken.problem, fact: broken.fact };
      previous = row;
      rows += 1;
    }
    if (checked < verifyBatch || batch.length === checked) break;
    from = (previous as Head).seq;
    // Rows that are written meanwhile are checked too; from the first, which is 0, to the head.
    onProgress(rows, Math.max(rows, end.seq + 1));
    await turn();
  }
  return verdictAtEnd(previous, end, rows);
}

const idPattern = /^(0|[1-9]\d{0,15})$/;

function parseId(id: string): number {
  if (!idPattern.test(id)) {
    throw new AppError('usage', `"${id}" is not an event id.`, 'Give the id of an event as it was sent, or 0.');
  }
  return Number(id);
}

function insertRow(tx: Tx, head: Head, at: number, entry: LedgerEntry): number {
  const row = {
    seq: head.seq + 1,
    at,
    actor: plain('actor', entry.actor),
    surface: plain('surface', entry.surface),
    type: plain('type', entry.type),
    subject: plain('subject', entry.subject),
    idem_key: entry.idemKey === undefined ? null : plain('idemKey', entry.idemKey),
    body: canonicalJson(entry.body),
    prev_hash: head.hash,
  };
  tx.run(
    insert,
    row.seq,
    row.at,
    row.actor,
    row.surface,
    row.type,
    row.subject,
    row.idem_key,
    row.body,
    row.prev_hash,
    rowHash(row),
  );
  return row.seq;
}

interface Filter {
  readonly column: 'subject' | 'actor' | 'type';
  readonly values: readonly string[];
}

function filtersOf({ subject, actor, types }: LedgerQuery): Filter[] {
  return [
    ...(subject === undefined ? [] : [{ column: 'subject', values: [subject] } as const]),
    ...(actor === undefined ? [] : [{ column: 'actor', values: [actor] } as const]),
    // Each type once: every value is searched for itself.
    ...(types === undefined ? [] : [{ column: 'type', values: [...new Set(types)] } as const]),
  ];
}

const directionOf = ({ order }: LedgerQuery) => (order === 'ascending' ? 'ASC' : 'DESC');

/** With one filter at most. */
function searchOf(wanted: LedgerQuery, bounds: readonly number[]): { sql: string; values: (string | number)[] } {
  const end = `ORDER BY seq ${directionOf(wanted)} LIMIT ?`;
  const select = (where: string) => `SELECT ${columns} FROM ledger WHERE ${where} seq > ? AND seq < ?`;
  const [filter] = filtersOf(wanted);
  if (filter === undefined) return { sql: `${select('')} ${end}`, values: [...bounds] };
  // Merges one index walk for each value, so that the cost depends only on the rows returned.
  const parts = filter.values.map(() => select(`${filter.column} = ? AND`));
  return filter.values.length === 0
    ? { sql: '', values: [] }
    : { sql: `${parts.join(' UNION ALL ')} ${end}`, values: filter.values.flatMap((value) => [value, ...bounds]) };
}

/**
 * With several filters: along the index of the one with the fewest rows, in portions between which the loop gets a turn. Two filters may each
 * have a million rows and none in common, and a search for both must not hold up everybody else.
 */
async function walk(store: Store, wanted: LedgerQuery, bounds: readonly number[]): Promise<StoredRow[]> {
  const filters = filtersOf(wanted);
  if (filters.some(({ values }) => values.length === 0)) return [];
  const isUp = wanted.order === 'ascending';
  const order = `ORDER BY seq ${directionOf(wanted)}`;
  let [low = 0, high = 0] = bounds;
  const narrowest = await store.read((tx) => {
    const counted = filters.map((filter) => ({ filter, rows: rowsOf(tx, filter, [low, high]) }));
    return counted.reduce((least, one) => (one.rows < least.rows ? one : least)).filter;
  });
  // A `+` keeps SQLite from another index.
  const all = filters.map(
    ({ column, values }) =>
      `${column === narrowest.column ? '' : '+'}${column} IN (${values.map(() => '?').join(', ')}) AND`,
  );
  const found: StoredRow[] = [];
  for (;;) {
    const edge = await store.read((tx) => {
      const last = tx.get<{ seq: number }>(
        `SELECT seq FROM ledger WHERE ${narrowest.column} = ? AND seq > ? AND seq < ? ${order} LIMIT 1 OFFSET ?`,
        ...narrowest.values,
        low,
        high,
        walkPortion - 1,
      )?.seq;
      const range = last === undefined ? [low, high] : isUp ? [low, last + 1] : [last - 1, high];
      found.push(
        ...tx.all<StoredRow>(
          `SELECT ${columns} FROM ledger WHERE ${all.join(' ')} seq > ? AND seq < ? ${order} LIMIT ?`,
          ...filters.flatMap(({ values }) => values),
          ...range,
          wanted.limit - found.length,
        ),
      );
      return last;
    });
    if (edge === undefined || found.length >= wanted.limit) return found;
    if (isUp) low = edge;
    else high = edge;
    await turn();
  }
}

/** As far as it matters: no more are counted than one portion has. */
function rowsOf(tx: Pick<Tx, 'get'>, { column, values }: Filter, bounds: readonly number[]): number {
  // Several types have no common order in the index; a subject and an actor are always one.
  if (values.length > 1) return Number.POSITIVE_INFINITY;
  const counted = tx.get<{ n: number }>(
    `SELECT COUNT(*) AS n FROM (SELECT 1 FROM ledger WHERE ${column} = ? AND seq > ? AND seq < ? LIMIT ${walkPortion})`,
    ...values,
    ...bounds,
  );
  return counted?.n ?? 0;
}

/** Null: it is not an object of JSON. */
export function bodyOf(text: string): FoundRow['body'] {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as FoundRow['body']) : null;
  } catch {
    return null;
  }
}

function toRow(row: StoredRow): FoundRow {
  return {
    id: String(row.seq),
    at: iso(Math.abs(row.at) <= lastMoment ? row.at : 0),
    type: row.type,
    actor: row.actor,
    surface: row.surface,
    subject: row.subject,
    body: bodyOf(row.body),
    ...(row.idem_key === null ? {} : { idemKey: row.idem_key }),
    hash: row.hash,
  };
}

/** Compares the last row with the head stored when the check began; rows appended since are beyond it. */
function verdictAtEnd(last: Head | null, end: Head, rows: number): LedgerVerdict {
  if (last === null || last.seq < end.seq) {
    const missing = String(last === null ? 0 : last.seq + 1);
    return {
      ok: false,
      rows,
      id: missing,
      problem: 'removed',
      fact: `The rows from ${missing} to ${end.seq} are missing.`,
    };
  }
  if (last.seq === end.seq && last.hash !== end.hash) {
    const id = String(last.seq);
    return { ok: false, rows, id, problem: 'changed', fact: `Row ${id} is not the one that was written last.` };
  }
  return { ok: true, rows, head: { id: String(last.seq), hash: last.hash } };
}
