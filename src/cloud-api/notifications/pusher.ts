/**
 * One push to one device: encrypted, signed, sent through the guarded client, and the meaning of the push service's response (RFC 8030). Must not
 * know rows or what is pushed.
 */
import { hash } from 'node:crypto';
import type { PushPayload } from '../../contracts/notifications/push.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Egress, EgressAnswer } from '../../kit/egress/egress.ts';
import type { Subscription } from './devices.ts';
import type { PushKeys } from './push-keys.ts';

/**
 * `retry`: the service may accept it later, at `at` (milliseconds since the epoch) if it says when; `answered` false: it may even have accepted it.
 * `gone`: the device no longer exists.
 */
export type PushResult =
  | { readonly outcome: 'sent' }
  | { readonly outcome: 'gone' | 'refused' | 'too_large' | 'unreachable'; readonly detail: string }
  | { readonly outcome: 'retry'; readonly detail: string; readonly answered: boolean; readonly at?: number };

interface PushOptions {
  /** Milliseconds since the epoch: the service drops it after that. */
  readonly until: number;
  readonly urgent: boolean;
}

export interface Pusher {
  push(to: Subscription, payload: PushPayload, options: PushOptions): Promise<PushResult>;
}

/** Characters that a topic may have (RFC 8030, 5.4). */
const topicLength = 32;
const maxRetryAfterMs = 60 * 60_000;

export function createPusher({
  keys,
  egress,
  clock,
  log,
}: {
  readonly keys: PushKeys;
  readonly egress: Pick<Egress, 'request'>;
  readonly clock: Clock;
  readonly log: { error(message: string, facts?: Record<string, unknown>): void };
}): Pusher {
  // Warns the operator once: a key that one service refuses is refused for every device.
  let told = false;

  async function post(to: Subscription, payload: PushPayload, options: PushOptions): Promise<EgressAnswer> {
    // Loaded with the first push, so that it does not slow the start.
    const { default: webpush } = await import('web-push');
    const details = webpush.generateRequestDetails(to, JSON.stringify(payload), {
      TTL: Math.max(0, Math.floor((options.until - clock.now()) / 1000)),
      urgency: options.urgent ? 'high' : 'normal',
      // A new push of the same matter replaces one that still waits at the service.
      topic: hash('sha256', payload.tag, 'base64url').slice(0, topicLength),
    });
    const headers = Object.entries({ ...details.headers, authorization: await keys.authorization(to.endpoint) });
    return egress.request({
      method: 'POST',
      url: to.endpoint,
      headers: Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), String(value)])),
      body: details.body ?? '',
    });
  }

  function read({ status, headers, body }: EgressAnswer): PushResult {
    const detail = `The push service answered ${status}.`;
    if (status >= 200 && status < 300) return { outcome: 'sent' };
    if (status === 404 || status === 410) return { outcome: 'gone', detail };
    if (status === 413) return { outcome: 'too_large', detail };
    if (status === 408 || status === 429 || status >= 500) {
      const at = retryAt(headers['retry-after'], clock.now());
      return { outcome: 'retry', detail, answered: true, ...(at === null ? {} : { at }) };
    }
    if ((status === 401 || status === 403) && !told) {
      told = true;
      // Its words are only for the operator: a person may have chosen an address that only the operator may read.
      const said = body.toString('utf8').slice(0, 200);
      log.error('A push service does not take the push keys: devices have to be registered again.', { status, said });
    }
    return { outcome: 'refused', detail };
  }

  return {
    async push(to, payload, options) {
      try {
        const first = read(await post(to, fitPayload(payload, largestPayload), options));
        if (first.outcome !== 'too_large') return first;
        return read(await post(to, fitPayload(payload, smallPayload), options));
      } catch (error) {
        const { code, message } = error as { code?: unknown; message: string };
        // Neither recovers: an address that is not public, or a subscription with invalid keys.
        return code === 'transport'
          ? { outcome: 'retry', detail: message, answered: false }
          : { outcome: 'unreachable', detail: message };
      }
    },
  };
}

/** Seconds or a date (RFC 9110, 10.2.3); null for neither. */
function retryAt(header: string | string[] | undefined, now: number): number | null {
  if (typeof header !== 'string') return null;
  const at = /^\d+$/.test(header) ? now + Number(header) * 1000 : Date.parse(header);
  return Number.isNaN(at) ? null : Math.min(Math.max(at, now), now + maxRetryAfterMs);
}

/**
 * Makes a payload fit into one push: 3,993 bytes of text are the most that every service takes. Text is shortened, ids and links never. A question
 * that cannot be shown whole loses its buttons, so that nobody approves what they saw only in part. Pure.
 */
export const largestPayload = 3_900;
/** The limit to try if a service says that even that is too much. */
const smallPayload = 1_900;

export function fitPayload(whole: PushPayload, largest: number): PushPayload {
  if (sizeOf(whole) <= largest) return whole;
  const { approve: _, ...data } = whole.data;
  const payload = { ...whole, data };
  const over = Math.max(0, sizeOf(payload) - largest);
  const body = over === 0 ? payload.body : shorten(payload.body, over);
  const shorter = { ...payload, body };
  const still = sizeOf(shorter) - largest;
  return still <= 0 ? shorter : { ...shorter, title: shorten(payload.title, still) };
}

/** Bytes of the JSON. */
export function sizeOf(payload: PushPayload): number {
  return Buffer.byteLength(JSON.stringify(payload));
}

/** Shortens by at least `by` bytes of JSON and ends in an ellipsis; keeps characters whole. */
function shorten(text: string, by: number): string {
  const wanted = written(text) - by - Buffer.byteLength('…');
  let size = 0;
  let kept = '';
  for (const character of text) {
    size += written(character);
    if (size > wanted) break;
    kept += character;
  }
  return kept === '' ? '' : `${kept}…`;
}

/** Bytes of a text inside JSON. */
function written(text: string): number {
  return Buffer.byteLength(JSON.stringify(text)) - 2;
}
