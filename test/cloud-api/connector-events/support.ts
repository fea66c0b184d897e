/** A cloud with one computer whose engine takes events as the contract says, and a server that signs what it posts. */
import { createHmac, randomBytes } from 'node:crypto';
import {
  deliverEvent,
  type EventDelivery,
  registerSubscription,
  unregisterSubscription,
} from '../../../src/contracts/connectors/relay.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { type BoundRoute, bind } from '../../../src/kit/http/types.ts';
import { createSignedCaller } from '../../../src/kit/signing/signed-call.ts';
import { type PairOptions, startPair } from '../../host/support.ts';
import type { Reply } from '../../kit/http/support.ts';

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

export interface ConnectorPairOptions extends PairOptions {
  /** What the computer answers; default: it triggers a ticket. */
  readonly answer?: (delivery: EventDelivery) => unknown;
}

export async function startConnectorPair({ answer, routes = [], ...options }: ConnectorPairOptions = {}) {
  const { clock = systemClock } = options;
  const delivered: EventDelivery[] = [];
  const door = bind(deliverEvent, async ({ body }) => {
    delivered.push(body);
    await answer?.(body);
    const eventId = 'event' in body ? body.event.eventId : '';
    return { body: { status: 'triggered' as const, ticketId: `ticket_${delivered.length}`, eventId } };
  });
  const pair = await startPair({ ...options, routes: [door, ...routes] as BoundRoute[] });
  const device = createSignedCaller({
    runtimeId: pair.device.runtimeId,
    key: pair.device.key,
    clock,
    target: () => ({ host: '127.0.0.1', port: pair.webPort }),
  });
  const signal = new AbortController().signal;
  const ask = (method: string, path: string, body?: unknown) => device({ method, path, body, signal });

  return {
    ...pair,
    delivered,
    /** Event ids as the computer got them. */
    eventIds: () => delivered.flatMap((one) => ('event' in one ? [one.event.eventId] : [])),
    ask,
    /** Answers the callback's path. */
    async register(secret: string, id = sub): Promise<string> {
      const body = { secret, connectorId: 'connector_1', eventName: 'issue.opened' };
      const answered = await ask('PUT', registerSubscription.path.replace(':sub', id), body);
      if (answered.status !== 200) throw new Error(JSON.stringify(answered));
      return new URL((answered.body as { callbackUrl: string }).callbackUrl).pathname;
    },
    unregister: (id = sub) => ask('DELETE', unregisterSubscription.path.replace(':sub', id)),
    /** As a server does: without a credential. */
    post: (path: string, raw: string | Buffer, headers: Record<string, string>): Promise<Reply> =>
      pair.callWeb('POST', path, { token: null, raw, headers }),
    send(path: string, secret: string, eventId: string, more: object = {}): Promise<Reply> {
      const text = eventText(eventId, more);
      return this.post(path, text, signed(secret, eventId, text, clock.now()));
    },
  };
}
