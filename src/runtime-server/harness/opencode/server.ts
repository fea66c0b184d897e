/**
 * The HTTP server inside opencode's own program: calls and its stream of events. Owns connections and their deadlines; must not know what a call or
 * an event means.
 */
import { createSseParser } from '../../../contracts/common/sse-parser.ts';
import type { ServerAccess } from './launch.ts';
import { listensForMe } from './listener.ts';

/** Its server runs in the thread that draws its screen, and answers late while that is busy. */
const callMs = 5000;
/** It sends a heartbeat every ten seconds. */
const silentMs = 35_000;
const maxEventChars = 8 * 1024 * 1024;

interface OpencodeAnswer {
  readonly status: number;
  /** Parsed; the text where it was no JSON. */
  readonly body: unknown;
}

export interface OpencodeEvent {
  readonly type: string;
  readonly properties: Readonly<Record<string, unknown>>;
}

/** No program listens there: nothing was taken. */
export class NotListening extends Error {}

export interface OpencodeServer {
  /** Rejects with {@link NotListening}, or with anything else where it is not known how far the call came. */
  call(method: 'GET' | 'POST', path: string, body?: unknown): Promise<OpencodeAnswer>;
  /** Resolves when the stream has ended; `onOpen` once it is open. */
  follow(signal: AbortSignal, onOpen: () => void, onEvent: (event: OpencodeEvent) => void): Promise<void>;
}

/** `mine`: whether only programs of this person listen on the port; asked before the password goes there. */
export function createOpencodeServer(
  { port, password }: ServerAccess,
  mine: (port: number) => Promise<boolean> = listensForMe,
): OpencodeServer {
  const base = `http://127.0.0.1:${port}`;
  const authorization = `Basic ${Buffer.from(`opencode:${password}`).toString('base64')}`;

  return {
    async call(method, path, body) {
      if (!(await mine(port))) throw new NotListening();
      try {
        const answer = await fetch(`${base}${path}`, {
          method,
          headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }) },
          ...(body !== undefined && { body: JSON.stringify(body) }),
          redirect: 'error',
          signal: AbortSignal.timeout(callMs),
        });
        return { status: answer.status, body: parse(await answer.text()) };
      } catch (fault) {
        throw isRefused(fault) ? new NotListening() : fault;
      }
    },
    async follow(signal, onOpen, onEvent) {
      if (!(await mine(port))) throw new NotListening();
      const quiet = new AbortController();
      // To begin the stream it takes no longer than to answer a call.
      let timer = setTimeout(() => quiet.abort(), callMs);
      try {
        const answer = await fetch(`${base}/event`, {
          headers: { authorization, accept: 'text/event-stream' },
          redirect: 'error',
          signal: AbortSignal.any([signal, quiet.signal]),
        });
        if (!answer.ok || answer.body === null) {
          await answer.body?.cancel();
          throw new Error(`its server answered ${answer.status}`);
        }
        clearTimeout(timer);
        timer = setTimeout(() => quiet.abort(), silentMs);
        onOpen();
        const parser = createSseParser();
        const decoder = new TextDecoder();
        let held = 0;
        for await (const piece of answer.body) {
          clearTimeout(timer);
          timer = setTimeout(() => quiet.abort(), silentMs);
          const messages = parser.push(decoder.decode(piece, { stream: true }));
          held = messages.length > 0 ? 0 : held + piece.length;
          if (held > maxEventChars) throw new Error('its server sent an event that is too large');
          for (const { data } of messages) {
            const event = eventOf(parse(data));
            // Skips a damaged event: the next look requests its content.
            if (event) onEvent(event);
          }
        }
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function eventOf(value: unknown): OpencodeEvent | null {
  if (typeof value !== 'object' || value === null) return null;
  const { type, properties } = value as { type?: unknown; properties?: unknown };
  if (typeof type !== 'string' || typeof properties !== 'object' || properties === null) return null;
  return { type, properties: properties as Record<string, unknown> };
}

function isRefused(fault: unknown): boolean {
  const cause = fault instanceof Error ? (fault.cause as { code?: unknown } | undefined) : undefined;
  return cause?.code === 'ECONNREFUSED';
}
