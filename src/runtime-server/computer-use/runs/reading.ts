/**
 * Lists and streams of runs: pages that cost only their own rows, and stored events followed by new ones with no gap between. Must not know what a
 * run does.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { Run, RunEvent, RunStatus } from '../../../contracts/computer-use/run.ts';
import type { SseSink } from '../../../kit/http/types.ts';
import type { Store, Value } from '../../../kit/store/store.ts';
import type { Journal } from './journal.ts';
import { artifactsOf, eventsAfter, type RunRow, runWire } from './records.ts';

interface RunFilter {
  readonly userId: string;
  readonly sessionId?: string | undefined;
  readonly status?: RunStatus | undefined;
}

interface Page {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface Reading {
  list(filter: RunFilter, page: Page): Promise<{ runs: Run[]; next_cursor: string | null }>;
  /** Strictly after `after`. */
  events(runId: string, after: number, page: Page): Promise<{ events: RunEvent[]; next_cursor: string | null }>;
  /** Until the run has ended or the reader leaves. */
  stream(runId: string, after: number, sink: SseSink): Promise<void>;
}

const defaultLimit = 50;
const streamPortion = 100;

export function createReading({ store, journal }: { readonly store: Store; readonly journal: Journal }): Reading {
  return {
    list({ userId, sessionId, status }, { limit = defaultLimit, cursor }) {
      const conditions: [sql: string, value: Value][] = [['user_id = ?', userId]];
      if (sessionId !== undefined) conditions.push(['session_id = ?', sessionId]);
      if (status !== undefined) conditions.push(['status = ?', status]);
      if (cursor !== undefined) conditions.push(['seq < ?', numberOf(cursor)]);
      const sql = `SELECT * FROM computer_use_run WHERE ${conditions.map(([text]) => text).join(' AND ')}
        ORDER BY seq DESC LIMIT ?`;
      return store.read((tx) => {
        const rows = tx.all<RunRow>(sql, ...conditions.map(([, value]) => value), limit + 1);
        const shown = rows.slice(0, limit);
        return {
          runs: shown.map((row) => runWire(row, artifactsOf(tx, row.id))),
          next_cursor: rows.length > limit ? cursorOf(shown.at(-1)!.seq) : null,
        };
      });
    },
    events(runId, after, { limit = defaultLimit, cursor }) {
      const from = cursor === undefined ? after : Math.max(after, numberOf(cursor));
      return store.read((tx) => {
        const rows = eventsAfter(tx, runId, from, limit + 1);
        const shown = rows.slice(0, limit);
        return { events: shown, next_cursor: rows.length > limit ? cursorOf(shown.at(-1)!.index) : null };
      });
    },
    async stream(runId, after, sink) {
      // Before the first look: later events are announced.
      let more = true;
      let woken = Promise.withResolvers<void>();
      const wake = () => {
        more = true;
        woken.resolve();
      };
      const stopListening = journal.listen(runId, wake);
      sink.signal.addEventListener('abort', wake, { once: true });
      sink.open();
      let last = after;
      try {
        while (!sink.signal.aborted) {
          more = false;
          const portion = await store.read((tx) => eventsAfter(tx, runId, last, streamPortion));
          for (const event of portion) {
            last = event.index;
            if (!sink.send({ id: String(event.index), data: event })) await sink.drained();
            if (sink.signal.aborted) return;
            if (event.event_type === 'run.ended') return sink.close();
          }
          if (portion.length > 0 || more) continue;
          // A reader that has had the last event already.
          if (await hasLast(runId, last)) return sink.close();
          if (!more) await woken.promise;
          woken = Promise.withResolvers();
        }
      } finally {
        stopListening();
        sink.signal.removeEventListener('abort', wake);
      }
    },
  };

  async function hasLast(runId: string, last: number): Promise<boolean> {
    const row = await store.read((tx) =>
      tx.get<{ next_event: number; finished_at: number | null }>(
        'SELECT next_event, finished_at FROM computer_use_run WHERE id = ?',
        runId,
      ),
    );
    return row === undefined || (row.finished_at !== null && last >= row.next_event - 1);
  }
}

const cursorOf = (position: number) => Buffer.from(String(position)).toString('base64url');

function numberOf(cursor: string): number {
  const text = Buffer.from(cursor, 'base64url').toString('utf8');
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new AppError(
    'usage',
    `${JSON.stringify(cursor.slice(0, 60))} is not a cursor of this list.`,
    'Use `next_cursor` of an answer.',
    { wireCode: 'invalid_request' },
  );
}

/** `Last-Event-ID` and `after_index` both mean strictly after; the larger wins. -1: from the beginning. */
export function afterOf(header: string | string[] | undefined, index: number | undefined): number {
  const id = typeof header === 'string' && /^\d{1,15}$/.test(header) ? Number(header) : -1;
  return Math.max(id, index ?? -1);
}
