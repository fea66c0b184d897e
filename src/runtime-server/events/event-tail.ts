/**
 * The newest events and states as the texts that all streams send: read from the ledger once and serialised once, however many streams are at the
 * tail. Must not know its readers.
 */

import type { AgentState, PaneRef } from '../../contracts/factory/agent.ts';
import { iso } from '../../kit/clock/clock.ts';
import { eventText } from '../../kit/http/sse.ts';
import type { LedgerRow } from '../../kit/ledger/ledger.ts';
import type { Base } from '../base/base.ts';
import { eventOfRow, eventRowTypes } from './event-rows.ts';

/** Rows read, and sent, at once. */
export const batch = 100;
/** Rows kept for readers a little behind; further back the ledger itself is read. */
const kept = 500;

/** A bot's current state. */
export interface AgentStateChange {
  readonly agentId: string;
  readonly state: AgentState;
  readonly pane: PaneRef | null;
}

export interface EventStreamDeps extends Pick<Base, 'ledger' | 'clock'> {
  readonly onState: (listener: (change: AgentStateChange) => void) => () => void;
}

/** A stream's position: the newest row it has sent or passed, and the newest state. */
export interface Place {
  readonly row: number;
  readonly state: number;
}

interface Portion {
  readonly text: string;
  readonly upTo: Place;
}

export interface EventTail {
  /** The newest row that has been read. */
  readonly head: number;
  /** The newest state. */
  readonly state: number;
  /** Reads new rows, up to `head` at least. */
  read(head: string): Promise<void>;
  /** Entries after a place, at most {@link batch} rows at once; null where it lies too far back. States come after the last row. */
  after(place: Place): Portion | null;
  /** Every stream has sent every state: they need not be kept. */
  forgetStates(): void;
  close(): void;
}

interface Row {
  readonly seq: number;
  readonly text: string;
}

export function rowText(row: LedgerRow): string {
  const event = eventOfRow(row);
  return event === null ? '' : eventText({ id: row.id, data: event });
}

/** Begins at the ledger's head. `onNews` reports new rows and states. */
export function createEventTail(deps: EventStreamDeps, from: number, onState: () => void): EventTail {
  const { ledger, clock } = deps;
  const rows: Row[] = [];
  /** Everything after this is in {@link rows}. */
  let start = from;
  let head = from;
  // States are latest-only: an agent that changes faster than a client reads shows its newest. In order of their numbers.
  const states = new Map<string, { readonly number: number; readonly text: string }>();
  let state = 0;
  // Nearly all streams are at the same place.
  let last: { readonly from: Place; readonly head: number; readonly state: number; readonly portion: Portion } | null =
    null;

  const off = deps.onState((change) => {
    state += 1;
    states.delete(change.agentId);
    const data = { type: 'agent.state', at: iso(clock.now()), data: change };
    states.set(change.agentId, { number: state, text: eventText({ data }) });
    onState();
  });

  function portionAfter(place: Place): Portion {
    let index = rows.length;
    while (index > 0 && (rows[index - 1] as Row).seq > place.row) index -= 1;
    const found = rows.slice(index, index + batch);
    let text = '';
    for (const row of found) text += row.text;
    if (index + batch < rows.length) return { text, upTo: { row: (found.at(-1) as Row).seq, state: place.state } };
    if (place.state < state) for (const each of states.values()) if (each.number > place.state) text += each.text;
    return { text, upTo: { row: Math.max(head, place.row), state } };
  }

  return {
    get head() {
      return head;
    },
    get state() {
      return state;
    },
    async read(upTo) {
      let read: readonly LedgerRow[];
      do {
        read = await ledger.read(String(head), batch, eventRowTypes);
        for (const row of read) {
          const seq = Number(row.id);
          rows.push({ seq, text: rowText(row) });
          head = seq;
        }
      } while (read.length === batch);
      head = Math.max(head, Number(upTo));
      if (rows.length > 2 * kept) start = (rows.splice(0, rows.length - kept).at(-1) as Row).seq;
    },
    after(place) {
      if (place.row < start) return null;
      const same = last !== null && last.from.row === place.row && last.from.state === place.state;
      if (!same || last?.head !== head || last.state !== state) {
        last = { from: place, head, state, portion: portionAfter(place) };
      }
      return last.portion;
    },
    forgetStates: () => states.clear(),
    close: off,
  };
}
