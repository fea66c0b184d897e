/**
 * Which test files a plain `npm test` leaves to `npm test -- all`: those whose first line says so, with a reason, and the longest ones that its time
 * does not suffice for. Pure: must not read or run anything.
 */

/** A file that takes less is not written down: it never decides anything, and its time is mostly chance. */
const minSeconds = 1;

export interface TestFile {
  /** From the root of the repository. */
  readonly path: string;
  readonly firstLine: string;
}

/** CPU seconds by file. */
export type Seconds = Readonly<Record<string, number>>;

/** `// Runs apart: why.` or `// Runs always: why.` */
function markOf({ firstLine }: TestFile): string | undefined {
  return /^\/\/ Runs (apart|always): \S/.exec(firstLine)?.[1];
}

/** `budget`: CPU seconds of all other files together. A file that nobody has measured counts as a short one. */
export function filesApart(files: readonly TestFile[], seconds: Seconds, budget: number): string[] {
  const secondsOf = ({ path }: TestFile): number => seconds[path] ?? 0;
  let left = budget;
  for (const file of files) if (markOf(file) === 'always') left -= secondsOf(file);
  const apart = files.filter((file) => markOf(file) === 'apart');
  const others = files.filter((file) => markOf(file) === undefined);
  for (const file of others.toSorted((a, b) => secondsOf(a) - secondsOf(b))) {
    left -= secondsOf(file);
    if (left < 0 && secondsOf(file) > 0) apart.push(file);
  }
  return apart.map(({ path }) => path);
}

/** Puts what was measured now in place of what was known, in order of the paths. What is gone is left out. */
export function joinSeconds(
  known: Seconds,
  measured: readonly { readonly file: string; readonly seconds: number }[],
  exists: (file: string) => boolean,
): Seconds {
  const joined = new Map(Object.entries(known));
  for (const { file, seconds } of measured) joined.set(file, Math.round(seconds * 10) / 10);
  const rows = [...joined].filter(([file, seconds]) => seconds >= minSeconds && exists(file));
  return Object.fromEntries(rows.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
