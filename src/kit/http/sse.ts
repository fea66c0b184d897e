/**
 * Server-sent events (factory.md 5.4): flushed at once, never buffered or compressed by anybody between, a comment every
 * 15 s, and a reader that does not read is cut off instead of filling our memory: it comes back with its last id.
 * First user: pane and event streams; second: computer-use runs. Must not know what is sent.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SseSink } from './types.ts';

/** What may wait for one reader before it is cut off (security.md 4, row 16). A single larger event still goes out. */
export const maxBuffered = 256 * 1024;
const heartbeatMs = 15_000;

export interface SseStreams {
  create(request: IncomingMessage, response: ServerResponse, headers: Readonly<Record<string, string>>): OpenSink;
  /** Ends every stream with a last `closing` event. */
  close(reason: string): void;
  readonly size: number;
}

export interface OpenSink extends SseSink {
  /** Whether headers have gone out: from here on an error can no longer be answered. */
  readonly opened: boolean;
  /** Lets go of a stream whose handler failed, without touching the response. */
  abandon(): void;
  /** Runs once when the stream is over, whoever ended it. */
  onEnd(listener: () => void): void;
}

interface Stream {
  beat(): void;
  finish(reason: string): void;
}

export function createSseStreams(): SseStreams {
  const open = new Set<Stream>();
  let timer: NodeJS.Timeout | undefined;

  const add = (stream: Stream) => {
    open.add(stream);
    // One timer for all streams, only while there are any: it must not keep the process alive.
    timer ??= setInterval(() => {
      for (const each of open) each.beat();
    }, heartbeatMs).unref();
  };
  const remove = (stream: Stream) => {
    open.delete(stream);
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  return {
    create: (request, response, headers) => createSink(request, response, headers, add, remove),
    close(reason) {
      for (const stream of [...open]) stream.finish(reason);
    },
    get size() {
      return open.size;
    },
  };
}

function createSink(
  request: IncomingMessage,
  response: ServerResponse,
  headers: Readonly<Record<string, string>>,
  add: (stream: Stream) => void,
  remove: (stream: Stream) => void,
): OpenSink {
  const gone = new AbortController();
  const enders: (() => void)[] = [];
  let opened = false;
  let ended = false;

  const end = () => {
    if (ended) return;
    ended = true;
    remove(stream);
    gone.abort();
    for (const listener of enders) listener();
  };
  const write = (text: string): boolean => {
    if (ended) return false;
    if (response.writableLength > maxBuffered) {
      response.destroy();
      end();
      return false;
    }
    return response.write(text);
  };
  const start = () => {
    if (opened || ended) return;
    opened = true;
    request.socket.setNoDelay(true);
    response.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    // A comment rather than bare headers: some readers report "open" only with the first byte of the body.
    response.write(':\n\n');
  };
  const stream: Stream = {
    beat: () => {
      if (opened) write(':\n\n');
    },
    finish: (reason) => {
      if (opened && !ended) response.write(`event: closing\ndata: ${JSON.stringify({ reason })}\n\n`);
      response.end();
      end();
    },
  };
  response.once('close', end);
  add(stream);

  return {
    signal: gone.signal,
    get opened() {
      return opened;
    },
    open: start,
    send({ event, id, data }) {
      start();
      let text = '';
      if (event !== undefined) text += `event: ${event}\n`;
      if (id !== undefined && id !== '') text += `id: ${id}\n`;
      // JSON has no raw line breaks, so one data line is always enough.
      return write(`${text}data: ${JSON.stringify(data)}\n\n`);
    },
    drained() {
      if (ended || !response.writableNeedDrain) return Promise.resolve();
      return new Promise((resolve) => {
        const done = () => {
          response.off('drain', done);
          gone.signal.removeEventListener('abort', done);
          resolve();
        };
        response.once('drain', done);
        gone.signal.addEventListener('abort', done, { once: true });
      });
    },
    close() {
      if (ended) return;
      response.end();
      end();
    },
    abandon: end,
    onEnd(listener) {
      if (ended) listener();
      else enders.push(listener);
    },
  };
}
