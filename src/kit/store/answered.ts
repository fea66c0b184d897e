/**
 * A ready answer that needs no statement, for callers that expect an operation. First user: lanes that nobody shares; second: operations without any.
 */
import type { Asked } from './shared-store.ts';

export function answered<T>(value: T): Asked<T> {
  return { [Symbol.iterator]: () => ({ next: () => ({ done: true, value }) }) };
}
