/**
 * The worker of ordered lanes: one for each store, name and process. The reasons for waiting are kept in memory beside the rows; after a restart only
 * the rows decide. If processes share the database, each sends the due items that no other process holds (holds.ts), and looks every second for items
 * that the others left.
 */
import type { Clock } from '../clock/clock.ts';
import { pause, systemTimers, type Timers } from '../clock/timers.ts';
import type { Asked, Op, SharedStore, SharedTx } from '../store/shared-store.ts';
import { createBackoff } from './backoff.ts';
import { createHolds, noHolds } from './holds.ts';
import type { LaneItem, SharedLaneOutcome, SharedLanes } from './lane.ts';
import { createLaneRows, type LoadedLane, type Taken } from './rows.ts';
import { createTurns } from './turns.ts';

export interface SharedLanesOptions {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers?: Timers;
  /** 0 ≤ x < 1, spreads retries by ±20 %. */
  readonly random?: () => number;
  /** Distinguishes these lanes from others in the same store: `sends`, `cloud`. */
  readonly name: string;
  /** Sends one head. `signal` is aborted by `close`. An error counts as a retry with its message. */
  readonly send: (item: LaneItem, signal: AbortSignal) => Promise<SharedLaneOutcome>;
  /** Called before a head is taken out: why the lane must wait, or null. Saves the commits of a `hold`. */
  readonly gate?: (lane: string) => string | null;
  /** A row's deadline passed; runs in the transaction that removes it. */
  readonly onExpired?: (tx: SharedTx, item: LaneItem) => Asked<unknown>;
  /** A fault of the program (a `commit` that throws): the item stays and is tried again later. */
  readonly onFault?: (error: unknown) => void;
  /** Lanes that send at the same time; default 16. One person gets at most an eighth of them. */
  readonly parallel?: number;
  /** How long a held head waits if its wake was missed; default 1000 ms. */
  readonly recheckMs?: number;
  /** Waits before the 2nd, 3rd … attempt; the last one repeats. Default: 1 s up to 30 min. */
  readonly backoffMs?: readonly number[];
}

interface LaneState {
  /** The unit that takes turns: its person, or the lane itself. */
  whose: string;
  depth: number;
  /** When its head was appended; milliseconds since the epoch. */
  since: number;
  /** Rows that this process has appended, ever. */
  appended: number;
  busy: boolean;
  /** The number of its last send that ended, of all lanes together. */
  ended: number;
  /** Woken while a head was out: if the head comes back with hold or retry, it is asked again at once. */
  woken: boolean;
  /** Monotonic milliseconds; the head is not touched before. */
  due: number;
  /** As its head's row says; another process may change that. */
  notBefore: number;
  waiting: string | null;
  /** The head that is being taken out, until the commit is confirmed. */
  taking: Taken | null;
}

/** Limit of a timer, so that deadlines are noticed after the wall clock jumped. */
const maxWaitMs = 30_000;
/** How often to look for items that other processes left. */
const lookMs = 1000;
/** Only when the computers or services of eight persons hang does anybody else have to wait. */
const sharesOfAll = 8;
const heldElsewhere = 'another replica sends of this lane';

