/** The moves of a subscription's status, and which errors are retried automatically. Pure. */
import type { Subscription, SubscriptionReason } from '../../../contracts/connectors/subscription.ts';
import { transientReasons } from '../../../contracts/connectors/subscription.ts';

export type SubscriptionStatus = Subscription['status'];

/**
 * Removal is from each and is no state. `active` to itself is a refresh; to `pending`, another home cloud: nothing comes until that one
 * knows of it. Out of `needs_reauth` leads only a new beginning, for its secret is void.
 */
export const subscriptionMoves: Readonly<Record<SubscriptionStatus, readonly SubscriptionStatus[]>> = {
  pending: ['active', 'error', 'needs_reauth'],
  active: ['active', 'pending', 'error', 'needs_reauth'],
  error: ['pending', 'active', 'error', 'needs_reauth'],
  needs_reauth: ['pending'],
};

export function mayMove(from: SubscriptionStatus, to: SubscriptionStatus): boolean {
  return subscriptionMoves[from].includes(to);
}

const transient: ReadonlySet<string> = new Set(transientReasons);
/** Tried again every minute; the others wait for the person. */
export function isTransient(reason: SubscriptionReason): boolean {
  return transient.has(reason);
}

const minute = 60_000;
const refreshAheadMs = 15 * minute;

/** Whether a refresh is due: within 15 minutes of its end, or within half of its window where that is less. Milliseconds. */
export function isDue(at: { readonly refreshedAt: number; readonly refreshBefore: number }, now: number): boolean {
  const half = (at.refreshBefore - at.refreshedAt) / 2;
  return at.refreshBefore - now <= Math.min(refreshAheadMs, half);
}
