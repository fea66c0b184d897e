/** Times since when something waits, as figures: how many by age, and the oldest. */
const ages = [
  ['1m', 60],
  ['10m', 600],
  ['1h', 3600],
  ['1d', 86_400],
] as const;

/** How many have waited at most this long, each counted once; `more` for the rest. Milliseconds since the epoch. */
export function agesOf(since: readonly number[], now: number) {
  const counts = new Map<string, number>([...ages.map(([age]) => [age, 0] as const), ['more', 0]]);
  for (const at of since) {
    const age = ages.find(([, seconds]) => now - at <= seconds * 1000)?.[0] ?? 'more';
    counts.set(age, (counts.get(age) ?? 0) + 1);
  }
  return [...counts].map(([age, value]) => ({ labels: { age }, value }));
}

/** Seconds; 0 if nothing waits. */
export function oldestOf(since: readonly number[], now: number): number {
  return since.reduce((oldest, at) => Math.max(oldest, (now - at) / 1000), 0);
}
