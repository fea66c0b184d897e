/** The most frequent words, at most `limit`: most frequent first, equally frequent ones by name. */
export function topWords(counts, limit = 10) {
  return [...counts]
    .sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    .slice(0, limit)
    .map(([word, count]) => ({ word, count }));
}
