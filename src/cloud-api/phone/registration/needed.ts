/** Which numbers carriers let text only once who texts is registered (interface.md, "Number smsState": a new US number). Pure. */
import type { HeldNumber } from '../ports.ts';

/** Elsewhere nobody asks for it, and they text at once; a toll-free number is verified wherever it is. */
export function needsRegistration({ type, country }: Pick<HeldNumber, 'country' | 'type'>): boolean {
  return type === 'toll_free' || country === 'US';
}
