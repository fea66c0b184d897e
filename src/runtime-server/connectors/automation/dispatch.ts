/**
 * Runs queued jobs: decides which may begin now, why the others wait, and the state of those that ended. A job that ran when the runtime stopped is
 * interrupted and never replayed automatically. One pass at a time; each ends by setting one timer for whatever comes due next. Must not know bots,
 * models or HTTP.
 */
import type { Rule } from '../../../contracts/connectors/rule.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Base } from '../../base/base.ts';
import type { ConnectorTickets, Executor, RunRecords } from '../ports.ts';
import { createJobEnds } from './job-ends.ts';
import type { Jobs } from './jobs.ts';
import { dayMs, liveStates, maxRunning } from './model.ts';
import { readRule } from './rule-store.ts';
import { createRunning } from './running.ts';
import {
  countSince,
  explainQueued,
  firstQueued,
  isExplained,
  type JobRecord,
  jobsIn,
  nextBatchEnd,
  openAttempt,
  type Read,
} from './store.ts';

interface Dispatch {
  /** A job that ran when Gantry ended is interrupted, and never restarted automatically. */
  recover(): Promise<void>;
  /** Something may have come due. */
  wake(): void;
  /** Asks the run of this job to stop; its end is handled as any other. */
  abort(jobId: string): void;
  /** Lets go of what runs, to be found as interrupted. */
  close(): Promise<void>;
}

/** Changes without a notification (a new price, a key) are checked this often while a job waits. */
const lookAgainMs = 60_000;
/** Less than the runtime has for closing. */
const closeMs = 1000;
const interruptedWords = 'Gantry stopped during this job. What was done stays done; nothing was repeated.';
const heldWords = 'The job did not confirm within 15 seconds that it stopped. Check what it did before you retry it.';

