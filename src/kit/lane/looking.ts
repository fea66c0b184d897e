/**
 * What other processes did to the lanes of a shared database: reads their rows on request and every second, and takes over what they appended, postponed
 * or removed. Must not know what is sent.
 */
import type { Clock } from '../clock/clock.ts';
import type { Timers } from '../clock/timers.ts';
import type { SharedStore } from '../store/shared-store.ts';
import type { createLaneRows, LoadedLane } from './rows.ts';
import type { LaneState, Schedule } from './schedule.ts';

/** How often to look for items that other processes left. */
const lookMs = 1000;

export function createLooking({
  store,
  clock,
  timers,
  rows,
  schedule,
  ending,
  onFault,
}: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly rows: ReturnType<typeof createLaneRows>;
  readonly schedule: Pick<Schedule, 'states' | 'stateOf' | 'pump' | 'ends'>;
  /** Aborted when the program ends. */
  readonly ending: AbortSignal;
  readonly onFault: (error: unknown) => void;
}) {
  const { states, stateOf, pump } = schedule;
  let cancelLook = () => {};

  /** Releases the lane for whichever process sends next. If that fails, the lane is due by its own time. */
  async function hasten(lanes: readonly string[] | undefined): Promise<void> {
    try {
      const isolation = lanes === undefined || lanes.length === 1 ? 'statement' : 'rows';
      await store.write((tx) => rows.hasten(tx, lanes), { isolation });
      await look();
    } catch (error) {
      onFault(error);
    }
  }

  function adopt({ lane, depth, notBefore, wait, person, at }: LoadedLane): void {
    const state = stateOf(lane, person);
    state.depth = depth;
    state.since = at;
    if (state.busy || (state.notBefore === notBefore && state.waiting !== null)) return;
    state.notBefore = notBefore;
    // A wall clock that was ahead then, or was set back since, must not delay a lane for longer than it was to wait.
    const left = Math.min(Math.max(0, notBefore - clock.now()), wait);
    state.due = left === 0 ? 0 : clock.monotonic() + left;
  }

  /** Reads the current rows, whichever process appended, postponed or removed them. */
  async function look(): Promise<void> {
    const before = schedule.ends();
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
    if (ending.aborted) return;
    cancelLook = timers.after(lookMs, () => {
      look().catch(onFault).finally(keepLooking);
    });
  }

  return { hasten, adopt, start: keepLooking, stop: () => cancelLook() };
}
