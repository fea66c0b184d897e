/**
 * Receives the carrier's posts: checks the signature over the raw bytes, the time, the size, and that the event is about the number that it was
 * posted to; then stores the receipt and the row for its reader in one durable commit, before the answer. The work is done later, because the carrier
 * waits only two seconds.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../../contracts/common/errors.ts';
import type { Clock } from '../../../kit/clock/clock.ts';
import { jsonIn, maxDepth, readRaw } from '../../../kit/http/body.ts';
import { notSigned, tooManyWait } from '../../../kit/receipts/refusals.ts';
import { isDeeper } from '../../../kit/schemas/limits.ts';
import { isOfNumber, type PostedEvent, readEvent } from '../carrier/telnyx/events.ts';
import { isSigned, readPublicKey } from '../carrier/telnyx/signature.ts';
import type { CarrierEvent, HeldNumber } from '../ports.ts';
import type { Delivery } from './delivery.ts';

export const largestPosted = 256 * 1024;

export type Taken = 'accepted' | 'duplicate' | 'ignored';

/** `to`: the number of the address; null: the carrier's own. Throws 401, 413, 400 for a body that is no event, 429. */
type Receive = (
  request: IncomingMessage,
  to: HeldNumber | null,
  query: { readonly tag?: string | undefined },
) => Promise<Taken>;

const invalidSignature = () => notSigned('Sign it with the account’s key and the current time.');

export function createReceiver({
  clock,
  publicKey,
  delivery,
}: {
  readonly clock: Clock;
  /** Base64 of 32 bytes; with any other value, every post is refused. */
  readonly publicKey: string;
  readonly delivery: Pick<Delivery, 'readerOf' | 'laneOf' | 'isFull' | 'take'>;
}): Receive {
  const key = readPublicKey(publicKey);

  return async (request, to, { tag }) => {
    const body = await readRaw(request, largestPosted);
    const now = clock.now();
    if (key === null || !isSigned(key, request.headers, body, now)) throw invalidSignature();
    const posted = read(body, String(request.headers['telnyx-timestamp']));
    // The same response as for a forged one: a replay learns nothing.
    if (to !== null && !isOfNumber(posted, to.e164)) throw invalidSignature();
    const reader = delivery.readerOf(posted.type);
    if (reader === null) return 'ignored';
    const whole = eventOf(posted, to, tag, now);
    const event = { ...whole, payload: reader.keep?.(whole.payload) ?? whole.payload };
    const lane = delivery.laneOf(reader, event);
    if (delivery.isFull(lane)) throw tooManyWait('Too many events are waiting.');
    const seen = await delivery.take(lane, receiptOf(posted), event);
    return seen === 'first' ? 'accepted' : 'duplicate';
  };
}

/** An event that goes to two addresses is accepted at both. */
const receiptOf = ({ id, type }: PostedEvent) => hash('sha256', `${type} ${id}`, 'base64url');

function eventOf(
  { id, type, occurredAt, payload }: PostedEvent,
  to: HeldNumber | null,
  tag: string | undefined,
  now: number,
): CarrierEvent {
  const tags = Array.isArray(payload.tags) ? payload.tags : [];
  return {
    id,
    type,
    receivedAt: now,
    numberId: to?.id ?? null,
    // Its clock may be ahead of ours.
    occurredAt: Math.min(occurredAt ?? now, now),
    payload: tag === undefined ? payload : { ...payload, tags: [...tags, tag] },
  };
}

function read(bytes: Buffer, timestamp: string): PostedEvent {
  const value = jsonIn(bytes);
  if (value === undefined) throw invalid('it is not JSON in UTF-8');
  // Nobody reads it, and serializing it again would overflow the stack.
  if (isDeeper(value, maxDepth)) throw invalid(`it nests deeper than ${maxDepth} levels`);
  const event = readEvent(value, bytes, timestamp);
  if (event === null) throw invalid('it has no id and type that can be read');
  return event;
}

function invalid(what: string): AppError {
  return new AppError('usage', `This is not an event: ${what}.`, 'Send it in the format of API version 2.', {
    wireCode: 'bad_request',
  });
}
