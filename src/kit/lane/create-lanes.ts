/**
 * Lanes (the outbox, see lane.ts) over the SQLite store of one process: {@link createSharedLanes} in operations that answer at once. First user: the
 * runtime.
 */
import { answered } from '../store/answered.ts';
import { runSync, shareStore, syncTx } from '../store/share-store.ts';
import type { Store, Tx } from '../store/store.ts';
import type { LaneItem, LaneOutcome, Lanes, SharedLaneOutcome } from './lane.ts';
import { createSharedLanes, type SharedLanesOptions } from './shared-lanes.ts';

export interface LanesOptions extends Omit<SharedLanesOptions, 'store' | 'send' | 'onExpired' | 'isWanted'> {
  readonly store: Store;
  /** Sends one head. `signal` is aborted by `close`. An error counts as a retry with its message. */
  readonly send: (item: LaneItem, signal: AbortSignal) => Promise<LaneOutcome>;
  /** A row's deadline passed; runs in the transaction that removes it. */
  readonly onExpired?: (tx: Tx, item: LaneItem) => void;
}

export function createLanes({ store, send, onExpired, ...options }: LanesOptions): Lanes {
  const lanes = createSharedLanes({
    ...options,
    store: shareStore(store),
    send: async (item, signal) => shared(await send(item, signal)),
    onExpired: (tx, item) => answered(onExpired?.(syncTx(tx), item)),
  });
  return {
    ...lanes,
    append: (tx, item) => runSync(tx, (asking) => lanes.append(asking, item)),
    remove: (tx, id) => runSync(tx, (asking) => lanes.remove(asking, id)),
    clear: (tx, lane) => runSync(tx, (asking) => lanes.clear(asking, lane)),
  };
}

function shared(outcome: LaneOutcome): SharedLaneOutcome {
  if (outcome.to === 'hold' || outcome.to === 'retry') return outcome;
  const { commit, ...rest } = outcome;
  if (commit === undefined) return rest;
  return { ...rest, commit: (tx) => answered(commit(syncTx(tx))) };
}
