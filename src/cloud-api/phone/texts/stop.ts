/**
 * STOP and START, from any source: the log and, with STOP, the end of everything that waits for that pair of numbers, in one transaction. Must not
 * know how it was read.
 */
import type { Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';
import type { OnStop } from '../ports.ts';
import type { Change, OptOutLog } from './opt-outs.ts';
import { cancelWaiting } from './store.ts';

export interface Stops {
  /** A STOP that is not stale ends what waits, even if it was said before. */
  apply(tx: SharedTx, change: Change): ReturnType<OptOutLog['change']>;
  isOptedOut(tx: SharedReader, numberId: string, peer: string): Op<boolean>;
}

export function createStops({ optOuts, onStop }: { optOuts: OptOutLog; onStop: readonly OnStop[] }): Stops {
  return {
    *apply(tx, change) {
      const outcome = yield* optOuts.change(tx, change);
      if (change.action === 'start' || outcome.changed === 'stale') return outcome;
      yield* cancelWaiting(tx, change.numberId, change.peer, 'They said STOP before it was sent.');
      for (const ends of onStop) yield* ends(tx, change.numberId, change.peer);
      return outcome;
    },
    isOptedOut: optOuts.isOptedOut,
  };
}
