/** An answer that needs no statement, where one is asked for. First user: lanes that nobody shares; second: operations without any. */
import type { Asked } from './shared-store.ts';

export function answered<T>(value: T): Asked<T> {
  return { [Symbol.iterator]: () => ({ next: () => ({ done: true, value }) }) };
}
