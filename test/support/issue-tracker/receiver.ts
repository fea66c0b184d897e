/** Where a tracker's messages go in its tests: an address per receiver, everything that came, and the answer it is given. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** `handle` answers instead of the receiver, which echoes challenges and takes everything else. */
  answerWith(handle: ((message: Received) => { readonly status: number; readonly body?: string }) | undefined): void;
  close(): Promise<void>;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  let handle: Parameters<Receiver['answerWith']>[0];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const message = { headers: request.headers, body: Buffer.concat(parts).toString() };
    received.push(message);
    const { status, body = '' } = handle?.(message) ?? { status: 200, body: echo(message.body) };
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?of=a`,
    received,
    answerWith: (next) => {
      handle = next;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function echo(body: string): string {
  const { challenge } = JSON.parse(body) as { challenge?: string };
  return challenge === undefined ? '' : JSON.stringify({ challenge });
}
