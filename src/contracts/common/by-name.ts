/** Natural order of names: t2 before t10. Pure. Not for protocols that fix their own order. */

/** One language for all computers, so that a list has one order wherever it is sorted. */
const numbersAsNumbers = new Intl.Collator('en', { numeric: true });

/** For `sort`. Names that read alike, such as t1 and t01, still have one order. */
export function byName(a: string, b: string): number {
  return numbersAsNumbers.compare(a, b) || Number(a > b) - Number(a < b);
}
