/**
 * The worker of ordered lanes: one a store and name, in the one process that writes the store. What waits and why is kept in
 * memory beside the rows; rows alone decide after a restart. (Several processes on one database would lease lanes by a column
 * of their own: that comes with PostgreSQL.)
 */
import type { Clock } from '../clock/clock.ts';
import { systemTimers, type Timers } from '../clock/timers.ts';
import type { Store, Tx } from '../store/store.ts';
import type { LaneItem, LaneOutcome, Lanes } from './lane.ts';
import { createLaneRows } from './rows.ts';

export interface LanesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers?: Timers;
  /** 0 ≤ x < 1, spreads retries by ±20 %. */
  readonly random?: () => number;
  /** Tells these lanes from others in the same store: `sends`, `cloud`. */
  readonly name: string;
  /** Sends one head. `signal` is aborted by `close`. Where it may throw, it counts as a retry with its message. */
  readonly send: (item: LaneItem, signal: AbortSignal) => Promise<LaneOutcome>;
  /** Asked before a head is taken out: why the lane must wait, or null. Saves the commits of a `hold`. */
  readonly gate?: (lane: string) => string | null;
  /** A row's deadline passed; runs in the transaction that removes it. */
  readonly onExpired?: (tx: Tx, item: LaneItem) => void;
  /** A fault of the program (a `commit` that throws): the item stays and is tried again later. */
  readonly onFault?: (error: unknown) => void;
  /** Lanes that send at the same time; default 16. */
  readonly parallel?: number;
  /** How long a held head waits for a wake that was missed; default 1000 ms. */
  readonly recheckMs?: number;
  /** Waits before the 2nd, 3rd … attempt; the last one repeats. Default: 1 s up to 30 min (store.md 4.2). */
  readonly backoffMs?: readonly number[];
}

interface LaneState {
  depth: number;
  busy: boolean;
  /** Woken while a head was out: a hold or retry that comes back is asked again at once. */
  woken: boolean;
  /** Monotonic milliseconds; the head is not touched before. */
  due: number;
  waiting: string | null;
}

const minute = 60_000;
const defaultBackoff = [
  1000,
  2000,
  5000,
  10_000,
  30_000,
  minute,
  2 * minute,
  5 * minute,
  10 * minute,
  15 * minute,
  30 * minute,
];
/** A timer never waits longer, so that deadlines are seen after the wall clock jumped. */
const longestWaitMs = 30_000;

