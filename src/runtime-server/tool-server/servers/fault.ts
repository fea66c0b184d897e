/**
 * Failures at a server, as kinds by which a connection decides and messages that a person reads. Reads the SDK's errors by their shape, so that no
 * caller needs its classes. Pure.
 */
import { AppError } from '../../../contracts/common/errors.ts';

type FaultKind =
  /** It requires a sign-in. */
  | 'unauthorized'
  /** It does not know our session any more: nothing was done. */
  | 'session'
  /** It did not answer in time. */
  | 'timeout'
  /** Its answer is an error, or cannot be read; the connection is as good as before. */
  | 'answer'
  /** There is no connection, or it has ended. */
  | 'connection';

/** The challenge of a refusal, for the part that signs in. */
export interface Challenge {
  readonly status: number;
  readonly wwwAuthenticate: string | null;
  /** The token that was sent; null for none. */
  readonly token: string | null;
}

export class UpstreamFault extends Error {
  readonly kind: FaultKind;
  readonly challenge: Challenge | null;
  /** Its answer reports that our session is gone, but a tool may have run and written that: the list shows which is true. */
  readonly doubtsSession: boolean = false;

  constructor(
    kind: FaultKind,
    message: string,
    cause?: unknown,
    challenge: Challenge | null = null,
    doubtsSession = false,
  ) {
    super(message, { cause });
    this.kind = kind;
    this.challenge = challenge;
    this.doubtsSession = doubtsSession;
  }
}

const maxWordsLength = 600;

/**
 * Messages of servers that no longer know a session: those of the official SDKs, and of frameworks around them. A restarted server sends the last
 * one, since no client has initialized with it.
 */
const sessionGone = [
  /\b(?:no valid|no such|no active|not a valid|invalid|unknown|missing|expired|stale|unrecogni[sz]ed) (?:mcp[- _])?session/i,
  /\bsession(?:[ _-]?id)?\b[^.]{0,80}\b(?:not found|not valid|not exist|not recogni[sz]ed|unknown|invalid|expired|required|missing|no longer|terminated|closed)\b/i,
  /\b(?:server|session|client|connection)\b[^.]{0,20}\bnot (?:yet )?(?:been )?initiali[sz]ed|\bbefore initiali[sz]ation/i,
];
const saysSessionGone = (words: string) => sessionGone.some((pattern) => pattern.test(words));

interface FaultContext {
  /** A session was given out, so that a 404 can mean it. */
  readonly session: boolean;
  /** Only a list was requested: a report that the session is gone is about ours. */
  readonly listing?: boolean;
  /** Of the last refusal. */
  readonly challenge: Challenge | null;
}

export function faultOf(error: unknown, { session, listing = false, challenge }: FaultContext): UpstreamFault {
  if (error instanceof UpstreamFault) return error;
  if (error instanceof AppError) return new UpstreamFault('connection', `${error.fact} ${error.action}`.trim(), error);
  const { name, code, message, data } = error as {
    name?: string;
    code?: unknown;
    message?: string;
    data?: { status?: unknown };
  };
  const status = typeof data?.status === 'number' ? data.status : null;
  const words = (message ?? String(error)).slice(0, maxWordsLength);
  if (name === 'UnauthorizedError' || name === 'InsufficientScopeError' || status === 401 || status === 403) {
    return new UpstreamFault('unauthorized', words, error, challenge);
  }
  if ((status === 404 || status === 410) && session) return new UpstreamFault('session', words, error);
  const gone = (status !== null || typeof code === 'number') && saysSessionGone(words);
  // A status of 4xx refuses the request before a tool sees it. Any other answer may be the tool's own.
  const refused = status !== null && status >= 400 && status < 500;
  if (gone && (refused || listing)) return new UpstreamFault('session', words, error);
  if (gone) return new UpstreamFault('answer', words, error, null, true);
  // Any other status is an answer: the next request may succeed.
  if (status !== null) return new UpstreamFault('answer', words, error);
  if (code === 'REQUEST_TIMEOUT') return new UpstreamFault('timeout', words, error);
  if (typeof code === 'number' || code === 'INVALID_RESULT' || code === 'UNSUPPORTED_RESULT_TYPE') {
    return new UpstreamFault('answer', words, error);
  }
  // Its bytes came, and are no JSON-RPC.
  if (name === 'ZodError' || name === 'SyntaxError' || code === 'CLIENT_HTTP_UNEXPECTED_CONTENT') {
    const what = name === 'ZodError' ? 'it is not JSON-RPC' : words;
    return new UpstreamFault('answer', `The server’s answer cannot be read: ${what}`, error);
  }
  const why = network(error);
  // A bug of ours shows nothing about the server.
  const ours = why === null && /^(?:TypeError|RangeError|ReferenceError)$/.test(name ?? '');
  return new UpstreamFault('connection', why ?? (ours ? 'The connection broke.' : words), error);
}

