/** Money as it is shown and typed, and months. Pure. */

export { money } from '../../ui/money.ts';

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
