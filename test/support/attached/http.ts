/** A tool server on HTTP with a chosen behaviour; it keeps the requests it received. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createBehaviour, type Json } from './behave.ts';

export interface HttpServer {
  readonly url: string;
  readonly requests: {
    readonly method: string;
    readonly headers: IncomingMessage['headers'];
    readonly body: Json | null;
  }[];
  /** Forgets every session that it gave out. */
  forget(): void;
  close(): Promise<void>;
}

export interface HttpServerOptions {
  readonly kind?: string;
  /** Answers to requests are streams of events. */
  readonly streams?: boolean;
  /** Gives out sessions, and wants them. */
  readonly sessions?: boolean;
  /** How it answers one that it does not know; default 404. */
  readonly gone?: (response: ServerResponse, body: Json) => void;
  /** 0, as usual: any free one. */
  readonly port?: number;
  /** Before all else; true: it has answered. */
  readonly first?: (request: IncomingMessage, response: ServerResponse, body: Json | null) => boolean;
}

export async function serveHttp(options: HttpServerOptions = {}): Promise<HttpServer> {
  const { kind = 'usual', streams = false, sessions = false, port = 0 } = options;
  const requests: HttpServer['requests'] = [];
  let known = new Set<string>();
  let given = 0;

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = text === '' ? null : (JSON.parse(text) as Json);
    requests.push({ method: request.method ?? '', headers: request.headers, body });
    if (options.first?.(request, response, body) === true) return;
    if (request.method !== 'POST' || body === null) return void response.writeHead(405).end();
    const headers: Record<string, string> = { 'content-type': streams ? 'text/event-stream' : 'application/json' };
    if (sessions && body.method !== 'server/discover') {
      if (body.method === 'initialize') {
        given += 1;
        known.add(`session-${given}`);
        headers['mcp-session-id'] = `session-${given}`;
      } else if (!known.has(String(request.headers['mcp-session-id']))) {
        if (options.gone !== undefined) return options.gone(response, body);
        return void response.writeHead(404).end('Session not found');
      }
    }
    if (body.id === undefined) return void response.writeHead(202).end();
    let open = false;
    const write = (part: string) => {
      if (!open) response.writeHead(200, headers);
      if (!open && streams) response.write('event: message\r\ndata: ');
      open = true;
      response.write(part);
    };
    createBehaviour(kind, {
      send(message) {
        if (message.id === undefined) return;
        write(JSON.stringify(message));
        response.end(streams ? '\r\n\r\n' : '');
      },
      raw(part) {
        write(part.replace(/\n$/, ''));
        if (part.endsWith('\n')) response.end(streams ? '\r\n\r\n' : '');
      },
      die() {
        if (streams) write('');
        response.destroy();
      },
    })(body);
  }).listen(port, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    requests,
    forget: () => {
      known = new Set();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
