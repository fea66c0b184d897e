/**
 * Runs queued jobs: decides which may begin now, why the others wait, and the state of those that ended. A job that ran when the runtime stopped is
 * interrupted and never replayed automatically. One pass at a time; each ends by setting one timer for whatever comes due next. Must not know bots,
 * models or HTTP.
 */

import type { Rule } from '../../../contracts/connectors/rule.ts';
import { iso } from '../../../kit/clock/clock.ts';
import { pause } from '../../../kit/clock/timers.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { Base } from '../../base/base.ts';
import type { ConnectorTickets, ExecutionEnd, Executor, RunRecords } from '../ports.ts';
import { engine, type Jobs } from './jobs.ts';
import { dayMs, liveStates, maxRunning } from './model.ts';
import { promptFor } from './prompt.ts';
import { readRule } from './rule-store.ts';
import {
  addAttempt,
  countSince,
  endAttempt,
  explainQueued,
  firstQueued,
  inputsOf,
  isExplained,
  type JobRecord,
  jobsIn,
  nextBatchEnd,
  openAttempt,
  type Read,
  readJob,
  ticketsDoneBy,
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
const writeAgainMs = 5000;
/** Less than the runtime has for closing. */
const closeMs = 1000;
const interruptedWords = 'Gantry stopped during this run. What was done stays done; nothing was repeated.';
const heldWords =
  'The run did not confirm within 15 seconds that it stopped. Check what it did before you run it again.';

export function createDispatch(
  deps: Pick<Base, 'store' | 'clock' | 'timers' | 'ids'> & {
    readonly jobs: Jobs;
    readonly executor: Executor;
    readonly runs: RunRecords;
    readonly tickets: Pick<ConnectorTickets, 'read' | 'close'>;
    readonly log: { warn(message: string, facts?: Readonly<Record<string, unknown>>): void };
  },
): Dispatch {
  const { store, clock, timers, jobs, executor, runs } = deps;
  /** By run: one that was held for inspection may still be here while its job is run again. */
  const live = new Map<
    string,
    { readonly jobId: string; readonly abort: AbortController; readonly over: Promise<void> }
  >();
  /** Runs that wait for a person's yes, possibly for days: they take no slot until then. */
  const waiting = new Set<string>();
  let passing: Promise<void> | null = null;
  let again = false;
  /** Aborted at the close: what runs is left as it is, to be found as interrupted. */
  const stop = new AbortController();
  let cancelTimer = () => {};

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
        deps.log.warn('Automation could not read the waiting runs.', { error: String(error) });
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
        for (const job of now.stopping) interrupt(tx, job, heldWords);
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
        await start(job);
        again = true;
      }
    }
    return next;
  }

  /** Why it cannot begin now, and until when if known. */
  async function hold(job: JobRecord): Promise<{ why: string; until: number | null } | null> {
    const limit = await store.read((tx) => limited(tx, job, clock.now()));
    if (limit !== null) return limit;
    const running = await store.read(
      (tx) => jobsIn(tx, ['running']).filter(({ id }) => !waiting.has(openAttempt(tx, id)?.runId ?? '')).length,
    );
    if (running >= maxRunning) return { why: `${running} runs are in progress; this one follows.`, until: null };
    const why = await executor.hindrance(job.config.botId);
    return why === null ? null : { why, until: null };
  }

  async function start(job: JobRecord): Promise<void> {
    const runId = deps.ids.next('run');
    const abort = new AbortController();
    const begun = await store.write((tx) => {
      const now = readJob(tx, job.id);
      // It has changed since it was checked: the next pass checks it again.
      if (now === null || now.status !== 'queued' || now.version !== job.version) return null;
      if (jobsIn(tx, ['stopping']).length > 0) return null;
      const at = clock.now();
      const { botId } = now.config;
      addAttempt(tx, { job: now, runId, at });
      runs.begin(tx, { id: runId, botId, jobId: now.id, at });
      const moved = jobs.move(tx, now, 'running', engine, { reason: null, sessionId: null, output: null, error: null });
      const told = inputsOf(tx, now.id).map((input) => ({
        ...input,
        data: deps.tickets.read(tx, input.ticketId)?.data ?? null,
      }));
      return moved === null ? null : { job: moved, text: promptFor(moved, told) };
    });
    if (begun === null) return;
    const { config } = begun.job;
    const over = executor
      .run({
        runId,
        botId: config.botId,
        mode: config.executionMode,
        text: begun.text,
        timeoutMs: config.timeoutSeconds * 1000,
        signal: abort.signal,
        waits(forPerson) {
          if (forPerson) waiting.add(runId);
          else waiting.delete(runId);
          wake();
        },
      })
      .catch((error: unknown) => broken(String(error)))
      .then((end) => untilWritten(() => finish(job.id, runId, end)))
      .finally(() => {
        live.delete(runId);
        waiting.delete(runId);
        wake();
      });
    live.set(runId, { jobId: job.id, abort, over });
  }

  /** A disk that is full now may take it later: a run that has ended must not stay running for that. */
  async function untilWritten(write: () => Promise<void>): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        return await write();
      } catch (error) {
        deps.log.warn('The end of a run could not be saved.', { error: String(error) });
        await pause(timers, writeAgainMs, stop.signal);
      }
    }
  }

  async function finish(jobId: string, runId: string, end: ExecutionEnd): Promise<void> {
    await store.write((tx) => {
      const job = readJob(tx, jobId);
      // It was held for inspection in between, and perhaps run again.
      if (job === null || openAttempt(tx, jobId)?.runId !== runId) return;
      const { output, error, sessionId } = end;
      if (job.status === 'stopping') {
        ended(tx, runId, 'cancelled', end);
        jobs.move(tx, job, 'cancelled', engine, {
          reason: 'The run was stopped.',
          stopBy: null,
          output,
          error,
          sessionId,
        });
        return;
      }
      // Stopped where it ran, not here: a person at the bot.
      const status = end.status === 'cancelled' ? 'interrupted' : end.status;
      ended(tx, runId, status, end);
      jobs.move(tx, job, status, engine, {
        reason: end.status === 'completed' ? null : error,
        output,
        error,
        sessionId,
      });
      // Only the job knew of these tickets: a thousand open ones would block further events.
      if (status === 'completed') for (const id of ticketsDoneBy(tx, jobId)) deps.tickets.close(tx, id, jobId);
    });
  }

  const ended = (
    tx: Tx,
    runId: string,
    status: 'completed' | 'failed' | 'cancelled' | 'interrupted',
    end: Pick<ExecutionEnd, 'output' | 'error' | 'usage'>,
  ) => {
    const at = clock.now();
    endAttempt(tx, runId, { status, at, usage: end.usage, error: end.error });
    runs.end(tx, runId, { status, at, output: end.output, error: end.error, usage: end.usage });
  };

  const interrupt = (tx: Tx, job: JobRecord, why: string) => {
    const attempt = openAttempt(tx, job.id);
    if (attempt !== null) {
      const { runId } = attempt;
      // Its spend counts, though it can no longer report it.
      const usage = runs.reported(tx, { id: runId, botId: job.config.botId });
      ended(tx, runId, 'interrupted', { output: null, error: why, usage });
    }
    jobs.move(tx, job, 'interrupted', engine, { reason: why, error: why, stopBy: null });
  };

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
        for (const job of jobsIn(tx, liveStates)) interrupt(tx, job, interruptedWords);
      }),
    abort(jobId) {
      for (const one of live.values()) if (one.jobId === jobId) one.abort.abort();
    },
    async close() {
      stop.abort();
      off();
      cancelTimer();
      for (const { abort } of live.values()) abort.abort();
      const over = Promise.all([passing, ...[...live.values()].map((one) => one.over)]);
      await Promise.race([over, new Promise<void>((resolve) => void timers.after(closeMs, resolve))]);
    },
  };
}

const broken = (error: string): ExecutionEnd => ({
  status: 'failed',
  output: null,
  error,
  usage: null,
  sessionId: null,
});

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
