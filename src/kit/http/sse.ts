/**
 * Server-sent events: flushed at once, never buffered or compressed on the way, a comment every 15 s. A reader that does not read is cut off before
 * it fills our memory; it reconnects with its last id. First user: pane and event streams; second: computer-use runs. Must not know what is sent.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import type { SseEvent, SseSink } from './types.ts';

/** How much may be queued for one reader before it is cut off. A single larger event is still sent. */
const maxBuffered = 256 * 1024;
const heartbeatMs = 15_000;
/** Streams that get their heartbeat before the loop gets a turn: a few milliseconds. */
const slice = 500;

interface SseStreams {
  create(request: IncomingMessage, response: ServerResponse, headers: Readonly<Record<string, string>>): OpenSink;
  /** Ends every stream with a last `closing` event. */
  close(reason: string): void;
  readonly size: number;
}

interface OpenSink extends SseSink {
  /** Whether headers have been sent: from here on no error response is possible. */
  readonly opened: boolean;
  /** Releases a stream whose handler failed, without touching the response. */
  abandon(): void;
}

/** One event in its wire form; several may be sent in one {@link SseSink.sendText}. */
export function eventText({ event, id, data }: SseEvent): string {
  let text = '';
  if (event !== undefined) text += `event: ${event}\n`;
  if (id !== undefined && id !== '') text += `id: ${id}\n`;
  // JSON has no raw line breaks, so one data line is always enough.
  return `${text}data: ${JSON.stringify(data)}\n\n`;
}

/** A comment without content. */
const beat = ':\n\n';

/** `onFault` gets the reason why a stream was cut off after it had begun. */
export function createSseStreams(onFault: (error: unknown) => void): SseStreams {
  const open = new Set<Sink>();
  let timer: NodeJS.Timeout | undefined;

  const add = (stream: Sink) => {
    open.add(stream);
    // One timer for all streams, only while there are any: it must not keep the process alive.
    timer ??= setInterval(() => void beatAll(), heartbeatMs).unref();
  };
  const beatAll = async () => {
    let beaten = 0;
    for (const each of open) {
      each.beat();
      beaten += 1;
      if (beaten % slice === 0) await turn();
    }
  };
  const remove = (stream: Sink) => {
    open.delete(stream);
    if (open.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };

  const shared: Shared = { remove, onFault };
  return {
    create: (request, response, headers) => {
      const sink = new Sink(request, response, headers, shared);
      add(sink);
      return sink;
    },
    close(reason) {
      for (const stream of [...open]) stream.finish(reason);
    },
    get size() {
      return open.size;
    },
  };
}

interface Shared {
  readonly remove: (sink: Sink) => void;
  readonly onFault: (error: unknown) => void;
}

/** A class for its size: there may be ten thousand, and closures would weigh more than their content. */
class Sink implements OpenSink {
  opened = false;
  ended = false;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #shared: Shared;
  #headers: Readonly<Record<string, string>> | undefined;
  readonly #enders: (() => void)[] = [];
  /** Time for the client to receive what was sent. */
  readonly #waiting: (() => void)[] = [];
  #gone: AbortController | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    shared: Shared,
  ) {
    this.#request = request;
    this.#response = response;
    this.#headers = headers;
    this.#shared = shared;
    response.on('close', () => this.abandon());
  }

  get signal(): AbortSignal {
    if (this.#gone === undefined) {
      this.#gone = new AbortController();
      if (this.ended) this.#gone.abort();
    }
    return this.#gone.signal;
  }

  open(): void {
    if (this.opened || this.ended) return;
    this.opened = true;
    this.#request.socket.setNoDelay(true);
    this.#response.writeHead(200, {
      ...this.#headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    });
    this.#headers = undefined;
    // A comment rather than bare headers: some readers report "open" only with the first byte of the body.
    this.#response.write(beat);
  }

  send(event: SseEvent): boolean {
    return this.sendText(eventText(event));
  }

  sendText(text: string): boolean {
    this.open();
    if (this.ended) return false;
    if (this.#response.writableLength > maxBuffered) {
      this.#response.destroy();
      this.abandon();
      return false;
    }
    return this.#response.write(text);
  }

  beat(): void {
    if (this.opened) this.sendText(beat);
  }

  drained(): Promise<void> {
    if (this.ended || !this.#response.writableNeedDrain) return Promise.resolve();
    if (this.#waiting.length === 0) this.#response.once('drain', () => this.#wake());
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  close(): void {
    if (this.ended) return;
    this.#response.end();
    this.abandon();
  }

  fail(error: unknown): void {
    if (this.ended) return;
    this.#shared.onFault(error);
    this.#response.destroy();
    this.abandon();
  }

  finish(reason: string): void {
    if (this.opened && !this.ended) this.#response.write(eventText({ event: 'closing', data: { reason } }));
    this.#response.end();
    this.abandon();
  }

  abandon(): void {
    if (this.ended) return;
    this.ended = true;
    this.#shared.remove(this);
    this.#gone?.abort();
    this.#wake();
    for (const listener of this.#enders) listener();
  }

  onEnd(listener: () => void): void {
    if (this.ended) listener();
    else this.#enders.push(listener);
  }
}
