/** How the run of a job ends: the states of job, attempt and run, written together. Must not know when a job begins. */
import type { Tx } from '../../../kit/store/store.ts';
import type { Base } from '../../base/base.ts';
import type { ConnectorTickets, ExecutionEnd, RunRecords } from '../ports.ts';
import { engine, type Jobs } from './jobs.ts';
import { endAttempt, type JobRecord, openAttempt, readJob, ticketsDoneBy } from './store.ts';

export type JobEnds = ReturnType<typeof createJobEnds>;

export function createJobEnds(
  deps: Pick<Base, 'store' | 'clock'> & {
    readonly jobs: Pick<Jobs, 'move'>;
    readonly runs: Pick<RunRecords, 'end' | 'reported'>;
    readonly tickets: Pick<ConnectorTickets, 'close'>;
  },
) {
  const { store, clock, jobs, runs } = deps;

  async function finish(jobId: string, runId: string, end: ExecutionEnd): Promise<void> {
    await store.write((tx) => {
      const job = readJob(tx, jobId);
      // It was held for inspection in between, and perhaps run again.
      if (job === null || openAttempt(tx, jobId)?.runId !== runId) return;
      const { output, error, sessionId } = end;
      if (job.status === 'stopping') {
        ended(tx, runId, 'cancelled', end);
        jobs.move(tx, job, 'cancelled', engine, {
          reason: 'The job was stopped.',
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

  function ended(
    tx: Tx,
    runId: string,
    status: 'completed' | 'failed' | 'cancelled' | 'interrupted',
    end: Pick<ExecutionEnd, 'output' | 'error' | 'usage'>,
  ): void {
    const at = clock.now();
    endAttempt(tx, runId, { status, at, usage: end.usage, error: end.error });
    runs.end(tx, runId, { status, at, output: end.output, error: end.error, usage: end.usage });
  }

  /** It can no longer report its end. */
  function interrupt(tx: Tx, job: JobRecord, why: string): void {
    const attempt = openAttempt(tx, job.id);
    if (attempt !== null) {
      const { runId } = attempt;
      // Its spend counts, though it can no longer report it.
      const usage = runs.reported(tx, { id: runId, botId: job.config.botId });
      ended(tx, runId, 'interrupted', { output: null, error: why, usage });
    }
    jobs.move(tx, job, 'interrupted', engine, { reason: why, error: why, stopBy: null });
  }

  return { finish, interrupt };
}
