/** Money and tokens as they are shown. Pure. */
import type { Used } from '../../contracts/factory/spending-routes.ts';

const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });
const compact = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

/** Small amounts keep two digits that say something: a model's request costs less than a cent. */
export function money(cents: number): string {
  if (cents > 0 && cents < 1) return `$${(cents / 100).toPrecision(2)}`;
  return dollars.format(cents / 100);
}

/** Dollars, as far as what the models cost is known. */
export function costOf({ requests, cents, unpriced }: Used): string {
  if (requests === 0) return '–';
  return unpriced === requests ? 'cost unknown' : money(cents);
}

export const compactNumber = (n: number): string => compact.format(n);

export function tokensOf({ inputTokens, outputTokens }: Used): string {
  const all = inputTokens + outputTokens;
  return all === 0 ? '' : `${compactNumber(all)} tokens`;
}
