/**
 * One scripted model server for every test that needs a model: a real HTTP server on loopback that speaks the vendors' wires. Owns requests, scripts
 * and streams; the wires own their shapes. It replaces only the model.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { anthropic, countTokens } from './anthropic.ts';
import { gemini } from './gemini.ts';
import { openaiChat } from './openai-chat.ts';
import { openaiResponses } from './openai-responses.ts';
import { type ModelRequest, type Script, text } from './script.ts';
import type { Json, StreamEvent, Wire } from './wire.ts';

export interface ModelServer {
  /** `http://127.0.0.1:<port>`; OpenAI clients want `/v1` behind it. */
  readonly url: string;
  /** Every turn that was asked, in order. */
  readonly requests: readonly ModelRequest[];
  /** Paths that no wire knows, as asked. */
  readonly unknown: readonly string[];
  script(script: Script): void;
  close(): Promise<void>;
}

const wires: readonly Wire[] = [anthropic, openaiChat, openaiResponses, gemini];

/** `secure`: over TLS, at this address. */
export async function startModelServer(
  first: Script = () => text('ok'),
  { secure }: { readonly secure?: { readonly tls: ServerOptions; readonly host: string; readonly port: number } } = {},
): Promise<ModelServer> {
  let script = first;
  let count = 0;
  const requests: ModelRequest[] = [];
  const unknown: string[] = [];

  async function serve(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const path = new URL(incoming.url ?? '/', 'http://model').pathname;
    const body = await readBody(incoming);
    const counted = countTokens(path, body);
    if (counted) return sendJson(answer, 200, counted);
    for (const wire of wires) {
      const asked = incoming.method === 'POST' ? wire.match(path, body) : null;
      if (!asked) continue;
      count += 1;
      const request: ModelRequest = {
        wire: wire.name,
        ...asked,
        ...wire.read(body),
        headers: Object.fromEntries(Object.entries(incoming.headers).map(([name, value]) => [name, String(value)])),
        body,
      };
      requests.push(request);
      const reply = await script(request);
      if (reply.kind === 'error') {
        const { status, body: error } = wire.error(
          reply.status,
          reply.message ?? `scripted ${reply.status}`,
          reply.retryAfter,
        );
        if (reply.retryAfter !== undefined) answer.setHeader('retry-after', String(reply.retryAfter));
        return sendJson(answer, status, error);
      }
      if (reply.kind === 'garbage') {
        answer.writeHead(200, { 'content-type': reply.type ?? 'text/html' }).end(reply.body);
        return;
      }
      const id = String(count).padStart(6, '0');
      if (asked.stream) return sendEvents(answer, wire.events(reply, asked.model, id), reply.kind === 'cut');
      if (reply.kind === 'cut') {
        answer.destroy();
        return;
      }
      return sendJson(answer, 200, wire.whole(reply, asked.model, id));
    }
    unknown.push(`${incoming.method} ${path}`);
    sendJson(answer, incoming.method === 'HEAD' ? 200 : 404, { error: { message: `no such path: ${path}` } });
  }

  const take = (incoming: IncomingMessage, answer: ServerResponse) => {
    serve(incoming, answer).catch(() => answer.destroy());
  };
  const server = secure === undefined ? createServer(take) : createSecureServer(secure.tls, take);
  const { host, port: wanted } = secure ?? { host: '127.0.0.1', port: 0 };
  await new Promise<void>((resolve) => server.listen(wanted, host, resolve));
  const { port } = server.address() as AddressInfo;

  return {
    url: `${secure === undefined ? 'http' : 'https'}://${host}:${port}`,
    requests,
    unknown,
    script(next) {
      script = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function readBody(incoming: IncomingMessage): Promise<Json> {
  let body = '';
  for await (const piece of incoming) body += piece;
  return body === '' ? {} : (JSON.parse(body) as Json);
}

function sendJson(answer: ServerResponse, status: number, body: Json): void {
  answer.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function sendEvents(answer: ServerResponse, events: readonly StreamEvent[], cut: boolean): Promise<void> {
  answer.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  for (const { event, data, pauseMs = 0, cutAfter } of events) {
    if (pauseMs > 0) await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (answer.destroyed) return;
    const line = typeof data === 'string' ? data : JSON.stringify(data);
    const sent = `${event ? `event: ${event}\n` : ''}data: ${line}\n\n`;
    // The last piece must have left before the connection is broken off, or the client would see an empty stream.
    if (cut && cutAfter) {
      answer.write(sent, () => answer.destroy());
      return;
    }
    answer.write(sent);
  }
  answer.end();
}