export function createLanes(options: LanesOptions): Lanes {
  const { store, clock, send } = options;
  const timers = options.timers ?? systemTimers;
  const random = options.random ?? Math.random;
  const parallel = options.parallel ?? 16;
  const recheckMs = options.recheckMs ?? 1000;
  const backoff = options.backoffMs ?? defaultBackoff;
  const rows = createLaneRows(options.name);
  const states = new Map<string, LaneState>();
  const running = new Set<Promise<void>>();
  const stop = new AbortController();
  let started = false;
  let cancelTimer = () => {};

  function stateOf(lane: string): LaneState {
    let state = states.get(lane);
    if (state === undefined) {
      state = { depth: 0, busy: false, woken: false, due: 0, waiting: null };
      states.set(lane, state);
    }
    return state;
  }

  function changeDepth(lane: string, by: number): void {
    const state = stateOf(lane);
    state.depth += by;
    if (state.depth <= 0 && !state.busy) states.delete(lane);
  }

  /** Begins every lane that is due, as far as there is room, and sets the timer for the next one. */
  function pump(): void {
    if (!started || stop.signal.aborted) return;
    cancelTimer();
    const now = clock.monotonic();
    let next = Number.POSITIVE_INFINITY;
    for (const [lane, state] of states) {
      if (state.busy || state.depth <= 0) continue;
      if (state.due > now) next = Math.min(next, state.due);
      else if (running.size < parallel) begin(lane, state);
    }
    if (next < Number.POSITIVE_INFINITY) {
      cancelTimer = timers.after(Math.min(next - clock.monotonic(), longestWaitMs), pump);
    }
  }

  function begin(lane: string, state: LaneState): void {
    state.busy = true;
    state.woken = false;
    const work = runLane(lane, state)
      .catch((error: unknown) => {
        wait(state, error instanceof Error ? error.message : String(error), recheckMs);
        if (!stop.signal.aborted && !isRefusedByDisk(error)) options.onFault?.(error);
      })
      .finally(() => {
        running.delete(work);
        state.busy = false;
        if (state.depth <= 0) states.delete(lane);
        pump();
      });
    running.add(work);
  }

  function wait(state: LaneState, reason: string, ms: number): void {
    state.waiting = reason;
    state.due = state.woken ? 0 : clock.monotonic() + ms;
    state.woken = false;
  }

  /** Sends heads of one lane until it is empty or has to wait. Throws when a transaction fails. */
  async function runLane(lane: string, state: LaneState): Promise<void> {
    let item = await firstHead(lane, state);
    while (item !== null) {
      state.waiting = null;
      const outcome = await trySend(item);
      if (outcome.to === 'hold' || outcome.to === 'retry') {
        await putOff(state, item, outcome);
        return;
      }
      item = await finish(lane, item, outcome);
    }
  }

  async function firstHead(lane: string, state: LaneState): Promise<LaneItem | null> {
    const closed = options.gate?.(lane) ?? null;
    if (closed === null) return store.write((tx) => take(tx, lane));
    const expired = await store.read((tx) => rows.hasExpired(tx, lane, clock.now()));
    if (expired) await store.write((tx) => expire(tx, lane));
    wait(state, closed, recheckMs);
    return null;
  }

  function take(tx: Tx, lane: string): LaneItem | null {
    expire(tx, lane);
    return stop.signal.aborted ? null : rows.takeHead(tx, lane);
  }

  function expire(tx: Tx, lane: string): void {
    const gone = rows.expire(tx, lane, clock.now());
    for (const item of gone) options.onExpired?.(tx, item);
    if (gone.length > 0) tx.afterCommit(() => changeDepth(lane, -gone.length));
  }

  async function trySend(item: LaneItem): Promise<LaneOutcome> {
    try {
      return await send(item, stop.signal);
    } catch (error) {
      return { to: 'retry', reason: error instanceof Error ? error.message : String(error) };
    }
  }

  async function putOff(
    state: LaneState,
    item: LaneItem,
    outcome: Extract<LaneOutcome, { to: 'hold' | 'retry' }>,
  ): Promise<void> {
    if (outcome.to === 'hold') {
      await insist((tx) => rows.putBack(tx, item.id));
      wait(state, outcome.reason, recheckMs);
      return;
    }
    const until = outcome.at ?? clock.now() + backoffAfter(item.attempt);
    await insist((tx) => rows.postpone(tx, item.id, until));
    const again = item.deadline === null ? until : Math.min(until, item.deadline);
    wait(state, outcome.reason, Math.max(0, again - clock.now()));
  }

  function backoffAfter(attempt: number): number {
    const ms = backoff[Math.min(attempt, backoff.length) - 1] ?? recheckMs;
    return Math.round(ms * (0.8 + 0.4 * random()));
  }

  /** Removes the row together with what it caused, and takes the next head out in the same commit. */
  function finish(
    lane: string,
    item: LaneItem,
    outcome: Extract<LaneOutcome, { to: 'done' | 'dead' }>,
  ): Promise<LaneItem | null> {
    return insist((tx) => {
      rows.settle(tx, item.id);
      outcome.commit?.(tx);
      tx.afterCommit(() => changeDepth(lane, -1));
      const closed = options.gate?.(lane) ?? null;
      return closed === null ? take(tx, lane) : null;
    });
  }

  /**
   * Writes an outcome, however long the disk refuses: what was sent must not be sent again only because it could not be noted.
   * A fault of the operation itself, and the end of the program, are thrown; the row then counts as interrupted.
   */
  async function insist<T>(operation: (tx: Tx) => T): Promise<T> {
    while (true) {
      try {
        return await store.write(operation);
      } catch (error) {
        if (!isRefusedByDisk(error) || stop.signal.aborted) throw error;
        await pause(recheckMs);
      }
    }
  }

  function pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        stop.signal.removeEventListener('abort', end);
        resolve();
      };
      const cancel = timers.after(ms, end);
      stop.signal.addEventListener('abort', end, { once: true });
    });
  }

  function wake(lane?: string): void {
    for (const [name, state] of states) {
      if (lane !== undefined && name !== lane) continue;
      state.due = 0;
      state.woken = true;
    }
    pump();
  }

  async function start(): Promise<void> {
    await store.write((tx) => {
      const loaded = rows.load(tx);
      // After the commit, in order with the effects of appends before and after it in the same group.
      tx.afterCommit(() => {
        states.clear();
        const now = clock.now();
        for (const { lane, depth, notBefore } of loaded) {
          const state = stateOf(lane);
          state.depth = depth;
          // A wall clock that was set back must not keep a lane waiting longer than the schedule would.
          const left = Math.min(Math.max(0, notBefore - now), Math.max(...backoff));
          state.due = left === 0 ? 0 : clock.monotonic() + left;
        }
      });
    });
    started = true;
    pump();
  }

  async function close(graceMs = 2000): Promise<void> {
    stop.abort();
    cancelTimer();
    if (graceMs <= 0) return;
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = timers.after(graceMs, resolve);
    });
    await Promise.race([Promise.allSettled([...running]), late]);
    cancel();
  }

  return {
    append: (tx, item) => {
      const added = rows.append(tx, item, clock.now());
      if (added) {
        tx.afterCommit(() => {
          changeDepth(item.lane, 1);
          pump();
        });
      }
      return added;
    },
    remove: (tx, id) => {
      const lane = rows.remove(tx, id);
      if (lane === null) return false;
      tx.afterCommit(() => {
        changeDepth(lane, -1);
        wake(lane);
      });
      return true;
    },
    depth: (lane) => states.get(lane)?.depth ?? 0,
    depths: () =>
      new Map([...states].filter(([, state]) => state.depth > 0).map(([lane, state]) => [lane, state.depth])),
    list: async (lane) => {
      const items = await store.read((tx) => rows.list(tx, lane));
      const waiting = states.get(lane)?.waiting ?? null;
      return items.map((item, index) => ({ ...item, waiting: index === 0 && !item.sending ? waiting : null }));
    },
    wake,
    start,
    close,
  };
}

/** The disk said no, not the operation: the same write may succeed later. */
function isRefusedByDisk(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'transport';
}