/** A fault of a server for a reader outside, without the server's secrets. */
export interface Failure {
  readonly kind: FaultKind;
  readonly message: string;
  /** Null: it sent nothing readable. */
  readonly said: Said | null;
}

/** Null: the thrown value is no fault of a server. */
export function failureOf(thrown: unknown, clean: (text: string) => string = (text) => text): Failure | null {
  if (!(thrown instanceof UpstreamFault)) return null;
  const said = saidBy(thrown);
  return {
    kind: thrown.kind,
    message: clean(thrown.message),
    said: said === null ? null : { ...said, message: clean(said.message) },
  };
}

/** A server's message in an answer that is a fault. */
interface Said {
  /** Of JSON-RPC; null where there was none. */
  readonly code: number | null;
  /** Of HTTP; null where the answer itself was in order. */
  readonly status: number | null;
  readonly message: string;
  readonly data: unknown;
}

/** Null: no message, or not in an answer. */
export function saidBy(fault: UpstreamFault): Said | null {
  if (fault.kind === 'unauthorized' && fault.challenge !== null) {
    return { code: null, status: fault.challenge.status, message: fault.message, data: null };
  }
  const cause = fault.cause as { code?: unknown; message?: unknown; data?: unknown } | null | undefined;
  if (typeof cause !== 'object' || cause === null) return null;
  const { code, data } = cause;
  const message = typeof cause.message === 'string' ? cause.message.slice(0, maxWordsLength) : '';
  if (typeof code === 'number') return { code, status: null, message, data };
  const { status, text } = (data ?? {}) as { status?: unknown; text?: unknown };
  if (typeof status !== 'number') return null;
  // Before 2026 the SDK leaves an error of JSON-RPC unread that comes with another status than 200.
  const error = typeof text === 'string' ? errorIn(text) : null;
  return error === null ? { code: null, status, message, data: null } : { ...error, status };
}

function errorIn(text: string): Pick<Said, 'code' | 'message' | 'data'> | null {
  try {
    const { code, message, data } = (
      JSON.parse(text) as { error?: { code?: unknown; message?: unknown; data?: unknown } }
    ).error ?? { code: null };
    return typeof code === 'number' ? { code, message: String(message ?? '').slice(0, maxWordsLength), data } : null;
  } catch {
    return null;
  }
}

const knownCodes: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing listens there (ECONNREFUSED).',
  ECONNRESET: 'The server closed the connection (ECONNRESET).',
  ENOTFOUND: 'There is no such host (ENOTFOUND).',
};
/** From fetch, whose only message is `bad port`. */
const badPort = 'Web clients never connect to this port (fetch blocks it). Let the server listen on another one.';

/** No server took the connection, so nothing was sent. */
export function isUnsent(error: unknown): boolean {
  return causes(error).some(({ code, message }) => {
    return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || message === 'bad port';
  });
}

/** Node's fetch reports only that it failed, and the SDK that there is no era: the innermost cause says why. */
function network(error: unknown): string | null {
  let words: string | null = null;
  for (const { code, message, fact } of causes((error as { cause?: unknown }).cause)) {
    if (typeof fact === 'string') return fact;
    if (typeof code === 'string' && knownCodes[code] !== undefined) return knownCodes[code];
    if (message === 'bad port') return badPort;
    if (typeof message === 'string' && message !== '') words = message.slice(0, maxWordsLength);
  }
  return words;
}

interface Cause {
  readonly code?: unknown;
  readonly message?: unknown;
  readonly fact?: unknown;
}

/** The error and its causes, from the outside in. */
function causes(error: unknown): Cause[] {
  const all: Cause[] = [];
  for (
    let at = error;
    all.length < 6 && typeof at === 'object' && at !== null;
    at = (at as { cause?: unknown }).cause
  ) {
    all.push(at);
  }
  return all;
}
