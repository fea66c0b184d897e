/**
 * A stream of server events that survives cuts: one connection at a time, reconnects with `Last-Event-ID`, drops what it has
 * already given where ids are numbers that grow, backs off with jitter, and notices a silent connection by its missing heartbeat.
 * Must not know what the events mean, except `reset` (the cursor is void: re-read everything) and the stream's last event.
 */
import { AppError } from '../contracts/common/errors.ts';
import { createSseParser } from '../contracts/common/sse-parser.ts';

/** Servers send a heartbeat every 15 s; three missed ones mean that the connection is dead. Milliseconds. */
export const silenceLimit = 45_000;
export const firstBackoff = 250;
export const maxBackoffMs = 10_000;

export interface StreamEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}

export type StreamState =
  | { readonly kind: 'connecting' }
  | { readonly kind: 'open' }
  | { readonly kind: 'waiting'; readonly retryInMs: number; readonly error: AppError }
  /** `error` null: closed by us or ended by the stream's last event. */
  | { readonly kind: 'ended'; readonly error: AppError | null };

export interface StreamTimers {
  /** Runs `task` after `ms`; returns the way to forget it. */
  after(ms: number, task: () => void): () => void;
  random(): number;
}

export const systemTimers: StreamTimers = {
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
  random: Math.random,
};

export interface StreamOptions {
  /** Opens the connection; rejects with `AppError`. */
  open(lastEventId: string | null, signal: AbortSignal): Promise<Response>;
  onEvent(event: StreamEvent): void;
  onState?(state: StreamState): void;
  /** Name of the event after which the stream is over (`gone` of a pane). */
  readonly lastEvent?: string;
  /** Start after this event. */
  readonly lastEventId?: string;
  /** Ids are times: several events may have one, and a later event an earlier one. All are given. */
  readonly idsRepeat?: boolean;
  readonly timers?: StreamTimers;
}

export interface EventStream {
  /** Idempotent. */
  close(): void;
  /** Resolves when the stream is over, with the error that ended it or null. Never rejects. */
  readonly ended: Promise<AppError | null>;
  /** The id that a reconnect would name. */
  lastEventId(): string | null;
}

export function openEventStream(options: StreamOptions): EventStream {
  const timers = options.timers ?? systemTimers;
  let lastId = options.lastEventId ?? null;
  let highest = ledgerNumber(lastId);
  let over = false;
  let attempt = 0;
  let connection: AbortController | null = null;
  let forgetTimer: (() => void) | null = null;
  let settle: (error: AppError | null) => void = () => {};
  const ended = new Promise<AppError | null>((resolve) => {
    settle = resolve;
  });

  function finish(error: AppError | null): void {
    if (over) return;
    over = true;
    forgetTimer?.();
    connection?.abort();
    options.onState?.({ kind: 'ended', error });
    settle(error);
  }

  function give(message: { event: string; id: string | null; data: string }): void {
    const data = parseData(message.data);
    if (message.event === 'reset') {
      lastId = message.id;
      highest = ledgerNumber(message.id);
    } else if (message.id !== null) {
      const number = options.idsRepeat === true ? null : ledgerNumber(message.id);
      if (number !== null) {
        if (highest !== null && number <= highest) return;
        highest = number;
      }
      lastId = message.id;
    }
    try {
      options.onEvent({ event: message.event, id: message.id, data });
    } catch (mistake) {
      // A mistake of the listener must neither look like a cut connection nor be lost.
      queueMicrotask(() => {
        throw mistake;
      });
    }
    if (message.event === options.lastEvent) finish(null);
  }

  async function connect(): Promise<void> {
    if (over) return;
    options.onState?.({ kind: 'connecting' });
    const mine = new AbortController();
    connection = mine;
    let forgetSilence: (() => void) | null = null;
    let silent = false;
    const heard = (): void => {
      forgetSilence?.();
      forgetSilence = timers.after(silenceLimit, () => {
        silent = true;
        mine.abort();
      });
    };
    let error = new AppError('transport', 'The event stream was cut.', 'It reconnects automatically.');
    try {
      heard();
      const response = await options.open(lastId, mine.signal);
      if (response.body === null) throw new AppError('transport', 'The event stream has no body.', 'Try again.');
      attempt = 0;
      options.onState?.({ kind: 'open' });
      const parser = createSseParser();
      const decoder = new TextDecoder();
      const reader = response.body.getReader();
      for (;;) {
        const piece = await reader.read();
        if (over || piece.done) break;
        heard();
        for (const message of parser.push(decoder.decode(piece.value, { stream: true }))) {
          give(message);
          if (over) break;
        }
      }
    } catch (cause) {
      if (cause instanceof AppError) error = cause;
      if (silent)
        error = new AppError('transport', 'The event stream was silent for 45 s.', 'It reconnects automatically.');
    } finally {
      (forgetSilence as (() => void) | null)?.();
      mine.abort();
    }
    if (over) return;
    if (isFinal(error)) return finish(error);
    const backoff = Math.min(maxBackoffMs, firstBackoff * 2 ** Math.min(attempt, 10));
    attempt += 1;
    const retryInMs = Math.round((error.options.retryAfter ?? 0) * 1000 + backoff * (0.5 + timers.random() / 2));
    options.onState?.({ kind: 'waiting', retryInMs, error });
    forgetTimer = timers.after(retryInMs, () => void connect());
  }

  void connect();
  return { close: () => finish(null), ended, lastEventId: () => lastId };
}

/** What trying again cannot mend: we are not let in, the thing is not there, or we asked wrongly. */
function isFinal(error: AppError): boolean {
  if (error.status === 429) return false;
  return error.code === 'refused' || error.code === 'not_found' || error.code === 'usage';
}

/** Ledger ids are integers written as text; other ids (approvals) have no order. */
function ledgerNumber(id: string | null): bigint | null {
  return id !== null && /^[0-9]{1,30}$/.test(id) ? BigInt(id) : null;
}

function parseData(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
