/** The same done with each of several rows, one after the other: one that cannot be done ends only itself, and is named. */
import { toast } from 'sonner';
import { describeProblem } from '../ui/describe-problem.ts';

/** Named in a toast. */
const maxNamed = 3;

/** Answers those with which it was done. */
export async function forEach<T>(
  rows: readonly T[],
  nameOf: (row: T) => string,
  act: (row: T) => Promise<unknown>,
): Promise<readonly T[]> {
  const done: T[] = [];
  const failed: string[] = [];
  for (const row of rows) {
    try {
      await act(row);
      done.push(row);
    } catch (error) {
      failed.push(`${nameOf(row)}: ${describeProblem(error).fact}`);
    }
  }
  if (failed.length > 0) {
    const more = failed.length > maxNamed ? `\n…and ${failed.length - maxNamed} more` : '';
    toast.error(`Failed for ${failed.length} of ${rows.length}`, {
      description: failed.slice(0, maxNamed).join('\n') + more,
    });
  }
  return done;
}
