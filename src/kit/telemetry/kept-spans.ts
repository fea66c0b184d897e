/**
 * Spans of what lasts longer than a process may live, such as a run or an approval: kept beside it, in its own transaction, and sent by whichever
 * process sees it end. Owns `trace_span`; must not know what its subjects are.
 */
import type { Clock } from '../clock/clock.ts';
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
}

const retentionMs = 30 * 24 * 3_600_000;

export async function createKeptSpans(deps: {
  readonly store: Store;
  readonly clock: Clock;
  readonly telemetry: Pick<Telemetry, 'reserve' | 'past'>;
}): Promise<KeptSpans> {
  const { store, clock, telemetry } = deps;
  const find = (tx: Pick<Tx, 'get'>, subject: string) =>
    tx.get<SpanRow>('SELECT * FROM trace_span WHERE subject = ?', subject);
  const known = await store.write((tx) => {
    tx.run('DELETE FROM trace_span WHERE began_at < ?', clock.now() - retentionMs);
    const rows = tx.all<{ subject: string; own: string }>('SELECT subject, own FROM trace_span');
    return new Map(rows.map(({ subject, own }) => [subject, own]));
  });

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
  };
}
