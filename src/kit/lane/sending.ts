/**
 * Sends the heads of one lane: takes a row out, hands it to its sender, and writes the outcome, each in one commit. Must not know when a lane is due.
 */
import type { Clock } from '../clock/clock.ts';
import { pause, type Timers } from '../clock/timers.ts';
import type { Asked, Op, SharedStore, SharedTx } from '../store/shared-store.ts';
import type { TraceContext } from '../telemetry/telemetry.ts';
import type { createBackoff } from './backoff.ts';
import type { noHolds } from './holds.ts';
import type { LaneItem, SharedLaneOutcome } from './lane.ts';
import type { createLaneRows } from './rows.ts';
import type { LaneState, Schedule } from './schedule.ts';

const heldElsewhere = 'another replica sends of this lane';

export interface HowToSend {
  readonly store: SharedStore;
  readonly clock: Clock;
  /** Sends one head. `signal` is aborted by `close`. An error counts as a retry with its message. */
  readonly send: (item: LaneItem, signal: AbortSignal) => Promise<SharedLaneOutcome>;
  /** Called before a head is taken out: why the lane must wait, or null. Saves the commits of a `hold`. */
  readonly gate?: (lane: string) => string | null;
  /** A row's deadline passed; runs in the transaction that removes it. */
  readonly onExpired?: (tx: SharedTx, item: LaneItem) => Asked<unknown>;
  /** Asked in the commit that puts a head off. False: its lane was cleared while it was out, and it leaves, too. Absent: it stays. */
  readonly isWanted?: (tx: SharedTx, item: LaneItem) => Asked<boolean>;
  /** An item is sent as a part of the span that appended it; absent: nothing is traced. */
  readonly trace?: TraceContext | undefined;
}

type SendingDeps = HowToSend & {
  readonly timers: Timers;
  readonly recheckMs: number;
  readonly backoff: ReturnType<typeof createBackoff>;
  readonly rows: ReturnType<typeof createLaneRows>;
  readonly holds: typeof noHolds;
  /** Aborted when the program ends. */
  readonly ending: AbortSignal;
  readonly schedule: Pick<Schedule, 'changeDepth' | 'wait'>;
};

/** Takes the heads of lanes out, also those that are past their deadline. Holds a lane for this process while a head is out. */
function createTaking({ store, clock, rows, holds, ending, recheckMs, gate, onExpired, schedule }: SendingDeps) {
  const { changeDepth, wait } = schedule;
  const shared = store.engine === 'postgres';

  async function firstHead(lane: string, state: LaneState): Promise<LaneItem | null> {
    const closed = gate?.(lane) ?? null;
    if (closed === null) {
      const head = await store.write(function* (tx) {
        const { appended } = state;
        // Only while the lane stayed ours is the row as we left it.
        if (state.taking !== null && !(yield* holds.has(tx, lane))) state.taking = null;
        return (yield* holds.take(tx, lane)) ? yield* take(tx, lane, state, appended) : 'held';
      });
      state.taking = null;
      if (head !== 'held') return head;
      wait(state, heldElsewhere, recheckMs);
      return null;
    }
    if (await store.read((tx) => rows.hasExpired(tx, lane, clock.now()))) await store.write((tx) => expire(tx, lane));
    wait(state, closed, recheckMs);
    return null;
  }

  /** The next head of a held lane; an empty lane's hold is released. `appended`: the count when the transaction began. */
  function* take(tx: SharedTx, lane: string, state: LaneState, appended: number): Op<LaneItem | null> {
    yield* expire(tx, lane);
    const head = ending.aborted ? null : yield* rows.takeHead(tx, lane, state.taking);
    state.taking = head;
    if (head !== null) {
      state.since = head.at;
      return head;
    }
    yield* holds.letGo(tx, lane);
    // Another process may have sent rows that this process remembers: all except those appended since the look.
    if (shared && !ending.aborted)
      tx.afterCommit(() => {
        state.depth = state.appended - appended;
      });
    return null;
  }

  function* expire(tx: SharedTx, lane: string): Op<void> {
    const gone = yield* rows.expire(tx, lane, clock.now());
    for (const item of gone) if (onExpired !== undefined) yield* onExpired(tx, item);
    if (gone.length > 0) tx.afterCommit(() => changeDepth(lane, -gone.length));
  }

  return { firstHead, take };
}

