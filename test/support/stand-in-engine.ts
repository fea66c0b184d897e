/**
 * A container engine that answers on a socket what Docker Engine 20.10.24 answered when it was asked the same (test/real/docker/tasks.ts asks a real
 * one), and what an engine in trouble answers where a test says so.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

const id = 'd70a4cb8094a6fa1b459484235c6a34ef291fa3799e9fa9fbb16a8123abb2a0d';
const gone = { status: 404, body: { message: `No such container: ${id}` } };
const states = {
  created: { Status: 'created', Running: false, OOMKilled: false, Dead: false, Pid: 0, ExitCode: 0 },
  running: { Status: 'running', Running: true, OOMKilled: false, Dead: false, Pid: 4711, ExitCode: 0 },
  exited: { Status: 'exited', Running: false, OOMKilled: false, Dead: false, Pid: 0, ExitCode: 0 },
};
/** `err` on the second stream, then `out` on the first. */
const frames = Buffer.from('AgAAAAAAAARlcnIKAQAAAAAAAARvdXQK', 'base64');

export interface Asked {
  /** `POST /containers/create` */
  readonly what: string;
  readonly path: string;
  readonly body: Record<string, unknown>;
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/** Null: it never answers. Undefined: as usual. */
type Own = (asked: Asked) => Answer | null | undefined;

export async function startStandInEngine() {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-engine-'));
  const socket = join(folder, 'd.sock');
  const asked: Asked[] = [];
  const sockets = new Set<Socket>();
  let state: keyof typeof states | 'gone' = 'gone';
  let own: Own = () => undefined;
  let attached: Socket | null = null;
  let input = '';
  let ends = () => {};
  let ended = new Promise<void>(() => {});

  function usual({ what }: Asked): Answer | Promise<Answer> {
    switch (what) {
      case 'GET /_ping':
        return { status: 200, body: 'OK' };
      case 'GET /containers/json':
        return { status: 200, body: [] };
      case 'GET /images/json':
        return { status: 200, body: { Id: 'sha256:1bc692f0', Size: 9_000_000, Config: { Volumes: { '/data': {} } } } };
      case 'POST /containers/create':
        state = 'created';
        return { status: 201, body: { Id: id, Warnings: [] } };
      case 'POST /containers/start':
        state = 'running';
        ended = new Promise((resolve) => {
          ends = resolve;
        });
        return { status: 204, body: '' };
      case 'POST /containers/wait':
        return ended.then(() => ({ status: 200, body: { Error: null, StatusCode: 0 } }));
      case 'POST /containers/kill':
        end();
        return { status: 204, body: '' };
      case 'GET /containers/inspect':
        return state === 'gone' ? gone : { status: 200, body: { Id: id, State: states[state] } };
      case 'DELETE /containers':
        if (state === 'gone') return gone;
        end();
        state = 'gone';
        return { status: 204, body: '' };
      default:
        return { status: 404, body: { message: 'page not found' } };
    }
  }

  function end(): void {
    if (state === 'running') state = 'exited';
    ends();
    attached?.end();
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const one = await read(request);
    asked.push(one);
    const chosen = own(one);
    const said = chosen === undefined ? await usual(one) : chosen;
    if (said === null) return;
    response.writeHead(said.status, { 'content-type': 'application/json' });
    response.end(typeof said.body === 'string' ? said.body : JSON.stringify(said.body));
  }

  const server = createServer((request, response) => void answer(request, response));
  server.on('connection', (one) => {
    sockets.add(one);
    one.on('close', () => sockets.delete(one));
  });
  server.on('upgrade', (request, connection: Socket) => {
    asked.push({ what: whatOf(request), path: request.url ?? '', body: {} });
    connection.on('error', () => {});
    connection.on('data', (chunk) => {
      input += chunk.toString();
    });
    connection.write(
      'HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n',
    );
    attached = connection;
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    server.close();
    for (const one of sockets) one.destroy();
    rmSync(folder, { recursive: true, force: true });
  });

  return {
    socket,
    asked,
    what: () => asked.map(({ what }) => what),
    /** What the command was given to read, after the request that attached to it. */
    input: () => input,
    /** From now on. */
    answers(next: Own) {
      own = next;
    },
    /** The command in the container has written `err` and `out`, byte by byte, and ends. */
    ends() {
      for (const byte of frames) attached?.write(Buffer.of(byte));
      end();
    },
    /** A person removes the container. */
    removed() {
      state = 'gone';
      ends();
      attached?.end();
    },
    isThere: () => state !== 'gone',
  };
}

async function read(request: IncomingMessage): Promise<Asked> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return { what: whatOf(request), path: request.url ?? '', body: text === '' ? {} : JSON.parse(text) };
}

/** `GET /containers/<id>/json?…` is `GET /containers/inspect`. */
function whatOf(request: IncomingMessage): string {
  const path = (request.url ?? '').replace(/\?.*/, '').replace(`/${id}/json`, '/inspect').replace(`/${id}`, '');
  return `${request.method} ${path.replace(/^\/images\/.*\/json$/, '/images/json')}`;
}

export type StandInEngine = Awaited<ReturnType<typeof startStandInEngine>>;
