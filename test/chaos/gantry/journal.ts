/** What the agent programs wrote down about their turns and reports, outside of Gantry. */
import { existsSync, readFileSync } from 'node:fs';
import type { Report } from '../system.ts';

interface Line {
  readonly at: number;
  readonly kind: 'turn' | 'begin' | 'end' | 'over';
  readonly run: string;
  readonly step: string;
  readonly turn: string;
  readonly pid: number;
  readonly attempt?: number | null;
  readonly token?: string;
  readonly verb?: Report['kind'];
  readonly code?: number | null;
  readonly said?: string;
}

export function linesOf(file: string): Line[] {
  if (!existsSync(file)) return [];
  // A program that was killed in the middle of a line leaves a part of it.
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((text) => {
      try {
        return [JSON.parse(text) as Line];
      } catch {
        return [];
      }
    });
}

export function reportsOf(lines: readonly Line[]): Report[] {
  const attempts = new Map(lines.flatMap(({ kind, turn, attempt }) => (kind === 'turn' ? [[turn, attempt]] : [])));
  const ends = new Map(lines.flatMap((line) => (line.kind === 'end' ? [[line.token, line]] : [])));
  return lines.flatMap(({ kind, token, verb, run, step, turn }) => {
    if (kind !== 'begin' || token === undefined || verb === undefined) return [];
    return [
      {
        token,
        kind: verb,
        run,
        step,
        attempt: attempts.get(turn) ?? null,
        ...answerOf(ends.get(token)),
      },
    ];
  });
}

/** Exit codes of `gantry`: 3 could not be reached, 4 out of time; a signal is none. */
function answerOf(end: Line | undefined): Pick<Report, 'answer' | 'id'> {
  if (end?.code === undefined || end.code === null || end.code === 4) return { answer: 'unknown', id: null };
  if (end.code === 3) return { answer: 'unheard', id: null };
  if (end.code !== 0) return { answer: 'refused', id: null };
  const { kept, id = null } = JSON.parse(end.said ?? '{}') as { kept?: true; id?: string | null };
  return kept === true ? { answer: 'kept', id } : { answer: 'taken', id: null };
}

/** `<run> <step>` of turns that have begun, are not over, and whose program lives. */
export function turnsNow(lines: readonly Line[]): ReadonlySet<string> {
  const over = new Set(lines.flatMap(({ kind, turn }) => (kind === 'over' ? [turn] : [])));
  const open = lines.filter(({ kind, turn, pid }) => kind === 'turn' && !over.has(turn) && lives(pid));
  return new Set(open.map(({ run, step }) => `${run} ${step}`));
}

export function lives(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
