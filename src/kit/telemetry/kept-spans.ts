/**
 * Spans of what lasts longer than a process may live, such as a run or an approval: kept beside it, in its own transaction, and sent by whichever
 * process sees it end. Owns `trace_span`; must not know what its subjects are.
 */
import type { Clock } from '../clock/clock.ts';
import type { Timers } from '../clock/timers.ts';
import type { Store, Tx } from '../store/store.ts';
import type { Attributes, Telemetry } from './telemetry.ts';

interface SpanRow {
  name: string;
  own: string;
  parent: string | null;
  began_at: number;
  ended_at: number | null;
}

export interface KeptSpans {
  /** Begins one unless the subject's is open. `parent` null: it begins a trace. */
  begin(tx: Tx, subject: string, name: string, parent: string | null): void;
  /** Sends the open one of a subject; nothing happens without one. */
  end(tx: Tx, subject: string, attributes: Attributes): void;
  /** From now on the subject belongs to this span of others. */
  join(subject: string, traceparent: string): void;
  /** As an operation under way sees it. */
  within(tx: Pick<Tx, 'get'>, subject: string): string | null;
  /** The span of a subject, also after its end; null: none. From memory. */
  of(subject: string): string | null;
  close(): void;
}

const retentionMs = 30 * 24 * 3_600_000;
/** Some 20 MB, and as many entries in memory. */
const maxSpans = 100_000;
const pruneEveryMs = 3_600_000;
/** Few enough that no other write waits long behind them. */
const prunedAtOnce = 500;

export async function createKeptSpans(deps: {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly telemetry: Pick<Telemetry, 'reserve' | 'past'>;
  /** How many are kept; the oldest that have ended go first. */
  readonly most?: number;
}): Promise<KeptSpans> {
  const { store, clock, telemetry } = deps;
  const find = (tx: Pick<Tx, 'get'>, subject: string) =>
    tx.get<SpanRow>('SELECT * FROM trace_span WHERE subject = ?', subject);
  const { most = maxSpans } = deps;
  const known = new Map<string, string>();
  let closed = false;
  let cancel = () => {};

  await prune();
  for (const { subject, own } of await store.read((tx) =>
    tx.all<{ subject: string; own: string }>('SELECT subject, own FROM trace_span'),
  )) {
    known.set(subject, own);
  }
  arm();

  function arm(): void {
    cancel = deps.timers.after(pruneEveryMs, () => {
      // What the disk refuses now is removed an hour later.
      prune().then(again, again);
    });
  }

  function again(): void {
    if (!closed) arm();
  }

  /** By age, and by number; a portion in each transaction. */
  async function prune(): Promise<void> {
    let removed = prunedAtOnce;
    while (removed === prunedAtOnce && !closed) removed = await store.write(removeSome);
  }

  function removeSome(tx: Tx): number {
    const all = tx.get<{ n: number }>('SELECT COUNT(*) AS n FROM trace_span')?.n ?? 0;
    const old = tx.all<{ subject: string }>(
      'SELECT subject FROM trace_span WHERE began_at < ? ORDER BY began_at LIMIT ?',
      clock.now() - retentionMs,
      prunedAtOnce,
    );
    const excess = Math.min(prunedAtOnce - old.length, Math.max(0, all - old.length - most));
    const some = tx.all<{ subject: string }>(
      'SELECT subject FROM trace_span WHERE ended_at IS NOT NULL AND began_at >= ? ORDER BY began_at LIMIT ?',
      clock.now() - retentionMs,
      excess,
    );
    const subjects = [...old, ...some].map(({ subject }) => subject);
    for (const subject of subjects) tx.run('DELETE FROM trace_span WHERE subject = ?', subject);
    tx.afterCommit(() => {
      for (const subject of subjects) known.delete(subject);
    });
    return subjects.length;
  }

  function put(tx: Tx, subject: string, row: Pick<SpanRow, 'name' | 'own' | 'parent' | 'ended_at'>): void {
    const now = clock.now();
    tx.run(
      `INSERT INTO trace_span (subject, name, own, parent, began_at, ended_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (subject) DO UPDATE SET name = excluded.name, own = excluded.own, parent = excluded.parent,
         began_at = excluded.began_at, ended_at = excluded.ended_at`,
      subject,
      row.name,
      row.own,
      row.parent,
      now,
      row.ended_at === null ? null : now,
    );
    tx.afterCommit(() => known.set(subject, row.own));
  }

  return {
    begin(tx, subject, name, parent) {
      const before = find(tx, subject);
      if (before?.ended_at === null) return;
      // What is begun again stays in its trace.
      const above = parent ?? before?.parent ?? null;
      const own = telemetry.reserve(above);
      if (own !== null) put(tx, subject, { name, own, parent: above, ended_at: null });
    },
    end(tx, subject, attributes) {
      const row = find(tx, subject);
      if (row === undefined || row.ended_at !== null) return;
      const to = clock.now();
      tx.run('UPDATE trace_span SET ended_at = ? WHERE subject = ?', to, subject);
      const { name, own, parent, began_at: from } = row;
      tx.afterCommit(() => telemetry.past({ name, attributes, own, parent, from, to }));
    },
    join(subject, traceparent) {
      if (known.get(subject) === traceparent) return;
      known.set(subject, traceparent);
      // Lost with the disk's refusal: only a trace has a gap then.
      const row = { name: '', own: traceparent, parent: null, ended_at: 0 };
      store.write((tx) => put(tx, subject, row)).catch(() => {});
    },
    within: (tx, subject) => find(tx, subject)?.own ?? null,
    of: (subject) => known.get(subject) ?? null,
    close() {
      closed = true;
      cancel();
    },
  };
}
