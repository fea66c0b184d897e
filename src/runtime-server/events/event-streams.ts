/**
 * The event streams: ledger rows from a cursor, then the tail, with the live-only states of agents between them. A stream that is
 * behind reads from the ledger as fast as its client takes, so nothing is buffered, skipped or sent twice; streams at the tail
 * share one reading. Must not know HTTP beyond the sink.
 */
import { setImmediate as turn } from 'node:timers/promises';
import { AppError } from '../../contracts/common/errors.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import { eventRowTypes } from './event-rows.ts';
import { batch, createEventTail, type EventStreamDeps, type EventTail, type Place, rowText } from './event-tail.ts';

/** Streams that are written to before the loop gets a turn: some 5 ms. */
const slice = 250;

interface EventSink {
  open(): void;
  send(event: { event?: string; id?: string; data: unknown }): boolean;
  sendText(text: string): boolean;
  drained(): Promise<void>;
  readonly ended: boolean;
  fail(error: unknown): void;
  onEnd(listener: () => void): void;
}

interface Cursors {
  readonly after: string | undefined;
  readonly lastEventId: string | undefined;
}

interface EventStreams {
  /** Begins the stream; it lasts until the client leaves. Throws `usage` for a bad cursor, before anything is sent. */
  stream(cursors: Cursors, sink: EventSink): Promise<void>;
}

type Start = { readonly at: string; readonly reset: string | null };

interface Reader {
  readonly sink: EventSink;
  place: Place;
  /** It waits for its client, or reads rows that the tail no longer has. */
  busy: boolean;
}

export function createEventStreams(deps: EventStreamDeps): EventStreams {
  const { ledger, clock } = deps;
  const readers = new Set<Reader>();
  /** With those that have not begun to read. */
  let present = 0;
  let tail: EventTail | undefined;
  let offLedger = () => {};
  let newest = '0';
  let running = false;
  let again = false;

  /** The tail lives as long as it has readers. */
  async function join(): Promise<EventTail> {
    if (tail !== undefined) return tail;
    const head = await ledger.head();
    if (tail !== undefined) return tail;
    tail = createEventTail(deps, Number(head), advance);
    offLedger = ledger.onAppend((id) => {
      newest = id;
      advance();
    });
    // Rows written since the head was read woke no reader.
    advance();
    return tail;
  }

  function leave(): void {
    present -= 1;
    if (present > 0 || tail === undefined) return;
    offLedger();
    tail.close();
    tail = undefined;
  }

  function advance(): void {
    again = true;
    if (!running) void run();
  }

  async function run(): Promise<void> {
    running = true;
    try {
      while (again && tail !== undefined) {
        again = false;
        await tail.read(newest);
        await tellAll(tail);
      }
    } catch (error) {
      // Unreadable rows cannot be sent: waiting readers get the error, and reconnect.
      for (const reader of [...readers]) reader.sink.fail(error);
    } finally {
      running = false;
    }
  }

  async function tellAll(from: EventTail): Promise<void> {
    let told = 0;
    let behind = false;
    for (const reader of readers) {
      if (!reader.busy) pump(reader, from);
      behind ||= reader.busy;
      told += 1;
      if (told % slice === 0) await turn();
    }
    if (!behind && !again && readers.size === present) from.forgetStates();
  }

  /** Sends what there is, as long as the client takes it. */
  function pump(reader: Reader, from: EventTail): void {
    while (!reader.sink.ended) {
      const portion = from.after(reader.place);
      if (portion === null) {
        settle(reader, from, catchUp(reader, from));
        return;
      }
      reader.place = portion.upTo;
      if (portion.text === '') return;
      if (!reader.sink.sendText(portion.text)) {
        settle(reader, from, reader.sink.drained());
        return;
      }
    }
  }

  function settle(reader: Reader, from: EventTail, work: Promise<void>): void {
    reader.busy = true;
    work.then(
      () => {
        reader.busy = false;
        pump(reader, from);
      },
      (error) => reader.sink.fail(error),
    );
  }

  /** Rows that the tail no longer has, from the ledger itself. */
  async function catchUp(reader: Reader, from: EventTail): Promise<void> {
    const { sink } = reader;
    while (!sink.ended) {
      // All rows up to here are in the read below.
      const { head } = from;
      const rows = await ledger.read(String(reader.place.row), batch, eventRowTypes);
      let text = '';
      for (const row of rows) text += rowText(row);
      const last = rows.length < batch ? Math.max(head, Number(rows.at(-1)?.id ?? 0)) : Number(rows.at(-1)?.id);
      reader.place = { row: Math.max(last, reader.place.row), state: reader.place.state };
      if (text !== '' && !sink.sendText(text)) await sink.drained();
      if (rows.length < batch) return;
    }
  }

  return {
    async stream(cursors, sink) {
      for (const cursor of given(cursors)) checkCursor(cursor);
      present += 1;
      sink.onEnd(leave);
      const from = await join();
      const { state } = from;
      const start = await startOf(ledger, cursors);
      sink.open();
      if (start.reset !== null) {
        const data = { type: 'reset', at: iso(clock.now()), data: { reason: start.reset } };
        sink.send({ event: 'reset', id: start.at, data });
      }
      const reader: Reader = { sink, place: { row: Number(start.at), state }, busy: false };
      readers.add(reader);
      sink.onEnd(() => readers.delete(reader));
      pump(reader, from);
    },
  };
}

function given({ after, lastEventId }: Cursors): string[] {
  return [after, lastEventId].filter((cursor): cursor is string => cursor !== undefined && cursor !== '');
}

async function startOf(ledger: Ledger, cursors: Cursors): Promise<Start> {
  const all = given(cursors);
  if (all.length === 0) return { at: await ledger.head(), reset: null };
  const numbers = all.filter((cursor) => /^\d+$/.test(cursor)).map(BigInt);
  const largest = numbers.reduce<bigint | null>((a, b) => (a === null || b > a ? b : a), null);
  const cursor = largest === null ? null : String(largest);
  if (cursor !== null && (cursor === '0' || (await ledger.knows(cursor)))) return { at: cursor, reset: null };
  // An id of an approval, or of another engine's ledger: its place here is unknown.
  return { at: await ledger.head(), reset: `The event ${all.join(' or ')} is unknown here.` };
}

function checkCursor(cursor: string): void {
  if (/^\d{1,19}$/.test(cursor) || /^engine_[0-9A-Za-z]+~apr-[A-Za-z0-9_-]+$/.test(cursor)) return;
  throw new AppError(
    'usage',
    `"${cursor.slice(0, 60)}" is not an event id.`,
    'Use the id of an event of this stream, or leave it out to start now.',
  );
}
