/** Rows of a list: which have the words that are searched for, and in which groups they stand. Pure. */
import { byName } from '../../contracts/common/by-name.ts';

/** Whether every word of the text stands somewhere in what the row says. */
export function saysAll(said: readonly (string | null | undefined)[], text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const whole = said.join('\n').toLowerCase();
  return words.every((word) => whole.includes(word));
}

export interface Group<T> {
  readonly name: string;
  readonly rows: readonly T[];
}

/** In the order of their names; within a group the order stays. `nameOf` null: one group without a name. */
export function groupRows<T>(rows: readonly T[], nameOf: ((row: T) => string) | null): readonly Group<T>[] {
  if (nameOf === null) return [{ name: '', rows }];
  const groups = Map.groupBy(rows, nameOf);
  return [...groups].map(([name, list]) => ({ name, rows: list })).sort((a, b) => byName(a.name, b.name));
}
