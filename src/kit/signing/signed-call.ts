/**
 * A signed JSON call over any HTTP transport. Learns from a refusal how far its clock is off. First user: the runtime towards its cloud; second: the
 * cloud towards a runtime. Must not know routes.
 */
import { type Agent, type RequestOptions, request as startRequest } from 'node:http';
import { request as startSecureRequest } from 'node:https';
import { clockHeader, knowsHeader } from '../../contracts/link/knows.ts';
import type { Clock } from '../clock/clock.ts';
import { signatureHeaders, signedHeaders } from './signature.ts';

export interface SignedTarget {
  readonly agent?: Agent;
  readonly host: string;
  readonly port?: number | undefined;
  /** Over TLS. */
  readonly secure?: boolean;
}

export interface SignedCall {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly signal: AbortSignal;
  /** For routes that honour it: repeating the same key has no second effect. */
  readonly idempotencyKey?: string;
}

export interface SignedAnswer {
  readonly status: number;
  /** Parsed JSON; null if it is not JSON. */
  readonly body: unknown;
  /** The types that the other side says it accepts; null: none named. */
  readonly knows?: string | null;
}

/** The other side writes once and answers; a longer wait means a fault. */
const timeoutMs = 15_000;
const largestAnswer = 4 * 1024 * 1024;
/** A clock that is further off than this is not corrected for: a day, and a minute to spare. */
export const largestOffsetMs = 24 * 60 * 60_000 + 60_000;

export function createSignedCaller({
  runtimeId,
  key,
  clock,
  target,
  onTime,
  trace,
}: {
  readonly runtimeId: string;
  readonly key: string;
  readonly clock: Clock;
  /** The target, asked for each call, because ports change. Throws while there is no target. */
  readonly target: () => SignedTarget;
  /** Called with each answer to a valid signature: how far the other side's clock is ahead, to about a second. */
  readonly onTime?: (aheadMs: number) => void;
  /** The `traceparent` of the span that calls; null: none. It is not signed: it says nothing about the call. */
  readonly trace?: (() => string | null) | undefined;
}) {
  let offsetMs = 0;
  /** The calls of the last second with their signed times, oldest first. */
  const given = new Map<string, number>();

  async function call({ method, path, body, signal, idempotencyKey }: SignedCall): Promise<SignedAnswer> {
    const text = body === undefined ? '' : JSON.stringify(body);
    const { agent, host, port, secure = false } = target();
    const literal = host.includes(':') ? `[${host}]` : host;
    const traceparent = trace?.() ?? null;
    const headers = {
      ...sign({ method, path, body: text }),
      host: port === undefined ? literal : `${literal}:${port}`,
      'content-type': 'application/json',
      [clockHeader]: String(clock.now()),
      'content-length': Buffer.byteLength(text),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(traceparent !== null && { traceparent }),
    };
    const options = { agent, host, port, method, path, headers, signal, timeout: timeoutMs };
    const sentAt = clock.now();
    const { date, ...answer } = await send(secure ? startSecureRequest : startRequest, options, text);
    learn(answer);
    // A date is rounded down to its second.
    if (date !== null && answer.status < 300) onTime?.(date + 500 - (sentAt + clock.now()) / 2);
    return answer;
  }

  /** The same call twice within a second would have one signature, which is accepted once: the second one is signed a second ahead. */
  function sign(request: { method: string; path: string; body: string }): Record<string, string> {
    const now = clock.now() + offsetMs;
    for (const [signature, at] of given) {
      if (at >= now - 1000) break;
      given.delete(signature);
    }
    for (let at = now; ; at += 1000) {
      const headers = signedHeaders({ runtimeId, key, now: () => at }, request);
      const signature = headers[signatureHeaders.sig] as string;
      if (given.has(signature)) continue;
      given.set(signature, at);
      return headers;
    }
  }

  function learn({ status, body }: SignedAnswer): void {
    const time = (body as { serverTime?: unknown } | null)?.serverTime;
    if (status !== 401 || typeof time !== 'number') return;
    const off = time * 1000 - clock.now();
    if (Math.abs(off) <= largestOffsetMs) offsetMs = off;
  }

  return call;
}

interface Heard extends SignedAnswer {
  /** Milliseconds since the epoch. */
  readonly date: number | null;
}

function send(start: typeof startRequest, options: RequestOptions, text: string): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const upstream = start(options, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > largestAnswer) response.destroy(new Error('The answer is too large.'));
        else chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 502,
          body: parse(Buffer.concat(chunks).toString('utf8')),
          knows: String(response.headers[knowsHeader] ?? '') || null,
          date: readDate(response.headers.date),
        }),
      );
    });
    upstream.on('timeout', () => upstream.destroy(new Error('It does not answer.')));
    upstream.on('error', reject);
    upstream.end(text);
  });
}

function readDate(header: string | undefined): number | null {
  const at = Date.parse(header ?? '');
  return Number.isNaN(at) ? null : at;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
