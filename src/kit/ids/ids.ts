/** Prefixed ULIDs (gaps.md, Common: Case). Ids made in one millisecond still ascend. */
import { monotonicFactory } from 'ulid';
import type { Clock } from '../clock/clock.ts';

export interface Ids {
  /** `next('task')` → `task_01J…`. */
  next(prefix: string): string;
}

export function createIds(clock: Clock): Ids {
  const ulid = monotonicFactory();
  return { next: (prefix) => `${prefix}_${ulid(clock.now())}` };
}
