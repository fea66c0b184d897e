/**
 * The hash that an approval is bound to: an answer is valid only for that action. First user: the gate; second: tools.
 * Must not know what an action is.
 */
import { hash } from 'node:crypto';
import { canonicalJson } from '../ledger/canonical.ts';

/** Hex SHA-256 over the canonical JSON: the order of keys does not matter, every value does. */
export function actionHash(action: Readonly<Record<string, unknown>>): string {
  return hash('sha256', canonicalJson(action), 'hex');
}
