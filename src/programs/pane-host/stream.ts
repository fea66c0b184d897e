/**
 * A cursor that follows a pane's journal at the reader's pace: the next piece leaves when the last one has left. A reader that falls behind the
 * journal gets a drawing of the pane and continues from there.
 */
import type { Host } from './host.ts';

/** Bytes of one piece: large enough to cost little, small enough to share a socket with screens. */
const piece = 64 * 1024;

type StreamEvent =
  | { readonly ev: 'data'; readonly offset: number }
  | { readonly ev: 'snapshot'; readonly offset: number; readonly cols: number; readonly rows: number }
  | { readonly ev: 'end'; readonly offset: number };

export interface Stream {
  readonly pane: string;
  /** Sends what there is, unless a piece is on its way. */
  pump(): void;
  close(): void;
}

export function createStream(options: {
  readonly host: Host;
  readonly pane: string;
  readonly from: number | 'snapshot';
  readonly tell: (event: StreamEvent, tail: Uint8Array | undefined, left: () => void) => void;
}): Stream {
  const { host, pane, tell } = options;
  let cursor: number | null = options.from === 'snapshot' ? null : options.from;
  let busy = false;
  let closed = false;

  function left(): void {
    busy = false;
    stream.pump();
  }
  function sendSnapshot(): void {
    const live = host.find(pane);
    if (!live) {
      // Nothing to draw on: the oldest bytes still held come first.
      cursor = 0;
      stream.pump();
      return;
    }
    const { offset, ansi, cols, rows } = live.snapshot();
    cursor = offset;
    busy = true;
    tell({ ev: 'snapshot', offset, cols, rows }, Buffer.from(ansi, 'utf8'), left);
  }

  const stream: Stream = {
    pane,
    pump() {
      if (busy || closed) return;
      if (cursor === null) {
        sendSnapshot();
        return;
      }
      const { start, bytes, end, live } = host.read(pane, cursor, piece);
      if (bytes.length > 0) {
        if (start > cursor && live) {
          sendSnapshot();
          return;
        }
        cursor = start + bytes.length;
        busy = true;
        tell({ ev: 'data', offset: start }, bytes, left);
      } else if (!live && cursor >= end) {
        closed = true;
        tell({ ev: 'end', offset: end }, undefined, () => {});
      }
    },
    close() {
      closed = true;
    },
  };
  return stream;
}