export function createSending(deps: SendingDeps) {
  const { store, clock, rows, holds, backoff, ending, recheckMs } = deps;
  const { changeDepth, wait } = deps.schedule;
  const { firstHead, take } = createTaking(deps);
  const shared = store.engine === 'postgres';

  /** Sends heads of one lane until it is empty or has to wait. Throws when a transaction fails. */
  async function run(lane: string, state: LaneState): Promise<void> {
    const stopRenewing = holds.renew(lane);
    try {
      await sendHeads(lane, state);
    } finally {
      stopRenewing();
    }
  }

  async function sendHeads(lane: string, state: LaneState): Promise<void> {
    let item = await firstHead(lane, state);
    while (item !== null) {
      state.waiting = null;
      const outcome = await trySend(item);
      if (outcome.to === 'hold' || outcome.to === 'retry') {
        await putOff(lane, state, item, outcome);
        return;
      }
      const next = await finish(lane, state, item, outcome);
      if (next === 'lost') wait(state, heldElsewhere, recheckMs);
      item = next === 'lost' ? null : next;
    }
  }

  async function trySend(item: LaneItem): Promise<SharedLaneOutcome> {
    try {
      if (deps.trace === undefined) return await deps.send(item, ending);
      return await deps.trace.within(item.trace ?? null, () => deps.send(item, ending));
    } catch (error) {
      return { to: 'retry', reason: error instanceof Error ? error.message : String(error) };
    }
  }

  async function putOff(
    lane: string,
    state: LaneState,
    item: LaneItem,
    outcome: Extract<SharedLaneOutcome, { to: 'hold' | 'retry' }>,
  ): Promise<void> {
    const now = clock.now();
    const until = outcome.to === 'hold' ? 0 : (outcome.at ?? now + backoff.after(item.attempt));
    const stays = await insist(function* (tx) {
      if (!(yield* holds.has(tx, lane))) return true;
      const wanted = deps.isWanted === undefined || (yield* deps.isWanted(tx, item));
      if (!wanted && (yield* rows.settle(tx, item.id)).changes === 1) tx.afterCommit(() => changeDepth(lane, -1));
      if (wanted && outcome.to === 'hold') yield* rows.putBack(tx, item.id);
      else if (wanted) yield* rows.postpone(tx, item.id, until, Math.max(0, until - now));
      yield* holds.letGo(tx, lane);
      return wanted;
    });
    // What was appended since is due at once.
    if (!stays) return;
    const left = item.deadline === null ? Number.POSITIVE_INFINITY : Math.max(0, item.deadline - clock.now());
    if (outcome.to === 'hold') {
      wait(state, outcome.reason, outcome.forMs === undefined ? recheckMs : Math.min(outcome.forMs, left));
      return;
    }
    state.notBefore = until;
    wait(state, outcome.reason, Math.min(Math.max(0, until - clock.now()), left));
  }

  /** Removes the row together with writing its effects, and takes the next head out in the same commit. */
  async function finish(
    lane: string,
    state: LaneState,
    item: LaneItem,
    outcome: Extract<SharedLaneOutcome, { to: 'done' | 'dead' }>,
  ): Promise<LaneItem | null | 'lost'> {
    const next = await insist(function* (tx) {
      const { appended } = state;
      if (!(yield* holds.has(tx, lane))) return 'lost';
      // Gone already: an earlier try of this same change was committed although its confirmation was lost.
      if ((yield* rows.settle(tx, item.id)).changes === 1) {
        if (outcome.commit !== undefined) yield* outcome.commit(tx);
        tx.afterCommit(() => changeDepth(lane, -1));
      }
      // After the last one, no further look: a row appended in the meantime starts the lane again once it is committed.
      const isLast = !shared && state.depth <= 1;
      state.since = clock.now();
      if (!isLast && (deps.gate?.(lane) ?? null) === null) return yield* take(tx, lane, state, appended);
      yield* holds.letGo(tx, lane);
      return null;
    });
    state.taking = null;
    return next;
  }

  /**
   * Writes an outcome, however long the disk refuses: a sent item must not be sent again only because that could not be recorded. Throws a fault of
   * the operation itself, and the end of the program; the row then counts as interrupted.
   */
  async function insist<T>(operation: (tx: SharedTx) => Op<T>): Promise<T> {
    while (true) {
      try {
        return await store.write(operation);
      } catch (error) {
        if (!isRefusedByDisk(error) || ending.aborted) throw error;
        await pause(deps.timers, recheckMs, ending);
      }
    }
  }

  return { run };
}

/** A refusal of the disk, not a fault of the operation: the same write may succeed later. */
export function isRefusedByDisk(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'transport';
}