export function createSharedLanes(options: SharedLanesOptions): SharedLanes {
  const { store, clock, send } = options;
  const timers = options.timers ?? systemTimers;
  const parallel = options.parallel ?? 16;
  const recheckMs = options.recheckMs ?? 1000;
  const backoff = createBackoff(options.backoffMs, options.random);
  const rows = createLaneRows(options.name);
  const shared = store.engine === 'postgres';
  const holds = shared ? createHolds({ store, clock, timers, lanes: options.name }) : noHolds;
  const states = new Map<string, LaneState>();
  const running = new Set<Promise<void>>();
  const turns = createTurns(Math.max(1, Math.floor(parallel / sharesOfAll)));
  const stop = new AbortController();
  let started = false;
  let ends = 0;
  let cancelTimer = () => {};
  let cancelLook = () => {};

  function stateOf(lane: string, person: string | null = null): LaneState {
    let state = states.get(lane);
    if (state === undefined) {
      state = {
        whose: person ?? lane,
        depth: 0,
        since: clock.now(),
        appended: 0,
        busy: false,
        ended: 0,
        woken: false,
        due: 0,
        notBefore: 0,
        waiting: null,
        taking: null,
      };
      states.set(lane, state);
    }
    return state;
  }

  function changeDepth(lane: string, by: number, person?: string): void {
    const state = stateOf(lane, person);
    state.depth += by;
    if (state.depth <= 0 && !state.busy) states.delete(lane);
  }

  /** Begins every due lane while there is room, and sets the timer for the next one. */
  function pump(): void {
    if (!started || stop.signal.aborted) return;
    cancelTimer();
    const now = clock.monotonic();
    let next = Number.POSITIVE_INFINITY;
    const due: [lane: string, state: LaneState][] = [];
    for (const entry of states) {
      const [, state] = entry;
      if (state.busy || state.depth <= 0) continue;
      if (state.due > now) next = Math.min(next, state.due);
      else due.push(entry);
    }
    if (due.length > 0 && running.size < parallel) {
      for (const [lane, state] of turns.order(due, parallel - running.size)) begin(lane, state);
    }
    if (next < Number.POSITIVE_INFINITY) {
      cancelTimer = timers.after(Math.min(next - clock.monotonic(), maxWaitMs), pump);
    }
  }

  function begin(lane: string, state: LaneState): void {
    state.busy = true;
    state.woken = false;
    turns.begin(state.whose);
    const stopRenewing = holds.renew(lane);
    const work = runLane(lane, state)
      .catch((error: unknown) => {
        wait(state, error instanceof Error ? error.message : String(error), recheckMs);
        if (!stop.signal.aborted && !isRefusedByDisk(error)) options.onFault?.(error);
      })
      .finally(() => {
        stopRenewing();
        running.delete(work);
        turns.end(state.whose);
        state.busy = false;
        ends += 1;
        state.ended = ends;
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
        await putOff(lane, state, item, outcome);
        return;
      }
      const next = await finish(lane, state, item, outcome);
      if (next === 'lost') wait(state, heldElsewhere, recheckMs);
      item = next === 'lost' ? null : next;
    }
  }

  async function firstHead(lane: string, state: LaneState): Promise<LaneItem | null> {
    const closed = options.gate?.(lane) ?? null;
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

  /** The next head of a held lane; if there is none, the hold is released. `appended`: the count when the transaction began. */
  function* take(tx: SharedTx, lane: string, state: LaneState, appended: number): Op<LaneItem | null> {
    yield* expire(tx, lane);
    const head = stop.signal.aborted ? null : yield* rows.takeHead(tx, lane, state.taking);
    state.taking = head;
    if (head !== null) {
      state.since = head.at;
      return head;
    }
    yield* holds.letGo(tx, lane);
    // Another process may have sent rows that this process remembers: all except those appended since the look.
    if (shared && !stop.signal.aborted)
      tx.afterCommit(() => {
        state.depth = state.appended - appended;
      });
    return null;
  }

  function* expire(tx: SharedTx, lane: string): Op<void> {
    const gone = yield* rows.expire(tx, lane, clock.now());
    for (const item of gone) if (options.onExpired !== undefined) yield* options.onExpired(tx, item);
    if (gone.length > 0) tx.afterCommit(() => changeDepth(lane, -gone.length));
  }

  async function trySend(item: LaneItem): Promise<SharedLaneOutcome> {
    try {
      return await send(item, stop.signal);
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
    const until = outcome.to === 'hold' ? 0 : (outcome.at ?? clock.now() + backoff.after(item.attempt));
    await insist(function* (tx) {
      if (!(yield* holds.has(tx, lane))) return;
      yield* outcome.to === 'hold' ? rows.putBack(tx, item.id) : rows.postpone(tx, item.id, until);
      yield* holds.letGo(tx, lane);
    });
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
      if (!isLast && (options.gate?.(lane) ?? null) === null) return yield* take(tx, lane, state, appended);
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
        if (!isRefusedByDisk(error) || stop.signal.aborted) throw error;
        await pause(timers, recheckMs, stop.signal);
      }
    }
  }

  function wake(lanes?: string | readonly string[]): void {
    const named = typeof lanes === 'string' ? [lanes] : lanes;
    for (const name of named ?? [...states.keys()]) {
      const state = states.get(name);
      if (state === undefined) continue;
      state.due = 0;
      state.woken = true;
    }
    if (shared && named?.length !== 0) void hasten(named);
    pump();
  }

  /** Releases the lane for whichever process sends next. If that fails, the lane is due by its own time. */
  async function hasten(lanes: readonly string[] | undefined): Promise<void> {
    try {
      const isolation = lanes === undefined || lanes.length === 1 ? 'statement' : 'rows';
      await store.write((tx) => rows.hasten(tx, lanes), { isolation });
      await look();
    } catch (error) {
      if (!isRefusedByDisk(error)) options.onFault?.(error);
    }
  }

  function adopt({ lane, depth, notBefore, person, at }: LoadedLane): void {
    const state = stateOf(lane, person);
    state.depth = depth;
    state.since = at;
    if (state.busy || (state.notBefore === notBefore && state.waiting !== null)) return;
    state.notBefore = notBefore;
    // A wall clock that was set back must not delay a lane longer than the schedule would.
    const left = Math.min(Math.max(0, notBefore - clock.now()), backoff.longest);
    state.due = left === 0 ? 0 : clock.monotonic() + left;
  }

  /** Reads the current rows, whichever process appended, postponed or removed them. */
  async function look(): Promise<void> {
    const before = ends;
    const loaded = await store.read((tx) => rows.load(tx));
    const found = new Set(loaded.map(({ lane }) => lane));
    // What was read before a send ended does not know that its head was postponed: by it, the head would be sent again at once.
    const isOlder = (state: LaneState | undefined): boolean => state !== undefined && state.ended > before;
    // A row appended since shows at the next look, or starts its own send.
    for (const [lane, state] of states) if (!found.has(lane) && !state.busy && !isOlder(state)) states.delete(lane);
    for (const lane of loaded) if (!isOlder(states.get(lane.lane))) adopt(lane);
    pump();
  }

  function keepLooking(): void {
    if (stop.signal.aborted) return;
    cancelLook = timers.after(lookMs, () => {
      look()
        .catch((error: unknown) => {
          if (!stop.signal.aborted && !isRefusedByDisk(error)) options.onFault?.(error);
        })
        .finally(keepLooking);
    });
  }

  async function start(): Promise<void> {
    await store.write(function* (tx) {
      const loaded = yield* rows.load(tx);
      // After the commit, in order with the effects of appends before and after it in the same group.
      tx.afterCommit(() => {
        states.clear();
        for (const lane of loaded) adopt(lane);
      });
    });
    started = true;
    if (shared) keepLooking();
    pump();
  }

  async function close(graceMs = 2000): Promise<void> {
    stop.abort();
    cancelTimer();
    cancelLook();
    if (graceMs <= 0) return;
    let cancel = () => {};
    const late = new Promise<void>((resolve) => {
      cancel = timers.after(graceMs, resolve);
    });
    await Promise.race([Promise.allSettled([...running]), late]);
    cancel();
  }

  return {
    *append(tx, item, cause) {
      const added = yield* rows.append(tx, item, clock.now(), cause);
      if (added) {
        tx.afterCommit(() => {
          // A lane that waits already, or sends, is looked at when its time comes or its head has gone.
          const idle = (states.get(item.lane)?.depth ?? 0) <= 0;
          changeDepth(item.lane, 1, item.person);
          if (idle) stateOf(item.lane).since = clock.now();
          stateOf(item.lane).appended += 1;
          if (idle) pump();
        });
      }
      return added;
    },
    *remove(tx, id) {
      const lane = yield* rows.remove(tx, id);
      if (lane === null) return false;
      tx.afterCommit(() => {
        changeDepth(lane, -1);
        wake(lane);
      });
      return true;
    },
    *clear(tx, lane) {
      const gone = yield* rows.clear(tx, lane);
      if (gone > 0) tx.afterCommit(() => changeDepth(lane, -gone));
      return gone;
    },
    waiting: rows.waiting,
    depth: (lane) => states.get(lane)?.depth ?? 0,
    depths: () =>
      new Map([...states].filter(([, state]) => state.depth > 0).map(([lane, state]) => [lane, state.depth])),
    list: async (lane) => {
      const items = await store.read((tx) => rows.list(tx, lane));
      const waiting = states.get(lane)?.waiting ?? null;
      return items.map((item, index) => ({ ...item, waiting: index === 0 && !item.sending ? waiting : null }));
    },
    load() {
      const load = { items: 0, oldestAt: null as number | null, sending: running.size, parallel };
      for (const { depth, since } of states.values()) {
        if (depth <= 0) continue;
        load.items += depth;
        load.oldestAt = Math.min(load.oldestAt ?? since, since);
      }
      return load;
    },
    wake,
    start,
    close,
  };
}

/** A refusal of the disk, not a fault of the operation: the same write may succeed later. */
function isRefusedByDisk(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === 'transport';
}
