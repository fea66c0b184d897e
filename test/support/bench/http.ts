/** A lean HTTP caller for measuring: keep-alive, JSON, server-sent events. Its cost is small and constant. */
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

export interface Caller {
  /** JSON in, JSON out, with more headers; fails on any other status than 2xx, with the answer in the message. */
  call<T = unknown>(method: string, path: string, body?: unknown, more?: Record<string, string>): Promise<T>;
  /** Opens a stream; `onEvent` gets each event's name, id and parsed data. Resolves once the headers are there. */
  events(path: string, onEvent: (event: SseEvent) => void, lastEventId?: string): Promise<SseStream>;
  close(): void;
}

export interface SseEvent {
  readonly event: string;
  readonly id: string | null;
  readonly data: unknown;
}

export interface SseStream {
  close(): void;
  /** Resolves when the stream has ended, however. */
  readonly ended: Promise<void>;
}

export class CallError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** `via`: port of a proxy to connect to; the request still names `origin`, as servers demand. */
export function createCaller(origin: string, token: string, via?: number): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  const { hostname, port, host } = new URL(origin);
  const target = { hostname, port: via ?? Number(port), agent };
  const headers = { host, authorization: `Bearer ${token}` };

  function open(method: string, path: string, more: Record<string, string>, body?: string): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const call = request({ ...target, method, path, headers: { ...headers, ...more } }, resolve);
      call.on('error', reject);
      call.end(body);
    });
  }

  return {
    call: async <T>(method: string, path: string, body?: unknown, more: Record<string, string> = {}) => {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const type: Record<string, string> = text === undefined ? {} : { 'content-type': 'application/json' };
      const response = await open(method, path, { ...type, ...more }, text);
      const answer = await textOf(response);
      const status = response.statusCode ?? 0;
      if (status < 200 || status > 299) throw new CallError(status, `${method} ${path}: ${status} ${answer}`);
      return (answer === '' ? undefined : JSON.parse(answer)) as T;
    },
    events: async (path, onEvent, lastEventId) => {
      const resume: Record<string, string> = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
      const response = await open('GET', path, { accept: 'text/event-stream', ...resume });
      if (response.statusCode !== 200) {
        throw new CallError(response.statusCode ?? 0, `GET ${path}: ${response.statusCode} ${await textOf(response)}`);
      }
      const ended = new Promise<void>((resolve) => response.once('close', resolve));
      readEvents(response, onEvent);
      return { close: () => response.destroy(), ended };
    },
    close: () => agent.destroy(),
  };
}

/** While the server is down, the same request is repeated; a refusal is a fault. */
export async function insist<T>(call: () => Promise<T>): Promise<T> {
  const pauseMs = 150;
  const tries = 800;
  for (let left = tries; ; left -= 1) {
    try {
      return await call();
    } catch (error) {
      if (left === 0 || (error instanceof CallError && error.status < 500)) throw error;
      await delay(pauseMs);
    }
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const part of response) text += part;
  return text;
}

function readEvents(response: IncomingMessage, onEvent: (event: SseEvent) => void): void {
  let rest = '';
  response.setEncoding('utf8');
  // A cut stream is an end like any other; `ended` tells.
  response.on('error', () => {});
  response.on('data', (text: string) => {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() as string;
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event !== null) onEvent(event);
    }
  });
}

function parseBlock(block: string): SseEvent | null {
  let event = 'message';
  let id: string | null = null;
  let data: string | null = null;
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) event = line.slice(6).trim();
    else if (line.startsWith('id:')) id = line.slice(3).trim();
    else if (line.startsWith('data:')) data = (data === null ? '' : `${data}\n`) + line.slice(5).replace(/^ /, '');
  }
  return data === null ? null : { event, id, data: JSON.parse(data) as unknown };
}
