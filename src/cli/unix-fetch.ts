/**
 * `fetch` by Node's own HTTP client for targets other than the address's host: a Unix socket (or named pipe), or a server behind its public address.
 * Knows no route and no credential.
 */
import { type RequestOptions, request } from 'node:http';
import { Readable } from 'node:stream';
import type { Fetch } from '../client/client.ts';

export function createSocketFetch(socketPath: string): Fetch {
  return createFetchTo({ socketPath }, 'localhost');
}

/** `name`: the Host that is sent. */
export function createFetchTo(target: Pick<RequestOptions, 'socketPath' | 'host' | 'port'>, name: string): Fetch {
  return (input, init = {}) =>
    new Promise((resolve, reject) => {
      const url = new URL(input);
      const given = init.body;
      const body = typeof given === 'string' ? Buffer.from(given) : given instanceof Uint8Array ? given : null;
      const headers: Record<string, string> = { host: name };
      new Headers(init.headers).forEach((value, name) => {
        headers[name] = value;
      });
      if (body !== null) headers['content-length'] = String(body.byteLength);
      const outgoing = request(
        {
          ...target,
          method: init.method ?? 'GET',
          path: url.pathname + url.search,
          headers,
          signal: init.signal ?? undefined,
        },
        (incoming) => {
          const answerHeaders = new Headers();
          for (let index = 0; index < incoming.rawHeaders.length; index += 2) {
            answerHeaders.append(incoming.rawHeaders[index] ?? '', incoming.rawHeaders[index + 1] ?? '');
          }
          const status = incoming.statusCode ?? 500;
          const empty = status === 204 || status === 304 || init.method === 'HEAD';
          if (empty) incoming.resume();
          // Node's stream types and the web's differ in name only.
          const stream = empty ? null : (Readable.toWeb(incoming) as unknown as ReadableStream<Uint8Array>);
          resolve(new Response(stream, { status, headers: answerHeaders }));
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body ?? undefined);
    });
}
