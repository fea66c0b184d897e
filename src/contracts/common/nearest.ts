/** Suggests the name that somebody may have mistyped. Pure; must not know what the names stand for. */

/** The first name that is close to `given`; undefined where none is. */
export function nearestOf(given: string, names: readonly string[]): string | undefined {
  const max = Math.max(1, Math.floor(given.length / 3));
  return names.find(
    (name) =>
      lettersOf(name) === lettersOf(given) ||
      (Math.abs(name.length - given.length) <= max && distance(name, given) <= max),
  );
}

/** Letters in another order are the usual slip, and two changes by the count below. */
const lettersOf = (word: string) => [...word].sort().join('');

/** Levenshtein distance; words here are short. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    row = row.reduce<number[]>((next, above, j) => {
      if (j === 0) return [i + 1];
      const swap = (row[j - 1] ?? 0) + (letter === b[j - 1] ? 0 : 1);
      next.push(Math.min(above + 1, (next[j - 1] ?? 0) + 1, swap));
      return next;
    }, []);
  }
  return row[b.length] ?? 0;
}
