/**
 * Which numbers carriers let text only once their business is registered: US numbers, and toll-free numbers everywhere.
 * Pure.
 */
import type { HeldNumber } from '../ports.ts';

/** Elsewhere nobody asks for it, and they text at once; a toll-free number is verified wherever it is. */
export function needsRegistration({ type, country }: Pick<HeldNumber, 'country' | 'type'>): boolean {
  return type === 'toll_free' || country === 'US';
}
