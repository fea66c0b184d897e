/**
 * Starts due schedules. Each time of a schedule is decided once: its row is written in the transaction that starts its run and sets the next time,
 * so that a kill, two engines or a clock that is set back start nothing twice. Times that passed while Gantry did not run are missed, and shown.
 * Must not know HTTP.
 */

import { AppError } from '../../../contracts/common/errors.ts';
import type { RunStarted } from '../../../contracts/factory/workflow.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { Actor } from '../../base/actor.ts';
import type { Base } from '../../base/base.ts';
import type { Runs } from '../runs.ts';
import {
  addOccurrence,
  forgetOccurrences,
  makeUp,
  moveOn,
  openRunOf,
  readSchedules,
  type ScheduleRecord,
} from './store.ts';
import { nextDue, timesBetween } from './times.ts';

/** A sleeping computer stops every timer: the wall clock is checked this often. */
const lookEveryMs = 30_000;
/** So late a time still counts as kept: a start takes a while, and so does a look. */
const onTimeMs = 2 * 60_000;
/** Missed times that are shown, the newest. */
const maxMissed = 100;
const maxOccurrences = 1000;

export interface KeeperDeps extends Pick<Base, 'store' | 'clock' | 'timers' | 'log'> {
  readonly workspace: string;
  readonly runs: Pick<Runs, 'start'>;
  /** A run could not be started: its person is notified. */
  failed(tx: Tx, title: string, reason: string, id: string): void;
}

interface Keeper {
  start(): Promise<void>;
  /** A schedule was changed: the next time is computed again. */
  changed(): void;
  /** A run on a person's request: of a missed time, or now. */
  runNow(schedule: ScheduleRecord, due: number | null, by: Actor): Promise<RunStarted>;
  close(): Promise<void>;
}

const bySchedule: Actor = { actor: 'engine', surface: 'schedule' };

/** This time was decided already: nothing is started. */
class Decided extends Error {}

export function createKeeper(deps: KeeperDeps): Keeper {
  const { store, clock, timers, workspace } = deps;
  let cancel = () => {};
  let looking: Promise<void> | null = null;
  let again = false;
  let closed = false;

  function look(): Promise<void> {
    again = true;
    looking ??= (async () => {
      let next: number | null = null;
      while (again && !closed) {
        again = false;
        next = await keep();
      }
      arm(next);
    })()
      .catch((error: unknown) => {
        if (closed) return;
        deps.log.warn('Due schedules could not be started.', { error: String(error) });
        arm(clock.now() + lookEveryMs);
      })
      .finally(() => {
        looking = null;
      });
    return looking;
  }

  function arm(next: number | null): void {
    cancel();
    if (closed || next === null) return;
    cancel = timers.after(Math.min(Math.max(0, next - clock.now()), lookEveryMs), () => void look());
  }

  /** Starts due schedules; returns the next due time. */
  async function keep(): Promise<number | null> {
    const all = await store.read((tx) => readSchedules(tx, workspace));
    const faults: unknown[] = [];
    for (const one of all) {
      if (closed || one.paused || one.nextDue === null) continue;
      // One schedule's failure must not delay the others.
      await keepOne(one, one.nextDue).catch((fault: unknown) => faults.push(fault));
    }
    if (faults.length > 0) throw faults[0];
    const after = await store.read((tx) => readSchedules(tx, workspace));
    const times = after.flatMap(({ paused, nextDue: due }) => (paused || due === null ? [] : [due]));
    return times.length === 0 ? null : Math.min(...times);
  }

  /** False where another process has done so. Also deletes old times. */
  function goOn(tx: Tx, id: string, from: number, to: number | null): boolean {
    forgetOccurrences(tx, id, maxOccurrences);
    return moveOn(tx, id, from, to);
  }

  async function keepOne(schedule: ScheduleRecord, first: number): Promise<void> {
    const now = clock.now();
    if (first > now) return;
    const { times } = timesBetween(schedule, first, now, maxMissed);
    const last = times.at(-1) ?? first;
    const kept = last >= now - onTimeMs;
    const missed = kept ? times.slice(0, -1) : times;
    const next = nextDue(schedule, Math.max(last, now));
    // Missed times are recorded before anything starts: a person sees all of them.
    if (missed.length > 0) {
      await store.write((tx) => {
        for (const due of missed) {
          addOccurrence(tx, schedule.id, {
            due,
            state: 'missed',
            dagId: null,
            reason: 'Gantry was not running',
            at: now,
          });
        }
        if (!kept && !schedule.runMissed) goOn(tx, schedule.id, first, next);
      });
      if (!kept && !schedule.runMissed) return;
    }
    const open = await store.read((tx) => openRunOf(tx, schedule.id));
    if (open === null) await begin(schedule, { due: last, first, next, late: !kept });
    else {
      await store.write((tx) => {
        const reason = `Its run ${open} has not ended`;
        if (kept) addOccurrence(tx, schedule.id, { due: last, state: 'skipped', dagId: null, reason, at: now });
        goOn(tx, schedule.id, first, next);
      });
    }
  }

  interface Turn {
    readonly due: number;
    readonly first: number;
    readonly next: number | null;
    readonly late: boolean;
  }

  async function begin(schedule: ScheduleRecord, { due, first, next, late }: Turn): Promise<void> {
    const { id } = schedule;
    try {
      await deps.runs.start(schedule.run, bySchedule, undefined, (tx, dagId) => {
        const at = clock.now();
        const ours = late
          ? makeUp(tx, id, due, dagId, at)
          : addOccurrence(tx, id, { due, state: 'started', dagId, reason: null, at });
        if (!ours || !goOn(tx, id, first, next)) throw new Decided();
      });
    } catch (error) {
      if (error instanceof Decided) {
        await store.write((tx) => goOn(tx, id, first, next));
        return;
      }
      // The disk, not the run: it is tried again.
      if (!(error instanceof AppError) || error.code === 'transport') throw error;
      const reason = error.fact;
      await store.write((tx) => {
        const failed = { due, state: 'failed' as const, dagId: null, reason, at: clock.now() };
        if (addOccurrence(tx, id, failed)) deps.failed(tx, schedule.title, reason, `${id}:${due}`);
        goOn(tx, id, first, next);
      });
    }
  }

  return {
    start: look,
    changed: () => void look(),
    async runNow(schedule, due, by) {
      const started = await deps.runs.start(schedule.run, by, undefined, (tx, dagId) => {
        const at = clock.now();
        const ours =
          due === null
            ? addOccurrence(tx, schedule.id, { due: at, state: 'started', dagId, reason: 'run by a person', at })
            : makeUp(tx, schedule.id, due, dagId, at);
        if (ours) return;
        throw new AppError('refused', 'That time already has its run.', 'Run it now, without a time.', { status: 409 });
      });
      if ('dryRun' in started) throw new Error('A start was answered as a dry run.');
      return started;
    },
    async close() {
      closed = true;
      cancel();
      await looking;
    },
  };
}
