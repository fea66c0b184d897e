/**
 * Calls to the engine of another computer of the person, through the home cloud. Owns the bearer and how answers are read; must
 * not know bots, teams or what a route means.
 */
import { type ClientRequest, type IncomingMessage, request as startRequest } from 'node:http';
import { request as startSecureRequest } from 'node:https';
import { z } from 'zod';
import { AppError, FactoryError } from '../../../contracts/common/errors.ts';
import { createSseParser } from '../../../contracts/common/sse-parser.ts';
import { progressHeader } from '../../../contracts/common/work-progress.ts';
import { Computer } from '../../../contracts/link/computers.ts';
import type { Clock } from '../../../kit/clock/clock.ts';

/** The part of the home cloud that calls to other computers need. */
export interface PeerHome {
  /** Null while this computer is paired with no cloud: then there are no others. */
  address(): string | null;
  /** A fresh bearer for the routes of computers. */
  mintToken(): Promise<{ readonly token: string; readonly expiresAt: number }>;
  /** Told when it is another cloud, or none. */
  onChange(listener: () => void): () => void;
}

interface PeerCall {
  readonly method: 'GET' | 'POST';
  /** Below `/peer/`, with its query. */
  readonly path: string;
  readonly body?: unknown;
  /** A repeated one returns the result of the first. */
  readonly idempotencyKey?: string;
  /** How far it is can be read under this key meanwhile. */
  readonly progressKey?: string | undefined;
  /** Milliseconds; default {@link answerMs}. */
  readonly timeoutMs?: number;
}

