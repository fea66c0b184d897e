/** Prefixed ULIDs. Ids made in one millisecond still ascend. */
import { randomFillSync } from 'node:crypto';
import { monotonicFactory } from 'ulid';
import type { Clock } from '../clock/clock.ts';

export interface Ids {
  /** `next('task')` → `task_01J…`. */
  next(prefix: string): string;
}

/** The library asks 16 times for an id: a system call each time would cost more than everything else. */
function pooledRandom(): () => number {
  const pool = new Uint8Array(1024);
  let left = 0;
  return () => {
    if (left === 0) {
      randomFillSync(pool);
      left = pool.length;
    }
    left -= 1;
    return pool[left]! / 256;
  };
}

export function createIds(clock: Clock): Ids {
  const ulid = monotonicFactory(pooledRandom());
  return { next: (prefix) => `${prefix}_${ulid(clock.now())}` };
}
