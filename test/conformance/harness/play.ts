/** Plays the rows of the kit on one subject, one after the other. A row that fails has a new bot behind it, so that it fails no other. */
import { type RowName, rowNames, rows } from './rows.ts';
import type { Subject } from './subject.ts';

export interface Verdict {
  readonly row: RowName;
  readonly state: 'passed' | 'failed' | 'n/a';
  /** Why it failed, or does not apply. */
  readonly why: string;
}

/** `onVerdict`: each as soon as it is known, with the milliseconds that it took. */
export async function playRows(
  subject: Subject,
  onVerdict: (verdict: Verdict, ms: number) => void = () => {},
): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  let begun = false;

  async function play(row: RowName): Promise<Verdict> {
    const exempt = subject.exempt[row];
    if (exempt !== undefined) return { row, state: 'n/a', why: exempt };
    try {
      if (!begun) await subject.begin();
      begun = true;
      await subject.quiet();
      await rows[row].play(subject);
      return { row, state: 'passed', why: '' };
    } catch (error) {
      await subject.end();
      begun = false;
      return { row, state: 'failed', why: error instanceof Error ? error.message : String(error) };
    }
  }

  try {
    for (const row of rowNames) {
      const from = performance.now();
      const verdict = await play(row);
      verdicts.push(verdict);
      onVerdict(verdict, performance.now() - from);
    }
  } finally {
    await subject.end();
  }
  return verdicts;
}
