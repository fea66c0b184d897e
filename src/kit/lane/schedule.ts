/**
 * When each lane of this process may send, in memory beside the rows: how many rows wait, why, and until when. Begins the due lanes in turns, as far as
 * there is room. Must not know rows or what is sent.
 */

import type { Clock } from '../clock/clock.ts';
import type { Timers } from '../clock/timers.ts';
import type { LaneLoad } from './lane.ts';
import type { Taken } from './rows.ts';
import { createTurns } from './turns.ts';

export interface LaneState {
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
/** Only when the computers or services of eight persons hang does anybody else have to wait. */
const sharesOfAll = 8;

export type Schedule = ReturnType<typeof createSchedule>;

export function createSchedule(deps: {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Lanes that send at the same time. */
  readonly parallel: number;
  /** How long a lane waits after a fault. */
  readonly recheckMs: number;
  readonly onFault: (error: unknown) => void;
}) {
  const { clock, timers, parallel } = deps;
  const states = new Map<string, LaneState>();
  const running = new Set<Promise<void>>();
  const turns = createTurns(Math.max(1, Math.floor(parallel / sharesOfAll)));
  /** Sends heads of one lane until it is empty or has to wait. Null: nothing is sent yet, or any more. */
  let run: ((lane: string, state: LaneState) => Promise<void>) | null = null;
  let ends = 0;
  let cancelTimer = () => {};

  function stateOf(lane: string, person: string | null = null): LaneState {
    let state = states.get(lane);
    if (state === undefined) {
      state = newState(person ?? lane, clock.now());
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
    if (run === null) return;
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
      for (const [lane, state] of turns.order(due, parallel - running.size)) begin(run, lane, state);
    }
    if (next < Number.POSITIVE_INFINITY) {
      cancelTimer = timers.after(Math.min(next - clock.monotonic(), maxWaitMs), pump);
    }
  }

  function begin(send: NonNullable<typeof run>, lane: string, state: LaneState): void {
    state.busy = true;
    state.woken = false;
    turns.begin(state.whose);
    const work = send(lane, state)
      .catch((error: unknown) => {
        wait(state, error instanceof Error ? error.message : String(error), deps.recheckMs);
        deps.onFault(error);
      })
      .finally(() => {
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

  return {
    states,
    stateOf,
    changeDepth,
    wait,
    pump,
    load(): LaneLoad {
      const load = { items: 0, oldestAt: null as number | null, sending: running.size, parallel };
      for (const { depth, since } of states.values()) {
        if (depth <= 0) continue;
        load.items += depth;
        load.oldestAt = Math.min(load.oldestAt ?? since, since);
      }
      return load;
    },
    /** How many sends have ended, of all lanes together. */
    ends: () => ends,
    start(send: NonNullable<typeof run>) {
      run = send;
      pump();
    },
    /** Begins nothing more, and waits up to `graceMs` for what is under way. */
    async stop(graceMs: number) {
      run = null;
      cancelTimer();
      if (graceMs <= 0) return;
      let cancel = () => {};
      const late = new Promise<void>((resolve) => {
        cancel = timers.after(graceMs, resolve);
      });
      await Promise.race([Promise.allSettled([...running]), late]);
      cancel();
    },
  };
}

const newState = (whose: string, since: number): LaneState => ({
  whose,
  depth: 0,
  since,
  appended: 0,
  busy: false,
  ended: 0,
  woken: false,
  due: 0,
  notBefore: 0,
  waiting: null,
  taking: null,
});
