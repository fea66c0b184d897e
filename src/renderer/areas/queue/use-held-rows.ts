/** Rows that keep their places while held, each as last known; new rows wait until the person asks for them. */
import { useState } from 'react';
import type { Task } from '../../../contracts/work-queue/task.ts';

interface HeldRows {
  readonly rows: readonly Task[];
  /** Ids of rows that are held though they are no longer of this page: what they became is not known here. */
  readonly gone: ReadonlySet<string>;
  /** How many wait. */
  readonly fresh: number;
  readonly release: () => void;
}

/** The same places with what is known now. */
export function keepPlaces(shown: readonly Task[], now: readonly Task[]): Task[] {
  const known = new Map(now.map((task) => [task.id, task]));
  return shown.map((task) => known.get(task.id) ?? task);
}

const nobody: ReadonlySet<string> = new Set();

/** `wanted` was asked for by name, as one that was just handed in: it waits behind nothing. */
export function useHeldRows(tasks: readonly Task[], holding: boolean, wanted: string | null): HeldRows {
  const [held, setHeld] = useState<readonly Task[] | null>(null);
  if (holding && held === null) setHeld(tasks);
  if (!holding && held !== null) setHeld(null);
  const has = (rows: readonly Task[]) => rows.some(({ id }) => id === wanted);
  if (holding && held !== null && has(tasks) && !has(held)) setHeld(tasks);
  if (held === null) return { rows: tasks, gone: nobody, fresh: 0, release: () => {} };
  const rows = keepPlaces(held, tasks);
  const here = new Set(tasks.map((task) => task.id));
  const gone = new Set(held.flatMap((task) => (here.has(task.id) ? [] : [task.id])));
  const places = new Set(held.map((task) => task.id));
  return { rows, gone, fresh: tasks.filter((task) => !places.has(task.id)).length, release: () => setHeld(tasks) };
}
