/** A dispatcher on a real server, and requests written byte by byte where a client library would be too polite. */
import { Agent, type IncomingHttpHeaders, type RequestOptions, request } from 'node:http';
import { connect } from 'node:net';
import { createDispatcher, type DispatcherOptions } from '../../../src/kit/http/dispatcher.ts';
import { createOwnerAuthenticator } from '../../../src/kit/http/principals.ts';
import { closeServer, createHttpServer, listenOnLoopback } from '../../../src/kit/http/server.ts';
import { onEnd } from '../../support/at-end.ts';

export { keepUntilEnd, onEnd } from '../../support/at-end.ts';

export const ownerToken = 'gantry_owner_0123456789abcdefghijklmnopqrstuvwxyz';

export interface LogLine {
  readonly message: string;
  readonly fields?: Record<string, unknown>;
}

export function countingIds(): { next(prefix: string): string } {
  let count = 0;
  return {
    next: (prefix) => {
      count += 1;
      return `${prefix}_${count}`;
    },
  };
}

export async function serve(options: Partial<DispatcherOptions> & Pick<DispatcherOptions, 'routes'>) {
  const lines: LogLine[] = [];
  const push = (message: string, fields?: Record<string, unknown>) => {
    lines.push({ message, fields });
  };
  const dispatcher = createDispatcher({
    listener: { kind: 'tcp', origins: 'own' },
    authenticators: [createOwnerAuthenticator(ownerToken)],
    owners: {},
    ids: countingIds(),
    log: { warn: push, error: push },
    answers: 'throw',
    ...options,
  });
  const server = createHttpServer((req, res) => {
    void dispatcher.handle(req, res).then((handled) => {
      if (!handled) res.writeHead(204).end();
    });
  });
  const port = await listenOnLoopback(server, 0, '--port');
  onEnd(async () => {
    dispatcher.close('the test is over');
    await closeServer(server);
  });
  return { dispatcher, server, port, lines, call: caller(port) };
}

/** A parsed answer, as loosely typed as a test may read it: every member a test names is there, its value is checked. */
export type Json = {
  readonly [Name in
    | 'error'
    | 'code'
    | 'fact'
    | 'action'
    | 'message'
    | 'type'
    | 'url'
    | 'user'
    | 'csrf'
    | 'ok'
    | 'id'
    | 'proof'
    | 'computer'
    | 'via']: Json;
};

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: Json;
}

export interface CallOptions {
  readonly token?: string | null;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** Sent as it is. */
  readonly raw?: string | Buffer;
  readonly socketPath?: string;
}

export type Call = (method: string, path: string, options?: CallOptions) => Promise<Reply>;

/**
 * Calls over connections that stay open until the end of the test: a walk over every route makes thousands of calls, and opening and
 * closing a connection for each costs more than the answer. Only for a server that outlives the calls.
 */
export function steadyCaller(port: number, defaultToken: string | null = ownerToken): Call {
  const agent = new Agent({ keepAlive: true });
  onEnd(() => agent.destroy());
  return caller(port, defaultToken, agent);
}

/** Calls with the owner's token unless told otherwise, each over a connection of its own unless `agent` keeps them. */
export function caller(port: number, defaultToken: string | null = ownerToken, agent: Agent | false = false): Call {
  return (method, path, options = {}) =>
    new Promise((resolve, reject) => {
      const token = options.token === undefined ? defaultToken : options.token;
      const body = options.raw ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
      const target: RequestOptions =
        options.socketPath === undefined ? { host: '127.0.0.1', port } : { socketPath: options.socketPath };
      const headers: Record<string, string> = { ...options.headers };
      if (token !== null) headers.authorization ??= `Bearer ${token}`;
      if (body !== undefined) headers['content-type'] ??= 'application/json';
      if (body !== undefined) headers['content-length'] ??= String(Buffer.byteLength(body));
      const outgoing = request({ ...target, method, path, headers, agent }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          const isJson = String(response.headers['content-type'] ?? '').startsWith('application/json');
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            json: isJson && text !== '' ? JSON.parse(text) : (undefined as never),
          });
        });
      });
      outgoing.on('error', reject);
      outgoing.end(body);
    });
}

/** Sends exact bytes and resolves with everything that came back until the other side closed or went quiet. */
export function rawRequest(port: number, bytes: string, quietMs = 300): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let got = '';
    socket.setTimeout(quietMs, () => {
      socket.destroy();
      resolve(got);
    });
    socket.on('data', (chunk) => {
      got += String(chunk);
    });
    socket.on('end', () => {
      socket.destroy();
      resolve(got);
    });
    socket.on('error', reject);
    socket.write(bytes);
  });
}
