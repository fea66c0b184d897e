/**
 * Turns an SDK's error into a {@link ModelFault}. The three SDKs are alike enough in their errors: `status`, `headers`, `message`. Must not know
 * which vendor it was, and never lets a key into a text.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import { type FaultKind, ModelFault } from './model.ts';

interface FaultContext {
  readonly clock: Pick<Clock, 'now'>;
  readonly signal: AbortSignal;
  /** The answer had begun. */
  readonly started: boolean;
  /** The server that was asked: `api.anthropic.com`. */
  readonly where: string;
  readonly secret: string | null;
}

const maxMessageLength = 400;
/** The longest wait that a server can request. */
const maxWaitMs = 7 * 24 * 3600 * 1000;

export function faultOf(error: unknown, context: FaultContext): ModelFault {
  if (error instanceof ModelFault) return error;
  if (context.signal.aborted) return new ModelFault('stopped', 'It was stopped.', { cause: error });
  const { status, words, type } = look(error);
  const said = clean(words, context.secret);
  const { where } = context;
  const fault = (kind: FaultKind, fact: string, retryAt: number | null = null) =>
    new ModelFault(kind, fact, { retryAt, cause: error });

  if (status === 401 || status === 403) return fault('key', `${where} refused the key (${status}): ${said}`);
  if (status === 404) return fault('unknown_model', `${where} does not know this model (404): ${said}`);
  if (status === 429 || type === 'rate_limit_error') {
    return fault(
      'limit',
      `${where} accepts no more requests for now (429): ${said}`,
      retryAt(error, context.clock.now()),
    );
  }
  if (status === 408 || (status !== null && status >= 500) || type === 'overloaded_error' || type === 'api_error') {
    return fault(
      'overloaded',
      `${where} cannot answer now (${status ?? type}): ${said}`,
      retryAt(error, context.clock.now()),
    );
  }
  if (status !== null && status >= 400) return fault('invalid', `${where} rejected this request (${status}): ${said}`);
  if (error instanceof SyntaxError || /JSON|unexpected token|parse/i.test(words)) {
    return fault('garbage', `${where} answered something that cannot be read: ${said}`);
  }
  if (context.started) return fault('cut', `The answer from ${where} broke off partway: ${said}`);
  return fault('unreachable', `${where} cannot be reached: ${said}`);
}

function look(error: unknown): { status: number | null; words: string; type: string | null } {
  if (typeof error !== 'object' || error === null) return { status: null, words: String(error), type: null };
  const { status, message, cause, type } = error as {
    status?: unknown;
    message?: unknown;
    cause?: unknown;
    type?: unknown;
  };
  const own = typeof message === 'string' ? message : String(error);
  // "Connection error." hides the reason: the cause of the cause names it (ECONNREFUSED).
  const inner = deepest(cause);
  return {
    status: typeof status === 'number' && status >= 100 ? status : null,
    words: inner === null || own.includes(inner) ? own : `${own} ${inner}`,
    type: typeof type === 'string' ? type : null,
  };
}

function deepest(cause: unknown): string | null {
  let words: string | null = null;
  for (let depth = 0; depth < 5 && cause instanceof Error; depth += 1) {
    words = (cause as NodeJS.ErrnoException).code ?? cause.message;
    cause = cause.cause;
  }
  return words;
}

function clean(words: string, secret: string | null): string {
  const plain = inWords(words).replace(/\s+/g, ' ').trim();
  const shown = secret === null || secret === '' ? plain : plain.replaceAll(secret, '…');
  if (shown.length > maxMessageLength) return `${shown.slice(0, maxMessageLength)}…`;
  return /[.!?…]$/.test(shown) ? shown : `${shown}.`;
}

/** SDKs put the whole answer behind its status: `401 {"error":{"message":"invalid key"}}`. A person wants its sentence. */
function inWords(words: string): string {
  const start = words.indexOf('{');
  if (start < 0) return words;
  try {
    const { error } = JSON.parse(words.slice(start)) as { error?: { message?: unknown } | string };
    const message = typeof error === 'string' ? error : error?.message;
    return typeof message === 'string' && message.trim() !== '' ? message : words;
  } catch {
    return words;
  }
}

/** From `retry-after(-ms)`, or Google's RetryInfo in the message. */
function retryAt(error: unknown, now: number): number | null {
  const { headers, message } = error as { headers?: unknown; message?: unknown };
  const header = (name: string): string | null => (headers instanceof Headers ? headers.get(name) : null);
  const ms = Number(header('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(ms)) return bounded(now, ms);
  const after = header('retry-after');
  if (after !== null) {
    const seconds = Number(after);
    if (Number.isFinite(seconds)) return bounded(now, seconds * 1000);
    const date = Date.parse(after);
    if (Number.isFinite(date)) return bounded(now, date - now);
  }
  const delay = /"retryDelay"\s*:\s*"(\d+(?:\.\d+)?)s"/.exec(typeof message === 'string' ? message : '');
  return delay === null ? null : bounded(now, Number(delay[1]) * 1000);
}

const bounded = (now: number, ms: number) => now + Math.min(Math.max(ms, 0), maxWaitMs);
