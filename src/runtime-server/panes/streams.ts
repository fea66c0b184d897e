/** Readers that follow a pane's bytes. Each knows its position, so that it continues there after the host was away. */
import type { Event } from '../../programs/pane-host/protocol.ts';
import type { PaneReader } from './pane-engine.ts';

interface OpenStream {
  readonly number: number;
  readonly pane: string;
  readonly from: number | 'snapshot';
}

interface Streams {
  open(pane: string, from: number | 'snapshot', reader: PaneReader): OpenStream;
  /** Those to request from the host (again), each from its position. */
  all(): OpenStream[];
  close(number: number): boolean;
  event(event: Extract<Event, { stream: number }>, tail: Uint8Array): void;
  fail(number: number, reason: string): void;
}

export function createStreams(): Streams {
  const open = new Map<number, { readonly pane: string; readonly reader: PaneReader; from: number | 'snapshot' }>();
  let last = 0;
  return {
    open(pane, from, reader) {
      const number = ++last;
      open.set(number, { pane, reader, from });
      return { number, pane, from };
    },
    all: () => [...open].map(([number, { pane, from }]) => ({ number, pane, from })),
    close: (number) => open.delete(number),
    event(event, tail) {
      const stream = open.get(event.stream);
      if (!stream) return;
      if (event.ev === 'data') {
        stream.from = event.offset + tail.length;
        stream.reader.onBytes(event.offset, tail);
      } else if (event.ev === 'snapshot') {
        stream.from = event.offset;
        stream.reader.onSnapshot(event.offset, { cols: event.cols, rows: event.rows }, tail);
      } else {
        open.delete(event.stream);
        stream.reader.onEnd(null);
      }
    },
    fail(number, reason) {
      const stream = open.get(number);
      open.delete(number);
      stream?.reader.onEnd(reason);
    },
  };
}
