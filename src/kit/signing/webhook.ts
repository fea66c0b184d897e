/**
 * Standard Webhooks: `whsec_` secrets and `v1` signatures over `id.timestamp.body`. First user: events of connectors,
 * verified; second: deliveries of the public edge, signed. Must not know what is sent.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** In either direction, seconds. */
const webhookTolerance = 300;
const form = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

/** The key of a secret; null: it is not `whsec_` and base64 of 24 to 64 bytes. */
export function webhookKey(secret: string): Buffer | null {
  const text = form.exec(secret)?.[1];
  if (text === undefined || text.length % 4 !== 0) return null;
  const key = Buffer.from(text, 'base64');
  return key.length >= 24 && key.length <= 64 && key.toString('base64') === text ? key : null;
}

export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** One signature, `v1,…`. `id` without dots; `timestamp`: seconds since the epoch. */
export function signWebhook(key: Buffer, id: string, timestamp: number, body: string | Buffer): string {
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
}

interface SignedWebhook {
  readonly id: string;
  /** The header's text. */
  readonly timestamp: string;
  /** Signatures, separated by spaces. */
  readonly signature: string;
  /** The raw body: serialised again, it would differ. */
  readonly body: Buffer;
}

/** Whether one of its signatures is by one of these keys, and its time within the tolerance of `now` (milliseconds). */
export function isSignedWebhook(keys: readonly Buffer[], webhook: SignedWebhook, now: number): boolean {
  if (!/^\d{1,12}$/.test(webhook.timestamp) || webhook.id === '') return false;
  const timestamp = Number(webhook.timestamp);
  if (Math.abs(now / 1000 - timestamp) > webhookTolerance) return false;
  const given = webhook.signature
    .split(' ')
    .slice(0, 10)
    .filter((one) => one.startsWith('v1,'))
    .map((one) => Buffer.from(one));
  return keys.some((key) => {
    const right = Buffer.from(signWebhook(key, webhook.id, timestamp, webhook.body));
    return given.some((one) => one.length === right.length && timingSafeEqual(one, right));
  });
}
