/** Reads the carrier's posts: in an envelope, or flat as the registry sends them. Pure; each event's reader decides what it means. */
import { hash } from 'node:crypto';

type Json = Readonly<Record<string, unknown>>;

export interface PostedEvent {
  readonly id: string;
  readonly type: string;
  /** Milliseconds since the epoch; null: the event does not say. */
  readonly occurredAt: number | null;
  readonly payload: Json;
}

const maxIdLength = 200;
const maxTypeLength = 100;

/** Null: no event. `at`: the signed time, which distinguishes flat events with equal content. */
export function readEvent(body: unknown, bytes: Buffer, at: string): PostedEvent | null {
  if (!isObject(body)) return null;
  if (isObject(body.data) && 'event_type' in body.data) return enveloped(body.data);
  const type = flatType(body);
  if (type === null) return null;
  const id = hash('sha256', Buffer.concat([Buffer.from(`${at}|`), bytes]), 'base64url');
  return { id: `flat-${id}`, type, occurredAt: null, payload: body };
}

function enveloped({ id, event_type: type, occurred_at: occurred, payload }: Json): PostedEvent | null {
  if (!isName(id, maxIdLength) || !isName(type, maxTypeLength)) return null;
  const at = typeof occurred === 'string' ? Date.parse(occurred) : Number.NaN;
  return { id, type, occurredAt: Number.isNaN(at) ? null : at, payload: isObject(payload) ? payload : {} };
}

/** Which of the registry's events it is, by the fields it has. */
function flatType(body: Json): string | null {
  const names = (...fields: string[]) => fields.some((field) => isName(body[field], maxIdLength));
  if (names('phoneNumber') && names('campaignId')) return '10dlc.phone_number.update';
  if (names('campaignId')) return '10dlc.campaign.update';
  if (names('brandId')) return '10dlc.brand.update';
  if (names('verificationRequestId', 'verification_request_id')) return 'toll_free_verification.status_update';
  return null;
}

/**
 * Whether the event is about this number. All numbers of an account share one key, so an event signed for one must not
 * count for another. An event that names no number, such as one of a port, belongs to the address that it was posted
 * to.
 */
export function isOfNumber({ type, payload }: PostedEvent, e164: string): boolean {
  const to = numbersIn(payload.to);
  const from = numbersIn(payload.from);
  if (to.length === 0 && from.length === 0) return !type.startsWith('message.');
  if (payload.direction === 'inbound' || payload.direction === 'incoming') {
    return to.includes(e164) || numbersIn(payload.cc).includes(e164);
  }
  if (payload.direction === 'outbound' || payload.direction === 'outgoing') return from.includes(e164);
  return to.includes(e164) || from.includes(e164);
}

function numbersIn(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(numbersIn);
  return isObject(value) && typeof value.phone_number === 'string' ? [value.phone_number] : [];
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isName = (value: unknown, maxLength: number): value is string =>
  typeof value === 'string' && value !== '' && value.length <= maxLength;
