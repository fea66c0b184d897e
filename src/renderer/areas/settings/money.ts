/** Money as it is shown and typed, and months. Pure. */

const dollars = new Intl.NumberFormat('en-US', { style: 'currency', currency: 'USD' });

/** Small amounts keep two digits that say something: a model's request costs less than a cent. */
export function money(cents: number): string {
  if (cents > 0 && cents < 1) return `$${(cents / 100).toPrecision(2)}`;
  return dollars.format(cents / 100);
}

/** `12`, `12.5`, `$1,200.00` → cents; null: no amount above nothing. */
export function centsOf(text: string): number | null {
  const plain = text
    .trim()
    .replace(/^\$/, '')
    .replace(/,(?=\d{3}\b)/g, '');
  if (!/^\d{1,7}(\.\d{1,2})?$/.test(plain)) return null;
  const cents = Math.round(Number(plain) * 100);
  return cents === 0 ? null : cents;
}

/** `2026-11` → `November 2026`. */
export function monthName(month: string): string {
  const [year, number] = month.split('-').map(Number);
  return new Date(Date.UTC(year ?? 1970, (number ?? 1) - 1, 1)).toLocaleDateString(undefined, {
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  });
}

/** The month `by` months later; earlier with a negative number. */
export function monthPlus(month: string, by: number): string {
  const [year, number] = month.split('-').map(Number);
  return new Date(Date.UTC(year ?? 1970, (number ?? 1) - 1 + by, 1)).toISOString().slice(0, 7);
}
