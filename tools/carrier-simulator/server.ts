/**
 * The simulated carrier over HTTP on loopback: authentication, request reading, responses, and injected transport faults. Must not know what a route
 * does.
 */
import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Timers } from '../../src/kit/clock/timers.ts';
import { createRouter, type Json, type Reply, type Route } from './exchange.ts';
import { afterHandling, beforeHandling, brokenInside, type Ending } from './faults.ts';
import { Refusal, refused } from './refusal.ts';
import type { World } from './world.ts';

/** Documents of a port are uploaded here. */
const largestBody = 20 * 1024 * 1024;

/** For the carrier's routes; those of the control have none. */
export const apiBase = '/v2';

interface ServerDeps {
  readonly apiKey: string;
  readonly world: World;
  readonly routes: readonly Route[];
  readonly control: readonly Route[];
  readonly timers: Timers;
  /** Stores changes before the response is sent. */
  changed(): void;
}

interface SimulatorServer {
  readonly origin: string;
  close(): Promise<void>;
}

export async function listen(deps: ServerDeps, port: number): Promise<SimulatorServer> {
  const wire = createRouter(deps.routes);
  const control = createRouter(deps.control);
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://simulator');
    const onWire = url.pathname.startsWith(`${apiBase}/`);
    const found = onWire
      ? wire.find(request.method ?? '', url.pathname.slice(apiBase.length))
      : control.find(request.method ?? '', url.pathname);
    const open = found?.route.op === 'media';
    if (!open && !isAllowed(request, deps.apiKey))
      return send(
        response,
        sayNo(refused(401, '10009', 'Authentication failed', 'No key found matching the given one.')),
      );
    if (found === null) {
      await read(request);
      return send(
        response,
        sayNo(refused(404, '10005', 'Resource not found', `${request.method} ${url.pathname} is unknown.`)),
      );
    }
    const { route, params } = found;
    let ending: Ending = { how: 'answer', after: 0 };
    let reply: Reply;
    try {
      const body = bodyOf(await read(request), request.headers['content-type'] ?? '');
      if (onWire && beforeHandling(deps.world.state, route.op) === 'cut') return cut(response);
      reply = route.handle({ params, query: url.searchParams, body });
      if (onWire) ending = afterHandling(deps.world.state, route.op);
    } catch (error) {
      if (!(error instanceof Refusal)) {
        deps.world.log('failed', { op: route.op, why: String(error) });
        reply = sayNo(brokenInside());
      } else reply = sayNo(error);
    }
    if (onWire) deps.world.log('asked', { op: route.op, status: reply.status, ending: ending.how });
    deps.changed();
    if (ending.how === 'cut') return cut(response);
    if (ending.how === 'hang') return;
    if (ending.how === 'fail') return send(response, sayNo(brokenInside()));
    if (ending.how === 'broken')
      return send(response, { ...reply, body: '{"data": {"id": "', type: 'application/json' });
    if (ending.after === 0) send(response, reply);
    else deps.timers.after(ending.after, () => send(response, reply));
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => closeServer(server),
  };
}

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function isAllowed(request: IncomingMessage, apiKey: string): boolean {
  const given = Buffer.from(request.headers.authorization ?? '');
  const wanted = Buffer.from(`Bearer ${apiKey}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}

async function read(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > largestBody)
      throw refused(413, '10015', 'Payload too large', `More than ${largestBody} bytes were sent.`);
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

function bodyOf(bytes: Buffer, type: string): Json {
  if (bytes.length === 0) return {};
  // A document: its content is not read here.
  if (!type.includes('json')) return { bytes: bytes.length };
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch {
    throw refused(400, '10015', 'Bad Request', 'The request body is not JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw refused(400, '10015', 'Bad Request', 'The request body is not a JSON object.');
  return value as Json;
}

function sayNo(refusal: Refusal): Reply & { headers: Readonly<Record<string, string>> } {
  return { status: refusal.status, body: refusal.body, headers: refusal.headers };
}

function send(response: ServerResponse, reply: Reply & { headers?: Readonly<Record<string, string>> }): void {
  if (reply.body === undefined) {
    response.writeHead(reply.status, reply.headers).end();
    return;
  }
  const plain = typeof reply.body === 'string' || Buffer.isBuffer(reply.body);
  response.writeHead(reply.status, { 'content-type': reply.type ?? 'application/json', ...reply.headers });
  response.end(plain ? (reply.body as string | Buffer) : JSON.stringify(reply.body));
}

function cut(response: ServerResponse): void {
  response.destroy();
}
