/**
 * How a task ended, told until the queue has heard it; kept in the spool meanwhile, so that the end of this process loses nothing, and told for workers
 * that ended before they could. Must not know how a task is leased or run.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '../../client/client.ts';
import { AppError } from '../../contracts/common/errors.ts';
import type { workRoutes } from '../../contracts/work-queue/routes.ts';
import type { TaskError } from '../../contracts/work-queue/task.ts';
import { sharedNow } from './beat-messages.ts';
import { badResult } from './outcome.ts';
import { backoff, firstPauseMs, isPassing, patienceMs, sentence, type Within } from './queue-calls.ts';
import type { KeptReport, Spool } from './spool.ts';

export type ReportEvent =
  /** A result that an earlier worker kept: the queue has taken it, or no longer wants it. */
  | { readonly kind: 'delivered' | 'outdated'; readonly taskId: string; readonly why?: string }
  | { readonly kind: 'damaged'; readonly file: string }
  | { readonly kind: 'trouble'; readonly why: string; readonly againMs: number };

/** The queue cannot be told. */
export class Lost extends Error {}
/** The queue cannot be told now; the next worker here tells it. */
export class Kept extends Error {}

/** Fields of the bodies that end a task. */
interface TaskEnd {
  readonly [field: string]: unknown;
  readonly worker_id: string;
  readonly lease_id: string;
}

interface Reports {
  /** Null: the queue took the result. One that it does not take, such as one that is too large, fails the task. Throws as {@link stop}. */
  ack(taskId: string, body: TaskEnd): Promise<TaskError | null>;
  /** Throws {@link Kept}, {@link Lost}, or what the queue answered. */
  stop(taskId: string, body: TaskEnd): Promise<void>;
  /** What earlier workers here could not report, before anything new is taken. Returns how many the queue took. */
  deliverKept(): Promise<number>;
}

/** Without a spool: a worker that has done its work does not wait for ever for a queue that never comes back. */
const maxInsistingMs = 10 * 60_000;

export function createReports({
  client,
  spool,
  within,
  random,
  tell,
  now,
  isDraining,
}: {
  readonly client: Client<typeof workRoutes>;
  readonly spool: Spool | null;
  readonly within: Within;
  readonly random: () => number;
  readonly tell: (event: ReportEvent) => void;
  /** Aborts when the worker ends at once. */
  readonly now: AbortSignal;
  readonly isDraining: () => boolean;
}): Reports {
  async function report(verb: 'ack' | 'stop', taskId: string, body: TaskEnd): Promise<void> {
    let kept: KeptReport | null = null;
    try {
      kept = spool?.keep({ taskId, verb, body }) ?? null;
    } catch (error) {
      // It is still sent, as without a spool.
      tell({
        kind: 'trouble',
        why: `The result of ${taskId} could not be kept on disk: ${String(error)}.`,
        againMs: 0,
      });
    }
    try {
      await send(verb, taskId, body, kept !== null);
    } catch (error) {
      if (kept !== null && error instanceof Lost) throw new Kept(`The next worker here reports it (${kept.file}).`);
      // A refused key is no answer to the report: the next worker has another.
      if (kept !== null && isAnswer(error)) spool?.remove(kept);
      throw error;
    }
    if (kept !== null) spool?.remove(kept);
  }

  function send(verb: 'ack' | 'stop', id: string, body: TaskEnd, isKept: boolean): Promise<void> {
    const params = { id };
    return insist(
      (signal) =>
        verb === 'ack' ? client.ackTask({ params, body }, { signal }) : client.stopTask({ params, body }, { signal }),
      isKept,
    );
  }

  /**
   * Tells the queue until it has heard. Also when the lease is over: what is done is done, and counts unless somebody else has the
   * task by then, which the queue knows.
   */
  async function insist(call: (signal: AbortSignal) => Promise<unknown>, isKept: boolean): Promise<void> {
    const end = isKept ? Number.POSITIVE_INFINITY : sharedNow() + maxInsistingMs;
    for (let failures = 0; ; failures += 1) {
      try {
        await within(patienceMs.telling, call);
        return;
      } catch (error) {
        if (now.aborted) throw new Lost('The worker ended before it could report the result.');
        if (!(error instanceof AppError) || !isPassing(error) || sharedNow() > end) throw error;
        // Who drains does not wait for a queue that is away: the report is safe.
        if (isKept && isDraining()) throw new Lost(sentence(error));
        const againMs = Math.min(backoff(failures, random), 10 * firstPauseMs);
        tell({ kind: 'trouble', why: sentence(error), againMs });
        await pause(againMs, undefined, { signal: now }).catch(() => {});
      }
    }
  }

  return {
    async ack(taskId, body) {
      try {
        await report('ack', taskId, body);
        return null;
      } catch (error) {
        if (error instanceof AppError && error.code === 'usage') return badResult(error.fact);
        throw error;
      }
    },
    stop: (taskId, body) => report('stop', taskId, body),
    async deliverKept() {
      let delivered = 0;
      if (spool === null) return delivered;
      const { reports, damaged } = spool.adopt();
      for (const file of damaged) tell({ kind: 'damaged', file });
      for (const kept of reports) {
        const { taskId, verb, body } = kept.report;
        try {
          await send(verb, taskId, body as TaskEnd, true);
          spool.remove(kept);
          delivered += 1;
          tell({ kind: 'delivered', taskId });
        } catch (error) {
          if (error instanceof Lost) return delivered;
          if (!isAnswer(error)) throw error;
          if (spool.isForeign(kept)) continue;
          spool.remove(kept);
          tell({ kind: 'outdated', taskId, why: sentence(error) });
        }
      }
      return delivered;
    },
  };
}

/** The queue has judged the report itself. */
function isAnswer(error: unknown): boolean {
  return error instanceof AppError && !isPassing(error) && error.status !== 401 && error.status !== 403;
}
