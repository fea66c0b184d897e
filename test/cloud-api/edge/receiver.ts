/**
 * An app's address for webhooks, which checks what comes with `standardwebhooks` alone: no code of the product. It echoes challenges
 * and takes events, until a test says otherwise.
 */

import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { onEnd } from '../../support/at-end.ts';

export interface Received {
  readonly path: string;
  readonly id: string;
  readonly subscription: string;
  /** Seconds since the epoch. */
  readonly timestamp: number;
  readonly signatures: readonly string[];
  readonly text: string;
  readonly body: Record<string, unknown>;
  /** Which of the receiver's secrets it was signed with. */
  readonly signedWith: readonly string[];
  readonly status: number;
}

export interface Receiver {
  readonly host: string;
  readonly url: string;
  /** The newest last; each counts for whoever verifies. */
  readonly secrets: string[];
  readonly received: readonly Received[];
  /** Events alone, in the order in which they were taken. */
  events(): readonly Received[];
  control(type: string): readonly Received[];
  /** What a request is answered; null: as usual. A function that never resolves hangs. */
  answer: (request: { readonly body: Record<string, unknown>; readonly response: ServerResponse }) => number | null;
}

export function newSecret(bytes = 32): string {
  return `whsec_${randomBytes(bytes).toString('base64')}`;
}

export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const receiver = { secrets: [newSecret()], answer: () => null } as unknown as Receiver;

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const header = (name: string) => String(request.headers[name] ?? '');
    const signed = {
      'webhook-id': header('webhook-id'),
      'webhook-timestamp': header('webhook-timestamp'),
      'webhook-signature': header('webhook-signature'),
    };
    const signedWith = receiver.secrets.filter((secret) => isSigned(secret, text, signed));
    const body = JSON.parse(text) as Record<string, unknown>;
    const asked = receiver.answer({ body, response });
    const usual = signedWith.length === 0 ? 401 : body.type === 'verification' ? 200 : 204;
    const status = asked ?? usual;
    received.push({
      path: request.url ?? '',
      id: signed['webhook-id'],
      subscription: header('x-mcp-subscription-id'),
      timestamp: Number(signed['webhook-timestamp']),
      signatures: signed['webhook-signature'].split(' '),
      text,
      body,
      signedWith,
      status,
    });
    // Never answered.
    if (status === 0) return;
    if (status >= 300 && status < 400) response.setHeader('location', '/elsewhere');
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(status === 200 ? JSON.stringify({ challenge: body.challenge }) : undefined);
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(receiver, {
    host,
    url: `http://${host}/hook?tenant=a%20b`,
    received,
    events: () => received.filter(({ body, status }) => body.type === undefined && status === 204),
    control: (type: string) => received.filter(({ body }) => body.type === type),
  });
}

/** The library's tolerance is of the real time, a test's clock is not: the timestamp is checked by the test. */
function isSigned(secret: string, text: string, headers: Record<string, string>): boolean {
  const at = new Date(Number(headers['webhook-timestamp']) * 1000);
  const signature = new Webhook(secret).sign(headers['webhook-id']!, at, text);
  return headers['webhook-signature']!.split(' ').includes(signature);
}
