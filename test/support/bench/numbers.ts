/** Statistics of samples. */

/** The sample at `q` (0…1) of the sorted samples; NaN of none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? Number.NaN;
}

export const median = (values: readonly number[]) => quantile(values, 0.5);

export function rounded(value: number, digits = 2): number {
  return Number(value.toFixed(digits));
}

/** What explains a median: the spread of its samples. */
export function spread(values: readonly number[]) {
  return {
    p50: rounded(median(values)),
    p90: rounded(quantile(values, 0.9)),
    p99: rounded(quantile(values, 0.99)),
    max: rounded(Math.max(...values)),
  };
}
