/** The numbers that may text only after their business is registered: US numbers, and toll-free numbers everywhere. Pure. */
import type { HeldNumber } from '../ports.ts';

/** Other countries require nothing, so their numbers text at once; a toll-free number is verified in any country. */
export function needsRegistration({ type, country }: Pick<HeldNumber, 'country' | 'type'>): boolean {
  return type === 'toll_free' || country === 'US';
}
