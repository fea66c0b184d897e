/**
 * The event stream: ledger rows from a cursor, then the tail, and the live-only states of agents between them
 * (interface.md "Factory event stream"; factory.md 5.4). It reads from the ledger as fast as the client takes, so nothing is
 * buffered, nothing is skipped and nothing comes twice. Must not know HTTP beyond the sink.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import { eventOfRow, eventRowTypes } from './records.ts';
import type { AgentStateChange } from './registry.ts';

/** Rows read at once. */
const batch = 100;

export interface EventSink {
  open(): void;
  send(event: { event?: string; id?: string; data: unknown }): boolean;
  drained(): Promise<void>;
  readonly signal: AbortSignal;
}

export interface EventStreamDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly onState: (listener: (change: AgentStateChange) => void) => () => void;
}

export interface Cursors {
  readonly after: string | undefined;
  readonly lastEventId: string | undefined;
}

type Start = { readonly at: string; readonly reset: string | null };

/** Runs until the client leaves. Throws `usage` for a bad cursor, before anything is sent. */
export async function streamEvents(deps: EventStreamDeps, cursors: Cursors, sink: EventSink): Promise<void> {
  const { ledger } = deps;
  // States are latest-only: an agent that changes faster than the client reads shows its newest.
  const states = new Map<string, { change: AgentStateChange; at: string }>();
  let wake = () => {};
  let woken = false;
  const rouse = () => {
    woken = true;
    wake();
  };
  const offState = deps.onState((change) => {
    states.set(change.agentId, { change, at: iso(deps.clock.now()) });
    rouse();
  });
  const offLedger = ledger.onAppend(rouse);
  sink.signal.addEventListener('abort', rouse, { once: true });
  try {
    const start = await startOf(ledger, cursors);
    sink.open();
    let cursor = start.at;
    if (start.reset !== null) {
      const data = { type: 'reset', at: iso(deps.clock.now()), data: { reason: start.reset } };
      sink.send({ event: 'reset', id: cursor, data });
    }
    while (!sink.signal.aborted) {
      woken = false;
      const rows = await ledger.read(cursor, batch, eventRowTypes);
      for (const row of rows) {
        const event = eventOfRow(row);
        if (event !== null && !sink.send({ id: row.id, data: event })) await sink.drained();
        cursor = row.id;
      }
      for (const [agentId, { change, at }] of states) {
        states.delete(agentId);
        if (!sink.send({ data: { type: 'agent.state', at, data: change } })) await sink.drained();
      }
      if (rows.length === batch || woken || sink.signal.aborted) continue;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    offState();
    offLedger();
  }
}

async function startOf(ledger: Ledger, cursors: Cursors): Promise<Start> {
  const given = [cursors.after, cursors.lastEventId].filter(
    (cursor): cursor is string => cursor !== undefined && cursor !== '',
  );
  for (const cursor of given) checkCursor(cursor);
  if (given.length === 0) return { at: await ledger.head(), reset: null };
  const numbers = given.filter((cursor) => /^\d+$/.test(cursor)).map(BigInt);
  const largest = numbers.reduce<bigint | null>((a, b) => (a === null || b > a ? b : a), null);
  const cursor = largest === null ? null : String(largest);
  if (cursor !== null && (cursor === '0' || (await ledger.knows(cursor)))) return { at: cursor, reset: null };
  // An id of an approval, or of another engine's ledger: what came before it here is not known.
  return { at: await ledger.head(), reset: `The event ${given.join(' or ')} is not known here.` };
}

function checkCursor(cursor: string): void {
  if (/^\d{1,19}$/.test(cursor) || /^engine_[0-9A-Za-z]+~apr-[A-Za-z0-9_-]+$/.test(cursor)) return;
  throw new AppError(
    'usage',
    `"${cursor.slice(0, 60)}" is no event id.`,
    'Use the id of an event of this stream, or none to start now.',
  );
}
