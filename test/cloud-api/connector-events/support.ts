/** A server that signs what it posts, a computer that registers for it, and a whole cloud with one such computer. */
import { createHmac, randomBytes } from 'node:crypto';
import {
  deliverEvent,
  type EventDelivery,
  registerSubscription,
  unregisterSubscription,
} from '../../../src/contracts/connectors/relay.ts';
import { type Clock, systemClock } from '../../../src/kit/clock/clock.ts';
import { type BoundRoute, bind } from '../../../src/kit/http/types.ts';
import { createSignedCaller, type SignedAnswer, type SignedCall } from '../../../src/kit/signing/signed-call.ts';
import { type PairOptions, startPair } from '../../host/support.ts';
import type { Call, Reply } from '../../kit/http/support.ts';

export const sub = `sub_${'ab'.repeat(12)}`;
export const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`;

/** As Standard Webhooks says, with nothing of ours. */
export function signed(secret: string, id: string, body: string, at = Date.now()): Record<string, string> {
  const timestamp = String(Math.floor(at / 1000));
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

export const eventText = (eventId: string, more: object = {}) =>
  JSON.stringify({ eventId, name: 'issue.opened', timestamp: '2026-01-02T03:04:05Z', data: { n: 1 }, ...more });

/** What the computer asks of its cloud, and what a server posts there. */
export function senderTo(
  call: Call,
  device: (request: SignedCall, computerId?: string) => Promise<SignedAnswer>,
  clock: Clock,
) {
  const signal = new AbortController().signal;
  const ask = (method: string, path: string, body?: unknown, id?: string) => device({ method, path, body, signal }, id);
  /** As a server does: without a credential. */
  const post = (path: string, raw: string | Buffer, headers: Record<string, string>): Promise<Reply> =>
    call('POST', path, { token: null, raw, headers });
  return {
    ask,
    put: (secret: string, id = sub) =>
      ask('PUT', registerSubscription.path.replace(':sub', id), {
        secret,
        connectorId: 'connector_1',
        eventName: 'issue.opened',
      }),
    /** Answers the callback's path. */
    async register(secret: string, id = sub): Promise<string> {
      const answered = await this.put(secret, id);
      if (answered.status !== 200) throw new Error(JSON.stringify(answered));
      return new URL((answered.body as { callbackUrl: string }).callbackUrl).pathname;
    },
    unregister: (id = sub) => ask('DELETE', unregisterSubscription.path.replace(':sub', id)),
    post,
    /** Signed by the clock's time. */
    postSigned: (path: string, secret: string, id: string, text: string) =>
      post(path, text, signed(secret, id, text, clock.now())),
    send(path: string, secret: string, eventId: string, more: object = {}): Promise<Reply> {
      return this.postSigned(path, secret, eventId, eventText(eventId, more));
    },
  };
}

export interface ConnectorPairOptions extends PairOptions {
  /** What the computer does with what it is brought; default: it triggers a ticket. */
  readonly answer?: (delivery: EventDelivery) => unknown;
}

export async function startConnectorPair({ answer, routes = [], ...options }: ConnectorPairOptions = {}) {
  const { clock = systemClock } = options;
  const delivered: EventDelivery[] = [];
  const listener = bind(deliverEvent, async ({ body }) => {
    await answer?.(body);
    delivered.push(body);
    const eventId = 'event' in body ? body.event.eventId : '';
    return { body: { status: 'triggered' as const, ticketId: `ticket_${delivered.length}`, eventId } };
  });
  const pair = await startPair({ ...options, routes: [listener, ...routes] as BoundRoute[] });
  const device = createSignedCaller({
    runtimeId: pair.device.runtimeId,
    key: pair.device.key,
    clock,
    target: () => ({ host: '127.0.0.1', port: pair.webPort }),
  });
  return {
    ...pair,
    ...senderTo(pair.callWeb, device, clock),
    delivered,
    /** Event ids as the computer got them. */
    eventIds: () => delivered.flatMap((one) => ('event' in one ? [one.event.eventId] : [])),
  };
}
