/**
 * The ledger over a store (factory.md 5.3). No cached position: every append reads the head inside its own transaction, so a
 * rolled-back operation leaves nothing behind. Must not know what the rows mean.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { AppError } from '../../contracts/common/errors.ts';
import { type Clock, iso } from '../clock/clock.ts';
import type { Ids } from '../ids/ids.ts';
import type { Store, Tx } from '../store/store.ts';
import { canonicalJson } from './canonical.ts';
import { findBreak, noHash, plain, rowHash, type StoredRow } from './chain.ts';
import type { Ledger, LedgerEntry, LedgerRow, LedgerVerdict } from './ledger.ts';

export interface LedgerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Rows checked before the loop gets a turn: about 5 ms. */
const verifyBatch = 2000;

const columns = 'seq, at, actor, surface, type, subject, idem_key, body, prev_hash, hash';
const insert = `INSERT INTO ledger (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const selectHead = 'SELECT seq, hash FROM ledger_head WHERE one = 1';

interface Head {
  seq: number;
  hash: string;
}

/** Opens the ledger, writing its genesis row into an empty one. The store has been migrated with `ledgerMigrations`. */
export async function createLedger(deps: LedgerDeps): Promise<Ledger> {
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
    const from = parseId(after);
    if (types === undefined) {
      const sql = `SELECT ${columns} FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?`;
      return store.read((tx) => tx.all<StoredRow>(sql, from, limit).map(toRow));
    }
    if (types.length === 0) return [];
    // A merge of one index walk a type: costs what it returns, however many other rows lie between.
    const parts = types.map(() => `SELECT ${columns} FROM ledger WHERE type = ? AND seq > ?`);
    const sql = `${parts.join(' UNION ALL ')} ORDER BY seq LIMIT ?`;
    const values = types.flatMap((type) => [type, from]);
    return store.read((tx) => tx.all<StoredRow>(sql, ...values, limit).map(toRow));
  }

  async function headRow(): Promise<Head> {
    const head = await store.read((tx) => tx.get<Head>(selectHead));
    return head ?? { seq: 0, hash: noHash };
  }

  async function knows(id: string): Promise<boolean> {
    if (!idPattern.test(id)) return false;
    const found = await store.read((tx) => tx.get('SELECT 1 FROM ledger WHERE seq = ?', Number(id)));
    return found !== undefined;
  }

  async function verify(): Promise<LedgerVerdict> {
    const end = await headRow();
    const sql = `SELECT ${columns} FROM ledger WHERE seq > ? ORDER BY seq LIMIT ?`;
    let previous: Head | null = null;
    let rows = 0;
    let from = Number.MIN_SAFE_INTEGER;
    while (true) {
      // One row more than is checked, so that every checked row but the last of all has its successor at hand.
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
      await turn();
    }
    return verdictAtEnd(previous, end, rows);
  }

  return {
    engineId,
    append,
    read,
    head: async () => String((await headRow()).seq),
    knows,
    onAppend: (listener) => {
      // A wrapper of its own: the same function may listen twice and stop once.
      const entry = (head: string) => listener(head);
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
    verify,
  };
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

function toRow(row: StoredRow): LedgerRow {
  return {
    id: String(row.seq),
    at: iso(row.at),
    type: row.type,
    actor: row.actor,
    surface: row.surface,
    subject: row.subject,
    body: JSON.parse(row.body) as Record<string, unknown>,
    ...(row.idem_key === null ? {} : { idemKey: row.idem_key }),
    hash: row.hash,
  };
}

/** Compares the last row with the head that stood when the check began; rows appended since are beyond it. */
function verdictAtEnd(last: Head | null, end: Head, rows: number): LedgerVerdict {
  if (last === null || last.seq < end.seq) {
    const missing = String(last === null ? 0 : last.seq + 1);
    return {
      ok: false,
      rows,
      id: missing,
      problem: 'removed',
      fact: `Row ${missing} and what followed up to ${end.seq} are missing.`,
    };
  }
  if (last.seq === end.seq && last.hash !== end.hash) {
    const id = String(last.seq);
    return { ok: false, rows, id, problem: 'changed', fact: `Row ${id} is not the one that was written last.` };
  }
  return { ok: true, rows, head: { id: String(last.seq), hash: last.hash } };
}
