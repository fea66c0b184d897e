/**
 * Makes a payload fit into one push: 3,993 bytes of text are the most that every service takes. Text is shortened, ids and links never. A question
 * that cannot be shown whole loses its buttons, so that nobody approves what they saw only in part. Pure.
 */
import type { PushPayload } from '../../contracts/notifications/push.ts';

export const largestPayload = 3_900;
/** The limit to try if a service says that even that is too much. */
export const smallPayload = 1_900;

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
