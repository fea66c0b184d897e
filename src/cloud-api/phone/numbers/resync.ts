/**
 * Notifies computers that their numbers changed: one lane for each computer, retried until the computer has the notice or no owner any more. Must not
 * know what changed.
 */
import { resync } from '../../../contracts/phone/texts.ts';
import type { SharedLaneOutcome } from '../../../kit/lane/lane.ts';
import type { Op, SharedTx } from '../../../kit/store/shared-store.ts';
import type { PartDeps } from '../part.ts';

export interface Resync {
  /** Call it in the transaction of the change. */
  tell(tx: SharedTx, computerId: string): Op<void>;
  wake(computerId: string): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

const backoffMs = [1_000, 5_000, 30_000, 300_000];

export function createResync(deps: Pick<PartDeps, 'openLanes' | 'call' | 'computers' | 'ids'>): Resync {
  const lanes = deps.openLanes({ name: 'resync', send, backoffMs });

  async function send({ lane }: { readonly lane: string }, signal: AbortSignal): Promise<SharedLaneOutcome> {
    if ((await deps.computers.ownerOf(lane)) === null) return { to: 'done' };
    const { status } = await deps.call(lane, {
      method: resync.method,
      path: resync.path,
      body: { scope: 'phone' },
      signal,
    });
    // A computer that does not know the route reads its numbers at its next start.
    const told = (status >= 200 && status < 300) || status === 404 || status === 501;
    return told ? { to: 'done' } : { to: 'retry', reason: `the computer answered ${status}` };
  }

  return {
    *tell(tx, computerId) {
      yield* lanes.append(tx, { lane: computerId, id: deps.ids.next('resync'), body: null });
    },
    wake: (computerId) => lanes.wake(computerId),
    start: () => lanes.start(),
    close: () => lanes.close(),
  };
}
