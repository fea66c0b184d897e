/**
 * The carrier's later work, in order of due time: at once, in its own time, or step by step (the speed). Owns the waiting; each part owns its jobs.
 * Must not know what a job is about.
 */
import type { Job, Speed, State } from './state.ts';
import type { World } from './world.ts';

export type JobHandlers = Readonly<Record<string, (args: Job['args']) => void>>;

export interface Jobs {
  /** Checks for due jobs; called after every change. */
  kick(): void;
  setSpeed(speed: Speed): void;
  /** Does the next job now, whenever it was due. Returns whether there was one. */
  step(): boolean;
  /** Moves the carrier's own time, and does the jobs that become due. */
  advance(ms: number): void;
  readonly busy: boolean;
  stop(): void;
}

interface JobsDeps {
  readonly world: World;
  readonly handlers: JobHandlers;
  /** Stores the state and sends the queued posts. */
  changed(): void;
  settled(): void;
}

/** More in one turn would delay requests. */
const aTurn = 50;

export function createJobs({ world, handlers, changed, settled }: JobsDeps): Jobs {
  const { state } = world;
  let cancel: (() => void) | null = null;
  let queued = false;
  let stopped = false;

  function soonest(from: State): Job | null {
    let first: Job | null = null;
    for (const job of from.jobs) if (first === null || job.dueAt < first.dueAt) first = job;
    return first;
  }

  /** At the instant speed at once, except jobs that wait for a person; never automatically while time stands still. */
  function ripe(): Job | null {
    if (state.frozenAt !== null) return null;
    if (state.speed === 'instant') {
      const quick = soonest({ ...state, jobs: state.jobs.filter((job) => !job.patient) });
      if (quick !== null) return quick;
    }
    const first = soonest(state);
    return first !== null && first.dueAt <= world.time() ? first : null;
  }

  function run(job: Job): void {
    state.jobs = state.jobs.filter((other) => other !== job);
    world.log('does', { what: job.what });
    const handle = handlers[job.kind];
    if (handle === undefined) throw new Error(`nobody does ${job.kind}`);
    handle(job.args);
  }

  function turn(): void {
    queued = false;
    if (stopped) return;
    let done = 0;
    for (let job = ripe(); job !== null && done < aTurn; job = ripe()) {
      run(job);
      done += 1;
    }
    if (done > 0) changed();
    arm();
    settled();
  }

  function arm(): void {
    cancel?.();
    cancel = null;
    if (ripe() !== null) queue();
    else if (state.frozenAt === null) {
      const first = soonest(state);
      if (first !== null) cancel = world.timers.after(first.dueAt - world.time(), turn);
    }
  }

  function queue(): void {
    if (queued || stopped) return;
    queued = true;
    setImmediate(turn);
  }

  return {
    kick: arm,
    setSpeed(speed) {
      if (speed === 'paused') state.frozenAt ??= world.time();
      else if (state.frozenAt !== null) {
        state.ahead = state.frozenAt - world.clock.now();
        state.frozenAt = null;
      }
      state.speed = speed;
      changed();
      arm();
    },
    step() {
      const job = soonest(state);
      if (job === null) return false;
      if (job.dueAt > world.time()) moveTo(job.dueAt);
      run(job);
      changed();
      arm();
      return true;
    },
    advance(ms) {
      const end = world.time() + ms;
      for (let job = soonest(state); job !== null && job.dueAt <= end; job = soonest(state)) {
        if (job.dueAt > world.time()) moveTo(job.dueAt);
        run(job);
      }
      if (end > world.time()) moveTo(end);
      changed();
      arm();
    },
    get busy() {
      return queued || ripe() !== null;
    },
    stop() {
      stopped = true;
      cancel?.();
    },
  };

  function moveTo(time: number): void {
    if (state.frozenAt !== null) state.frozenAt = time;
    else state.ahead = time - world.clock.now();
  }
}
