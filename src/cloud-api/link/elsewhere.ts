/**
 * Links of computers at other replicas of this cloud: which replica holds each, and which replicas did not answer lately. Reads the rows that
 * `replicas.ts` of each replica writes.
 */
import type { Sealer } from '../../kit/secrets/sealer.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { findReach, type ReachRow } from './connections-store.ts';

/** Where a computer is linked, or since when it is not (milliseconds since the epoch; 0: unknown). */
export type Reach =
  | {
      readonly linked: true;
      readonly since: number;
      readonly replica: string;
      readonly address: string;
      readonly epoch: number;
      readonly credential: string;
    }
  | { readonly linked: false; readonly since: number };

export interface Elsewhere {
  find(computerId: string): Promise<Reach>;
  /** The epoch of another replica's connection; null: none holds one. */
  newest(computerId: string): Promise<number | null>;
  /** That replica did not answer: its links count as down until it reports again. */
  suspect(replica: string): void;
  /** Of before that time. */
  forgetSuspicions(before: number): void;
}

/** Three missed beats. */
export const aliveMs = 15_000;

/** Binds a sealed bearer to its row. */
export const place = (computerId: string) => `runtime_connection|credential|${computerId}`;

export function createElsewhere({
  store,
  clock,
  id,
  sealer,
  onFault,
}: {
  readonly store: SharedStore;
  /** The store's own clock: replicas compare times. */
  readonly clock: { now(): number };
  /** Of this process. */
  readonly id: string;
  readonly sealer: Sealer;
  readonly onFault: (what: string, fault: unknown) => void;
}): Elsewhere {
  /** When each of them failed to answer. */
  const suspected = new Map<string, number>();
  const aliveSince = () => clock.now() - aliveMs;

  function isAlive({ replica, address, beatAt }: ReachRow): boolean {
    if (replica === null || address === null || beatAt === null || beatAt <= aliveSince()) return false;
    return beatAt > (suspected.get(replica) ?? Number.NEGATIVE_INFINITY);
  }

  async function find(computerId: string): Promise<Reach> {
    const row = await findReach(store, computerId);
    if (row === undefined) return { linked: false, since: 0 };
    const { replica, address, epoch, credential, at } = row;
    if (replica === null || replica === id) return { linked: false, since: row.seenAt ?? 0 };
    if (!isAlive(row)) return { linked: false, since: row.beatAt ?? row.seenAt ?? 0 };
    try {
      const opened = sealer.open(place(computerId), credential!);
      return { linked: true, since: at!, replica, address: address!, epoch: epoch!, credential: opened };
    } catch (fault) {
      onFault(`The record of the link of ${computerId} was not sealed for it by a replica.`, fault);
      return { linked: false, since: row.seenAt ?? 0 };
    }
  }

  return {
    find,
    async newest(computerId) {
      const row = await findReach(store, computerId);
      return row === undefined || row.replica === id || !isAlive(row) ? null : row.epoch;
    },
    suspect: (replica) => void suspected.set(replica, clock.now()),
    forgetSuspicions(before) {
      for (const [replica, at] of suspected) if (at <= before) suspected.delete(replica);
    },
  };
}