export function createDispatch(
  deps: Pick<Base, 'store' | 'clock' | 'timers' | 'ids'> & {
    readonly jobs: Jobs;
    readonly executor: Executor;
    readonly runs: RunRecords;
    readonly tickets: Pick<ConnectorTickets, 'read' | 'close'>;
    readonly log: { warn(message: string, facts?: Readonly<Record<string, unknown>>): void };
  },
): Dispatch {
  const { store, clock, timers, jobs, executor } = deps;
  let passing: Promise<void> | null = null;
  let again = false;
  /** Aborted at the close: what runs is left as it is, to be found as interrupted. */
  const stop = new AbortController();
  let cancelTimer = () => {};
  const ends = createJobEnds(deps);
  const running = createRunning({ ...deps, ends, moved: wake, closing: stop.signal });

  function wake(): void {
    if (stop.signal.aborted) return;
    again = true;
    if (passing !== null) return;
    passing = (async () => {
      while (again && !stop.signal.aborted) {
        again = false;
        await pass();
      }
    })()
      .catch((error: unknown) => {
        deps.log.warn('Automation could not read the waiting jobs.', { error: String(error) });
        arm(clock.now() + lookAgainMs);
      })
      .finally(() => {
        passing = null;
        if (again) wake();
      });
  }

  async function pass(): Promise<void> {
    const over = await store.read((tx) => overdue(tx));
    if (over.gathered.length + over.stopping.length > 0) {
      await store.write((tx) => {
        const now = overdue(tx);
        for (const job of now.gathered) jobs.gathered(tx, job);
        for (const job of now.stopping) ends.interrupt(tx, job, heldWords);
      });
    }
    const due = await store.read((tx) => {
      const stopping = jobsIn(tx, ['stopping']);
      const times = [nextBatchEnd(tx), ...stopping.map((job) => job.stopBy)];
      return { stopping: stopping.length > 0, next: soonest(times) };
    });
    const next = due.stopping ? due.next : soonest([due.next, await startWhatMay()]);
    arm(next);
  }

  const overdue = (tx: Read) => {
    const now = clock.now();
    return {
      gathered: jobsIn(tx, ['batching']).filter((job) => (job.batchUntil ?? 0) <= now),
      stopping: jobsIn(tx, ['stopping']).filter((job) => (job.stopBy ?? 0) <= now),
    };
  };

  /** Returns when to check again automatically; null: nothing waits. */
  async function startWhatMay(): Promise<number | null> {
    let next: number | null = null;
    const first = await store.read((tx) => firstQueued(tx));
    for (const job of first) {
      if (stop.signal.aborted) return null;
      const held = await hold(job);
      if (held !== null) {
        const { why } = held;
        const told = await store.read((tx) => isExplained(tx, job, why));
        if (!told) await store.write((tx) => explainQueued(tx, job, why));
        next = soonest([next, held.until ?? clock.now() + lookAgainMs]);
      } else {
        await running.start(job);
        again = true;
      }
    }
    return next;
  }

  /** Why it cannot begin now, and until when if known. */
  async function hold(job: JobRecord): Promise<{ why: string; until: number | null } | null> {
    const limit = await store.read((tx) => limited(tx, job, clock.now()));
    if (limit !== null) return limit;
    const inSlots = await store.read(
      (tx) => jobsIn(tx, ['running']).filter(({ id }) => running.takesSlot(openAttempt(tx, id)?.runId)).length,
    );
    if (inSlots >= maxRunning) return { why: `${inSlots} jobs are in progress; this one follows.`, until: null };
    const why = await executor.hindrance(job.config.botId);
    return why === null ? null : { why, until: null };
  }

  function arm(at: number | null): void {
    cancelTimer();
    if (stop.signal.aborted || at === null) return;
    // The wall clock may jump.
    cancelTimer = timers.after(Math.min(Math.max(0, at - clock.now()) + 1, lookAgainMs), wake);
  }

  const off = executor.onFree(wake);
  return {
    wake,
    recover: () =>
      store.write((tx) => {
        for (const job of jobsIn(tx, liveStates)) ends.interrupt(tx, job, interruptedWords);
      }),
    abort: running.abort,
    async close() {
      stop.abort();
      off();
      cancelTimer();
      const over = Promise.all([passing, running.stopAll()]);
      await Promise.race([over, new Promise<void>((resolve) => void timers.after(closeMs, resolve))]);
    },
  };
}

/** Pause and rolling limits of the rule as it is now; a job whose rule is gone has those that it was made with. */
function limited(tx: Read, job: JobRecord, now: number): { why: string; until: number | null } | null {
  const rule: Pick<Rule, 'paused' | 'maxRunsPerDay' | 'dailySpendThresholdUsd'> = readRule(tx, job.ruleId) ?? {
    ...job.config,
    paused: false,
  };
  if (rule.paused) return { why: 'Its rule is paused.', until: null };
  const { startedAt, spent } = countSince(tx, job.ruleId, now - dayMs);
  const over = startedAt.length - rule.maxRunsPerDay;
  if (over >= 0) {
    const until = (startedAt[over] as number) + dayMs;
    const why = `Its rule has run ${startedAt.length} times in 24 hours, which is its limit. It continues at ${iso(until)}.`;
    return { why, until };
  }
  const threshold = rule.dailySpendThresholdUsd;
  const total = spent.reduce((sum, one) => sum + one.usd, 0);
  if (threshold === null || total < threshold) return null;
  const until = belowAt(spent, total, threshold);
  const why = `Its rule has spent $${total.toFixed(2)} in 24 hours, and its threshold is $${threshold}. It continues at ${iso(until)}.`;
  return { why, until };
}

function belowAt(spent: readonly { at: number; usd: number }[], total: number, threshold: number): number {
  let left = total;
  for (const one of spent) {
    left -= one.usd;
    if (left < threshold) return one.at + dayMs;
  }
  return (spent.at(-1)?.at ?? 0) + dayMs;
}

function soonest(times: readonly (number | null)[]): number | null {
  const given = times.filter((time): time is number => time !== null);
  return given.length === 0 ? null : Math.min(...given);
}
