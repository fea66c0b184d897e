/** The receiver on a real server over a store of either engine, a carrier's key, and readers of a test's own. */
import { generateKeyPairSync, sign } from 'node:crypto';
import type { CarrierEvent, CarrierEventReader, HeldNumber } from '../../../../src/cloud-api/phone/ports.ts';
import { createWebhooks, phoneWebhookMigrations } from '../../../../src/cloud-api/phone/webhooks/index.ts';
import { laneMigrations } from '../../../../src/kit/lane/migrations.ts';
import { createSharedLanes } from '../../../../src/kit/lane/shared-lanes.ts';
import { movableClock } from '../../../host/support.ts';
import { onEnd, serve } from '../../../kit/http/support.ts';
import type { Place } from '../../../support/engines.ts';

export interface Key {
  /** Base64 of 32 bytes, as the carrier gives it out. */
  readonly publicKey: string;
  headers(body: string, atMs: number): Record<string, string>;
}

export function newKey(): Key {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return {
    publicKey: publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64'),
    headers(body, atMs) {
      const timestamp = String(Math.floor(atMs / 1000));
      const signature = sign(null, Buffer.from(`${timestamp}|${body}`), privateKey).toString('base64');
      return { 'telnyx-timestamp': timestamp, 'telnyx-signature-ed25519': signature };
    },
  };
}

export const address = 'ab'.repeat(32);
export const e164 = '+19705550150';
const number = { id: 'number_1', e164 } as HeldNumber;

/** As the carrier writes one. */
export function eventText(id: string, type = 'message.received', payload: Record<string, unknown> = {}): string {
  return JSON.stringify({
    data: {
      record_type: 'event',
      event_type: type,
      id,
      occurred_at: '2026-01-02T03:04:05.000Z',
      payload: {
        id: `sms-${id}`,
        direction: 'inbound',
        text: 'Hello',
        from: { phone_number: '+12025550101' },
        to: [{ phone_number: e164, status: 'webhook_delivered' }],
        ...payload,
      },
    },
    meta: { attempt: 1, delivered_to: 'https://gantry.example' },
  });
}

export const relay = `/channels/in/${address}`;
export const carrierPath = '/api/v1/phone/webhooks/telnyx';

export async function openReceiver(
  place: Place,
  how: {
    take?: (event: CarrierEvent) => Promise<void>;
    keep?: NonNullable<CarrierEventReader['keep']>;
    publicKey?: string;
    clock?: ReturnType<typeof movableClock>;
    key?: Key;
  } = {},
) {
  const clock = how.clock ?? movableClock();
  const store = await place.open([...laneMigrations, ...phoneWebhookMigrations], clock);
  const key = how.key ?? newKey();
  const taken: CarrierEvent[] = [];
  const revoked = new Set<string>();
  const logged: { message: string; facts: unknown }[] = [];
  const log = (message: string, facts?: unknown) => void logged.push({ message, facts });
  const reader = (prefix: string): CarrierEventReader => ({
    prefix,
    ...(how.keep === undefined ? {} : { keep: how.keep }),
    subject: ({ payload }) => String((payload.from as { phone_number?: string } | undefined)?.phone_number ?? 'one'),
    async take(event) {
      await how.take?.(event);
      taken.push(event);
    },
  });
  const webhooks = createWebhooks({
    store,
    clock,
    carrier: { name: 'telnyx' },
    publicKey: how.publicKey ?? key.publicKey,
    log: { warn: log, error: log },
    numbers: { byAddress: async (given) => (given === address && !revoked.has(given) ? number : null) },
    readers: ['message.', '10dlc.', 'porting_order.', 'toll_free'].map(reader),
    openLanes: (options) =>
      createSharedLanes({
        store,
        clock,
        random: () => 0.5,
        ...options,
        name: `phone ${options.name}`,
        backoffMs: [20],
      }),
  });
  await webhooks.start?.();
  onEnd(async () => webhooks.close?.());
  const web = await serve({ routes: webhooks.routes });
  const post = (path: string, raw: string | Buffer, headers: Record<string, string>) =>
    web.call('POST', path, { token: null, raw, headers });
  return {
    clock,
    store,
    key,
    taken,
    revoked,
    logged,
    post,
    webhooks,
    send: (text: string, path = relay) => post(path, text, key.headers(text, clock.now())),
    rows: (table: string) => store.all<Record<string, unknown>>(`SELECT * FROM ${table}`),
  };
}
