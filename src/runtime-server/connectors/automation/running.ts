/**
 * Jobs that run now: begins one and waits for its end, which is written however long the disk refuses. Must not know which job may begin.
 */
import { pause } from '../../../kit/clock/timers.ts';
import type { Base } from '../../base/base.ts';
import type { ConnectorTickets, ExecutionEnd, Executor, RunRecords } from '../ports.ts';
import type { JobEnds } from './job-ends.ts';
import { engine, type Jobs } from './jobs.ts';
import { promptFor } from './prompt.ts';
import { addAttempt, inputsOf, type JobRecord, jobsIn, readJob } from './store.ts';

const writeAgainMs = 5000;

export function createRunning(
  deps: Pick<Base, 'store' | 'clock' | 'timers' | 'ids'> & {
    readonly jobs: Pick<Jobs, 'move'>;
    readonly executor: Pick<Executor, 'run'>;
    readonly runs: Pick<RunRecords, 'begin'>;
    readonly tickets: Pick<ConnectorTickets, 'read'>;
    readonly ends: Pick<JobEnds, 'finish'>;
    readonly log: { warn(message: string, facts?: Readonly<Record<string, unknown>>): void };
    /** A run ended, or waits for a person: another may begin. */
    readonly moved: () => void;
    /** Aborted at the close: what runs is left as it is, to be found as interrupted. */
    readonly closing: AbortSignal;
  },
) {
  const { store, clock, timers, jobs, executor, runs, closing } = deps;
  /** By run: one that was held for inspection may still be here while its job is run again. */
  const live = new Map<
    string,
    { readonly jobId: string; readonly abort: AbortController; readonly over: Promise<void> }
  >();
  /** Runs that wait for a person's yes, possibly for days: they take no slot until then. */
  const waiting = new Set<string>();

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
        jobId: job.id,
        botId: config.botId,
        mode: config.executionMode,
        text: begun.text,
        timeoutMs: config.timeoutSeconds * 1000,
        signal: abort.signal,
        waits(forPerson) {
          if (forPerson) waiting.add(runId);
          else waiting.delete(runId);
          deps.moved();
        },
      })
      .catch((error: unknown) => broken(String(error)))
      .then((end) => untilWritten(() => deps.ends.finish(job.id, runId, end)))
      .finally(() => {
        live.delete(runId);
        waiting.delete(runId);
        deps.moved();
      });
    live.set(runId, { jobId: job.id, abort, over });
  }

  /** A disk that is full now may take it later: a run that has ended must not stay running for that. */
  async function untilWritten(write: () => Promise<void>): Promise<void> {
    while (!closing.aborted) {
      try {
        return await write();
      } catch (error) {
        deps.log.warn('The end of a job could not be saved.', { error: String(error) });
        await pause(timers, writeAgainMs, closing);
      }
    }
  }

  return {
    start,
    takesSlot: (runId: string | undefined) => !waiting.has(runId ?? ''),
    abort(jobId: string): void {
      for (const one of live.values()) if (one.jobId === jobId) one.abort.abort();
    },
    /** Asks all of them to stop; resolves when none runs any more. */
    async stopAll(): Promise<void> {
      for (const { abort } of live.values()) abort.abort();
      await Promise.all([...live.values()].map((one) => one.over));
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