export interface PeerAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface PeerCalls {
  /** The person's computers. `transport` while the cloud cannot be reached. */
  computers(): Promise<readonly KnownComputer[]>;
  /**
   * That computer's answer, whatever its status. `transport` while it or the cloud cannot be reached, `not_found` when the cloud does not know the
   * computer (any more).
   */
  call(computerId: string, call: PeerCall): Promise<PeerAnswer>;
  /** Events until the stream ends; rejects as {@link call}, and with the computer's own error when it refused. */
  stream(
    computerId: string,
    path: string,
    onEvent: (event: string, data: unknown) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

export interface KnownComputer {
  readonly id: string;
  readonly cloudId: string;
  readonly name: string;
}

/** A newer cloud may send more fields. */
const Computers = z.object({
  computers: z.array(z.object(Computer.shape).pick({ id: true, cloudId: true, name: true })),
});
const CloudError = z.object({ error: z.object({ code: z.string(), message: z.string() }) });
const largestAnswer = 64 * 1024 * 1024;
/** A token is renewed this long before it ends. */
const marginMs = 30_000;
/** An answer to anything but bringing a team is there by then; a send takes 10 s. */
const answerMs = 40_000;
/** Nothing came, not even the comment that every stream sends each 15 s: the way is dead. */
const silenceMs = 45_000;

export function createPeerCalls(deps: { readonly home: PeerHome; readonly clock: Clock }): PeerCalls {
  const { home, clock } = deps;
  let bearer: Promise<{ token: string; expiresAt: number }> | null = null;
  home.onChange(() => {
    bearer = null;
  });

  const token = async (fresh: boolean): Promise<string> => {
    const known = fresh ? null : await bearer?.catch(() => null);
    if (known && known.expiresAt - marginMs > clock.now()) return known.token;
    bearer = home.mintToken();
    try {
      return (await bearer).token;
    } catch (cause) {
      bearer = null;
      throw unreachable(cause);
    }
  };

  const open = async (method: string, path: string, body: unknown, headers: Record<string, string>, fresh: boolean) => {
    const address = home.address();
    if (address === null) {
      throw new AppError('transport', 'This computer is not paired with a cloud.', 'Pair it: gantry pair <address>.');
    }
    const text = body === undefined ? '' : JSON.stringify(body);
    const url = new URL(`${address}${path}`);
    const authorization = `Bearer ${await token(fresh)}`;
    const length = text === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
    const start = url.protocol === 'https:' ? startSecureRequest : startRequest;
    const request = start(url, { method, headers: { ...headers, ...length, authorization } });
    request.end(text);
    return request;
  };

  /** One answer; retried once with a fresh bearer when the cloud refused the current one. */
  const ask = async ({ method, path, body, timeoutMs = answerMs }: PeerCall, headers: Record<string, string> = {}) => {
    for (let fresh = false; ; fresh = true) {
      const request = await open(method, path, body, headers, fresh);
      request.setTimeout(timeoutMs, () => request.destroy(new Error(`no answer within ${timeoutMs / 1000} s`)));
      const response = await answerOf(request);
      const answer = { status: response.statusCode ?? 0, body: await readJson(response) };
      if (answer.status !== 401 || fresh) return answer;
    }
  };
  const peerPath = (computerId: string, path: string) =>
    `/api/v1/computers/${encodeURIComponent(computerId)}/factory-peer/${path}`;

  return {
    async computers() {
      const { status, body } = await ask({ method: 'GET', path: '/api/v1/computers' });
      const parsed = Computers.safeParse(body);
      if (status === 200 && parsed.success) return parsed.data.computers;
      throw cloudFault({ status, body });
    },
    async call(computerId, { path, idempotencyKey, progressKey, ...rest }) {
      const headers: Record<string, string> = {};
      if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
      if (progressKey !== undefined) headers[progressHeader] = progressKey;
      const answer = await ask({ ...rest, path: peerPath(computerId, path) }, headers);
      if (answer.status !== 200 && CloudError.safeParse(answer.body).success) throw cloudFault(answer);
      return answer;
    },
    async stream(computerId, path, onEvent, signal) {
      const request = await open('GET', peerPath(computerId, path), undefined, { accept: 'text/event-stream' }, false);
      if (signal.aborted) request.destroy();
      signal.addEventListener('abort', () => request.destroy(), { once: true });
      request.setTimeout(silenceMs, () => request.destroy(new Error('No data arrived for a while.')));
      const response = await answerOf(request);
      if (response.statusCode === 200) return readEvents(response, onEvent);
      const answer = { status: response.statusCode ?? 0, body: await readJson(response) };
      if (answer.status === 401) bearer = null;
      throw CloudError.safeParse(answer.body).success ? cloudFault(answer) : peerFault(answer);
    },
  };
}

/** Another engine's error, as an error of this one. */
export function peerFault({ status, body }: PeerAnswer): AppError {
  const parsed = FactoryError.safeParse({ error: (body as { error?: unknown } | null)?.error });
  if (!parsed.success) {
    return new AppError(
      'transport',
      `The other computer’s answer (${status}) is unknown to this version of Gantry.`,
      'Update Gantry there.',
    );
  }
  const { code, fact, action } = parsed.data.error;
  const conflict = code === 'refused' && status === 409 ? { status: 409 as const } : {};
  // A refused ticket is not the caller's doing: it has been let in here.
  return status === 401 ? new AppError('transport', fact, action) : new AppError(code, fact, action, conflict);
}

function cloudFault({ status, body }: PeerAnswer): AppError {
  const parsed = CloudError.safeParse(body);
  const said = parsed.success ? parsed.data.error.message : `The cloud answered ${status}.`;
  if (status === 404) return new AppError('not_found', said, '');
  return new AppError('transport', said, status === 401 ? 'Pair this computer again.' : '');
}

function unreachable(cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  const why = cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause);
  return new AppError('transport', `The cloud cannot be reached (${why}).`, 'Try again later.', { cause });
}

function answerOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    request.on('error', (cause) => reject(unreachable(cause)));
  });
}

async function readJson(response: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > largestAnswer) throw new Error('the answer is too large');
      chunks.push(chunk);
    }
  } catch (cause) {
    throw unreachable(cause);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return null;
  }
}

async function readEvents(response: IncomingMessage, onEvent: (event: string, data: unknown) => void): Promise<void> {
  const parser = createSseParser();
  response.setEncoding('utf8');
  try {
    for await (const text of response as AsyncIterable<string>) {
      for (const { event, data } of parser.push(text)) onEvent(event, JSON.parse(data));
    }
  } catch (cause) {
    throw unreachable(cause);
  }
}
