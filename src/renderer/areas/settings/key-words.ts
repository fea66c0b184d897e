/** A key's possible scopes and lifetimes, in a person's words. Pure. */
import type { Scope } from '../../../contracts/common/route.ts';
import { KeyTools } from '../../../contracts/identity/keys.ts';

/** Scopes that a person may give to a key; the operator of the server gives `admin`. */
export const grantable: readonly Scope[] = ['agents:read', 'bots:act', 'compute', 'computers', 'work'];

/** Days until a new key ends; null: never. */
export const lifetimes = [
  { days: 30, name: '30 days' },
  { days: 90, name: '90 days' },
  { days: 365, name: 'A year' },
  { days: null, name: 'Never' },
] as const;

/** Whether the server takes it as a name of a key's tools. */
export const isToolPattern = (text: string): boolean => KeyTools.shape.names.element.safeParse(text).success;

/** A line of a list: the first few names stand for the others. */
const maxShown = 5;

export function toolWords({ names, search }: KeyTools): string {
  const shown = names.slice(0, maxShown).join(', ');
  const more = names.length > maxShown ? ` and ${names.length - maxShown} more` : '';
  return `only the tools ${shown}${more}${search === true ? ', found by search' : ''}`;
}

const day = 86_400_000;

export function expiryWords(expiresAt: string | null, now: number): string {
  if (expiresAt === null) return 'never expires';
  const left = Date.parse(expiresAt) - now;
  if (left <= 0) return 'expired';
  if (left < day) return 'expires today';
  // A key that was just made for 90 days does not say 89.
  const days = Math.round(left / day);
  return days === 1 ? 'expires in a day' : `expires in ${days} days`;
}
