/** Tries waiting sends now: wakes the outboxes of one bot or of all, and returns once each head was tried. */
import { AppError } from '../../contracts/common/errors.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { Lanes } from '../../kit/lane/lane.ts';
import type { Store } from '../../kit/store/store.ts';
import type { Member } from '../agents/registry.ts';
import type { Deliverer } from './deliverer.ts';
import { agentOfLane, laneOf } from './model.ts';

/** A head takes at most 10 s (harness.ts, `deliver`); a drain waits a little less and returns the current result. Milliseconds. */
const waitMs = 9500;

interface DrainResult {
  /** Ids of the deliveries that were at the head of a queue. */
  tried: string[];
  /** Sends that still wait. */
  left: number;
  dryRun?: true;
}

export type Drain = (agent: string | undefined, dryRun: boolean) => Promise<DrainResult>;

export function createDrain(deps: {
  readonly lanes: Lanes;
  readonly timers: Timers;
  readonly store: Pick<Store, 'write'>;
  readonly deliverer: Deliverer;
  readonly registry: { find(idOrAddress: string): Member | null };
}): Drain {
  const { lanes, deliverer } = deps;

  const wanted = (agent: string | undefined): string[] => {
    if (agent === undefined) return [...lanes.depths().keys()];
    const member = deps.registry.find(agent);
    if (member === null) {
      throw new AppError('not_found', `Nobody has the address "${agent}".`, 'List bots with `gantry agents ls`.');
    }
    return lanes.depth(laneOf(member.id)) > 0 ? [laneOf(member.id)] : [];
  };

  /** Resolves when the outbox was tried again. */
  const tryNow = async (lane: string): Promise<void> => {
    const agentId = agentOfLane(lane);
    const release = deliverer.accepted(agentId);
    let off = () => {};
    let cancel = () => {};
    try {
      await new Promise<void>((resolve) => {
        off = deliverer.onTried((tried) => {
          if (tried === agentId) resolve();
        });
        cancel = deps.timers.after(waitMs, resolve);
        lanes.wake(lane);
      });
      // The lane writes the outcome down right after; writes are committed in order, so after this one it is there.
      await new Promise<void>((resolve) => deps.timers.after(0, resolve));
      await deps.store.write(() => undefined);
    } finally {
      off();
      cancel();
      release();
    }
  };

  return async (agent, dryRun) => {
    const chosen = wanted(agent);
    const heads = await Promise.all(chosen.map(async (lane) => (await lanes.list(lane))[0]?.id));
    const tried = heads.filter((id) => id !== undefined);
    if (!dryRun) await Promise.all(chosen.map(tryNow));
    const left = chosen.reduce((sum, lane) => sum + lanes.depth(lane), 0);
    return dryRun ? { tried, left, dryRun: true } : { tried, left };
  };
}
