/**
 * One request on its way to a server behind this one, unread, until its answer begins. Owns the headers that travel on, the limit of a body, that no
 * request outlives its caller, and which requests may be repeated. First users: the factory proxy and the way to peers; third: the home cloud;
 * fourth: the tool server, which has read the body; fifth: computer use, which makes requests of its own. Must not know routes.
 */
import {
  type Agent,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse,
  request as startRequest,
} from 'node:http';
import { request as startSecureRequest } from 'node:https';
import { AppError } from '../../contracts/common/errors.ts';
import { progressHeader } from '../../contracts/common/work-progress.ts';
import { mcpHeaders } from '../../contracts/tool-server/mcp.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { tooLarge } from '../../kit/http/body.ts';
import { endAtOnce } from '../../kit/http/end-at-once.ts';

/** The server to ask, and as whom. */
export interface Upstream {
  readonly agent: Agent;
  readonly secure?: boolean;
  readonly host?: string;
  readonly port?: string;
  readonly path: string;
  /** Headers to add or to replace. */
  readonly headers: OutgoingHttpHeaders;
}

/** The request is dropped when the caller's response closes. */
export interface Asker {
  readonly request: IncomingMessage;
  readonly response: Pick<ServerResponse, 'destroyed' | 'once' | 'off'>;
}

export interface Asking {
  readonly context: Asker;
  /** Called for each attempt: the credential may change in between. */
  readonly upstream: () => Upstream | Promise<Upstream>;
  /** Bytes. Absent: the other server enforces its own limit. */
  readonly bodyLimit?: number | undefined;
  /** Replaces the request's own body, which has been read. */
  readonly body?: Buffer | undefined;
  /** Replaces the request's own method; the request then has a body only if `body` is given. */
  readonly method?: string | undefined;
  /** Absent: for ever, or until the connection ends. Milliseconds; `answer` counts from the connection. */
  readonly patience?: { readonly timers: Timers; readonly connectMs: number; readonly answerMs: () => number };
  /** Whether a read without an answer is sent once more. Default: only if the other end closed an idle connection just as it was used. */
  readonly again?: (unanswered: Unanswered) => Promise<boolean> | boolean;
  /** The request changes nothing, so it may be repeated. Absent: true for a GET without a body. */
  readonly reads?: boolean | undefined;
}

/** No answer began. */
export class Unanswered extends Error {
  override readonly cause: NodeJS.ErrnoException;
  /** An idle connection that the other end closed just as it was used. */
  readonly wasIdle: boolean;

  constructor(cause: NodeJS.ErrnoException, reused: boolean) {
    super(cause.message);
    this.cause = cause;
    this.wasIdle = reused && cause.code === 'ECONNRESET';
  }
}

/** The headers that travel on. Everything else (cookies, credentials, Origin, our own headers) stays here. */
const passedOn = [
  'accept',
  'content-type',
  'content-length',
  'content-encoding',
  'transfer-encoding',
  'last-event-id',
  'idempotency-key',
  progressHeader,
  // Set by the dispatcher to its own span, or removed.
  'traceparent',
  ...Object.values(mcpHeaders),
] as const;

/** Who answers may turn out to be away while a request waits: so often is asked how long to wait. */
const patienceAgainMs = 5_000;
/** Methods without a body need not announce that. */
const bodiless: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

/** Resolves when the answer begins. Throws {@link Unanswered}, the reason for which the connection was refused, or that the body is too large. */
export async function askUpstream(asking: Asking): Promise<IncomingMessage> {
  const { context, bodyLimit = Number.POSITIVE_INFINITY, again = ({ wasIdle }) => wasIdle } = asking;
  const { request } = context;
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > bodyLimit) throw tooLarge(bodyLimit);
  const { method = request.method } = asking;
  const hasBody = asking.method === undefined && (request.headers['transfer-encoding'] !== undefined || announced > 0);
  try {
    return await once(asking, hasBody, bodyLimit);
  } catch (thrown) {
    const reads = asking.reads ?? (method === 'GET' && !hasBody);
    const repeatable = thrown instanceof Unanswered && reads && !context.response.destroyed;
    if (!repeatable || !(await again(thrown))) throw thrown;
    return await once(asking, hasBody, bodyLimit);
  }
}

async function once(asking: Asking, hasBody: boolean, limit: number): Promise<IncomingMessage> {
  const { context, patience, body, method = context.request.method } = asking;
  const { request, response } = context;
  const found = asking.upstream();
  const { secure = false, headers: own, ...target } = found instanceof Promise ? await found : found;
  const headers = headersOf(asking, own);
  return new Promise((resolve, reject) => {
    const start = secure ? startSecureRequest : startRequest;
    const outgoing = start({ ...target, method, headers });
    const leave = () => outgoing.destroy();
    if (response.destroyed) leave();
    else response.once('close', leave);
    // A caller for whom many servers are asked waits for no one that has answered.
    outgoing.once('close', () => response.off('close', leave));
    let cancel = () => {};
    if (patience !== undefined) {
      const late = () => outgoing.destroy(Object.assign(new Error('It does not answer.'), { code: 'ETIMEDOUT' }));
      cancel = patience.timers.after(patience.connectMs, late);
      let allowed = patience.answerMs();
      /** When it was last found that there is less time than before: a short time counts from there, not from the beginning. */
      let since = 0;
      const wait = (waited: number) => {
        const now = patience.answerMs();
        if (now !== allowed) since = now < allowed ? waited : 0;
        allowed = now;
        const left = allowed - (waited - since);
        if (left <= 0) return late();
        const step = Math.min(left, patienceAgainMs);
        cancel = patience.timers.after(step, () => wait(waited + step));
      };
      const connected = () => {
        cancel();
        wait(0);
      };
      outgoing.once('socket', (socket) => {
        if (socket.connecting) socket.once(secure ? 'secureConnect' : 'connect', connected);
        else connected();
      });
    }
    let answered = false;
    outgoing.once('response', (answer) => {
      answered = true;
      cancel();
      resolve(answer);
    });
    outgoing.on('error', (cause: NodeJS.ErrnoException) => {
      cancel();
      // Once an answer has begun, its own stream reports the cut.
      if (answered) return;
      reject(cause instanceof AppError ? cause : new Unanswered(cause, outgoing.reusedSocket));
    });
    if (!hasBody || body !== undefined) {
      if (body === undefined) outgoing.end();
      else endAtOnce(outgoing, body);
      return;
    }
    let passed = 0;
    request.on('data', (chunk: Buffer) => {
      passed += chunk.length;
      if (passed > limit) outgoing.destroy(tooLarge(limit));
    });
    // Not a pipeline: that would cut the caller off before it hears that nobody answers.
    request.pipe(outgoing);
  });
}

/** A flat list, which node writes as it is; from an object it would build one first. */
function headersOf({ context, body, method }: Asking, own: OutgoingHttpHeaders): string[] {
  const headers: string[] = [];
  let hasLength = false;
  for (const name of passedOn) {
    if (own[name] !== undefined) continue;
    const isLength = name === 'content-length' || name === 'transfer-encoding';
    // Headers of the body that was replaced.
    if (isLength && (body !== undefined || (method !== undefined && name === 'content-length'))) continue;
    const value = context.request.headers[name];
    if (value === undefined) continue;
    hasLength ||= isLength;
    headers.push(name, String(value));
  }
  if (!hasLength && (body !== undefined || !bodiless.has(method ?? context.request.method ?? 'GET'))) {
    headers.push('content-length', String(body?.length ?? 0));
  }
  for (const [name, value] of Object.entries(own)) if (value !== undefined) headers.push(name, String(value));
  return headers;
}
