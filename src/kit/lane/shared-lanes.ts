/**
 * The worker of ordered lanes: one for each store, name and process. The reasons for waiting are kept in memory beside the rows; after a restart only
 * the rows decide. If processes share the database, each sends the due items that no other process holds (holds.ts), and looks every second for items
 * that the others left.
 */
import { systemTimers, type Timers } from '../clock/timers.ts';
import { createBackoff } from './backoff.ts';
import { createHolds, noHolds } from './holds.ts';
import type { SharedLanes } from './lane.ts';
import { createLooking } from './looking.ts';
import { createLaneRows } from './rows.ts';
import { createSchedule } from './schedule.ts';
import { createSending, type HowToSend, isRefusedByDisk } from './sending.ts';

export interface SharedLanesOptions extends HowToSend {
  readonly timers?: Timers;
  /** 0 ≤ x < 1, spreads retries by ±20 %. */
  readonly random?: () => number;
  /** Distinguishes these lanes from others in the same store: `sends`, `cloud`. */
  readonly name: string;
  /** A fault of the program (a `commit` that throws): the item stays and is tried again later. */
  readonly onFault?: (error: unknown) => void;
  /** Lanes that send at the same time; default 16. One person gets at most an eighth of them. */
  readonly parallel?: number;
  /** How long a held head waits if its wake was missed; default 1000 ms. */
  readonly recheckMs?: number;
  /** Waits before the 2nd, 3rd … attempt; the last one repeats. Default: 1 s up to 30 min. */
  readonly backoffMs?: readonly number[];
}

export function createSharedLanes(options: SharedLanesOptions): SharedLanes {
  const { store, clock } = options;
  const timers = options.timers ?? systemTimers;
  const recheckMs = options.recheckMs ?? 1000;
  const backoff = createBackoff(options.backoffMs, options.random);
  const rows = createLaneRows(options.name);
  const shared = store.engine === 'postgres';
  const holds = shared ? createHolds({ store, clock, timers, lanes: options.name }) : noHolds;
  const stop = new AbortController();
  const tellFault = (error: unknown) => {
    if (!stop.signal.aborted && !isRefusedByDisk(error)) options.onFault?.(error);
  };
  const schedule = createSchedule({ clock, timers, parallel: options.parallel ?? 16, recheckMs, onFault: tellFault });
  const { states, stateOf, changeDepth, pump } = schedule;
  const sending = createSending({
    ...options,
    timers,
    recheckMs,
    backoff,
    rows,
    holds,
    schedule,
    ending: stop.signal,
  });
  const looking = createLooking({
    store,
    clock,
    timers,
    rows,
    schedule,
    ending: stop.signal,
    onFault: tellFault,
  });

  function wake(lanes?: string | readonly string[]): void {
    const named = typeof lanes === 'string' ? [lanes] : lanes;
    for (const name of named ?? [...states.keys()]) {
      const state = states.get(name);
      if (state === undefined) continue;
      state.due = 0;
      state.woken = true;
    }
    if (shared && named?.length !== 0) void looking.hasten(named);
    pump();
  }

  async function start(): Promise<void> {
    await store.write(function* (tx) {
      const loaded = yield* rows.load(tx);
      // After the commit, in order with the effects of appends before and after it in the same group.
      tx.afterCommit(() => {
        states.clear();
        for (const lane of loaded) looking.adopt(lane);
      });
    });
    if (shared) looking.start();
    schedule.start(sending.run);
  }

  async function close(graceMs = 2000): Promise<void> {
    stop.abort();
    looking.stop();
    await schedule.stop(graceMs);
  }

  return {
    *append(tx, item, cause) {
      const trace = options.trace?.carry() ?? null;
      const added = yield* rows.append(tx, item, { at: clock.now(), trace, cause });
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
    load: schedule.load,
    wake,
    start,
    close,
  };
}
