/** Merges approval events into the runtime's stream between the runtime's events, without reading any. Must not know what the events mean. */
import { Transform } from 'node:stream';

interface MergedStream {
  readonly stream: Transform;
  /** Sends a whole event as soon as no event of the runtime is half written. */
  inject(event: { readonly id: string; readonly data: unknown }): void;
}

const newline = 10;

export function createMergedStream(): MergedStream {
  let waiting = '';
  let between = true;
  let afterNewline = false;
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const end = lastEnd(chunk, afterNewline);
      between = end === chunk.length;
      afterNewline = chunk[chunk.length - 1] === newline;
      if (waiting === '' || end < 0) done(null, chunk);
      else {
        this.push(chunk.subarray(0, end));
        this.push(waiting);
        waiting = '';
        done(null, chunk.subarray(end));
      }
    },
  });
  return {
    stream,
    inject({ id, data }) {
      const text = `id: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
      if (stream.destroyed || stream.writableEnded) return;
      if (between) stream.push(text);
      else waiting += text;
    },
  };
}

/** Where the last event that ends in this chunk ends; -1 when none does. */
function lastEnd(chunk: Buffer, afterNewline: boolean): number {
  const pair = chunk.lastIndexOf('\n\n');
  if (pair >= 0) return pair + 2;
  return afterNewline && chunk[0] === newline ? 1 : -1;
}
