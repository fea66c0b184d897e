/**
 * The trail of events: the computer's entries, merged with the events that never reached it. Pages through both lists at once. Must not know how a
 * computer is asked.
 */
import type { TrailEvent } from '../../contracts/connectors/subscription.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { LeftReceipt, Place } from './receipts.ts';

/** Where a page begins: in the computer's list at the page of `cursor` after its first `skip`, in ours after `before`. */
interface TrailPlace {
  readonly cursor: string | null;
  readonly skip: number;
  readonly before: Place | null;
}

export const trailStart: TrailPlace = { cursor: null, skip: 0, before: null };

interface MergedTrail {
  readonly events: TrailEvent[];
  /** Null: that was all. */
  readonly next: TrailPlace | null;
}

/** `theirs`: the computer's page of `at.cursor`; `left`: our entries after `at.before`, with possibly more to come if the page is full. */
export function mergeTrail(
  at: TrailPlace,
  limit: number,
  theirs: { readonly events: readonly TrailEvent[]; readonly nextCursor: string | null },
  left: readonly LeftReceipt[],
): MergedTrail {
  const there = new Set(theirs.events.map(({ eventId }) => eventId));
  const events: TrailEvent[] = [];
  let { skip, before } = at;
  let ours = 0;
  while (events.length < limit) {
    const their = theirs.events[skip];
    const our = left[ours];
    // Our remaining entries may be older than the computer's next page, so they wait for it.
    if (their === undefined && (our === undefined || theirs.nextCursor !== null)) break;
    const ourTurn = our !== undefined && (their === undefined || our.receivedAt > timeOf(their));
    // The computer took it a moment ago and it is not noted here yet, or it was refused there and both know: show only the computer's entry.
    const known = our !== undefined && (ourTurn ? there.has(our.eventId) : our.eventId === their?.eventId);
    if (!ourTurn) {
      events.push(their as TrailEvent);
      skip += 1;
    } else if (!known) events.push(entryOf(our));
    if (our !== undefined && (ourTurn || known)) {
      before = { at: our.receivedAt, id: our.id };
      ours += 1;
    }
  }
  const read = skip >= theirs.events.length;
  if (read && theirs.nextCursor !== null) return { events, next: { cursor: theirs.nextCursor, skip: 0, before } };
  const over = read && ours === left.length && left.length < limit;
  return { events, next: over ? null : { cursor: at.cursor, skip, before } };
}

const timeOf = ({ receivedAt, relayedAt }: TrailEvent) => Date.parse(receivedAt ?? relayedAt ?? '') || 0;

function entryOf({ eventId, name, status, reason, receivedAt }: LeftReceipt): TrailEvent {
  const never = { about: null, relayedAt: null, ticketId: null, runs: [] };
  return { eventId, name, status, reason, receivedAt: iso(receivedAt), ...never };
}

export function writePlace(place: TrailPlace): string {
  const { cursor, skip, before } = place;
  return Buffer.from(JSON.stringify([cursor, skip, before?.at ?? null, before?.id ?? null])).toString('base64url');
}

/** Null: not one of our cursors. */
export function readPlace(text: string): TrailPlace | null {
  try {
    const [cursor, skip, at, id] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as unknown[];
    if (!(cursor === null || typeof cursor === 'string') || !Number.isSafeInteger(skip) || (skip as number) < 0)
      return null;
    if (at === null && id === null) return { cursor, skip: skip as number, before: null };
    if (!Number.isSafeInteger(at) || typeof id !== 'string') return null;
    return { cursor, skip: skip as number, before: { at: at as number, id } };
  } catch {
    return null;
  }
}
