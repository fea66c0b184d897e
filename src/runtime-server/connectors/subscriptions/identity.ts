/**
 * The id of a subscription. It is derived from owner, connector, event and arguments, so that subscribing to the same thing again
 * finds the same row. Pure.
 */
import { createHash } from 'node:crypto';
import { canonicalJson } from '../../../kit/ledger/canonical.ts';

const hexDigits = 24;

/** `sub_` and 24 hex digits. The order of the arguments' keys and the notation of their numbers do not matter. */
export function subscriptionId(
  ownerId: string,
  connectorUrl: string,
  name: string,
  given: Readonly<Record<string, unknown>>,
): string {
  const text = canonicalJson([ownerId, connectorUrl, name, given]);
  return `sub_${createHash('sha256').update(text).digest('hex').slice(0, hexDigits)}`;
}
