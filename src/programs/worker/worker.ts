/**
 * A worker of the work queue: leases tasks, runs several at once, lets a separate thread beat, and reports how each
 * ended. A lost lease ends its job without a report. A draining worker finishes what it holds, takes nothing new and
 * leaves nothing behind. Must not know what a task does.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, createClient, type Fetch } from '../../client/client.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { workRoutes } from '../../contracts/work-queue/routes.ts';
import { type Lease, maxWaitSeconds, type Task, type TaskError } from '../../contracts/work-queue/task.ts';
import { sharedNow } from './beat-messages.ts';
import { noBeatInTime } from './beating.ts';
import { type Beats, startBeats } from './beats.ts';
import { badResult, outcomeOf, taskErrorOf } from './outcome.ts';
import type { KeptReport, Spool } from './spool.ts';

export interface Job {
  readonly task: Task;
  readonly lease: Lease;
  /** Aborted when the lease is lost, the task is asked to stop, or the worker ends now. */
  readonly signal: AbortSignal;
}

export type WorkerEvent =
  | { readonly kind: 'began'; readonly task: Task; readonly lease: Lease }
  | {
      readonly kind: 'succeeded' | 'failed' | 'stopped';
      readonly task: Task;
      readonly ms: number;
      readonly why?: string;
    }
  /** Somebody else has it, or will: the worker was ended before it. */
  | { readonly kind: 'lost' | 'abandoned'; readonly task: Task; readonly ms: number; readonly why: string }
  /** The worker ended before the queue took the result, which the next worker here delivers. */
  | { readonly kind: 'kept'; readonly task: Task; readonly ms: number; readonly why: string }
  /** A result that an earlier worker kept: the queue has taken it, or no longer wants it. */
  | { readonly kind: 'delivered' | 'outdated'; readonly taskId: string; readonly why?: string }
  | { readonly kind: 'damaged'; readonly file: string }
  | { readonly kind: 'trouble'; readonly why: string; readonly againMs: number }
  | { readonly kind: 'draining'; readonly held: number };

export interface WorkerOptions {
  readonly url: string;
  /** API key with the scope `work`, or an access token. */
  readonly key: string;
  readonly workerId: string;
  /** What a task is: its answer becomes the result; a `TaskFailure` makes it fail, as does whatever else is thrown. */
  readonly run: (job: Job) => Promise<unknown>;
  /** At once; default 1. */
  readonly concurrency?: number;
  /** Ends when there is nothing left to lease, as after {@link Worker.drain}. */
  readonly untilEmpty?: boolean;
  /** A call waits so long for a task, which has to be less than the queue's leases last; default 30 s. */
  readonly waitSeconds?: number;
  readonly tell?: (event: WorkerEvent) => void;
  /** Keeps each result on disk until the queue has taken it. Without one, a result is lost with the process. */
  readonly spool?: Spool | null;
  readonly random: () => number;
  readonly fetch?: Fetch;
  /** Default: a separate thread. */
  readonly beats?: Beats;
  /** Aborts after so many ms; default `AbortSignal.timeout`. */
  readonly timeout?: (ms: number) => AbortSignal;
}

interface WorkerCounts {
  readonly succeeded: number;
  readonly failed: number;
  readonly stopped: number;
  readonly lost: number;
  /** Begun, and given up by {@link Worker.abort}. */
  readonly abandoned: number;
  /** Done, and left for the next worker to report. */
  readonly kept: number;
  /** Results of earlier workers that were reported. */
  readonly delivered: number;
}

export interface Worker {
  /** Settles when the worker has ended; rejects when the queue does not let it in. */
  readonly ended: Promise<WorkerCounts>;
  /** Takes nothing new; ends when what it holds is done. */
  drain(): void;
  /** Ends its jobs now. Their leases run out, and others take the tasks over. */
  abort(): void;
}

/** A queue that says nothing for so long is one that nobody answers for. A call that waits for a task has that time besides. */
const patienceMs = { asking: 15_000, telling: 30_000 };
const firstPauseMs = 1_000;
const maxPauseMs = 60_000;
/** Without a spool: a worker that has done its work does not wait for ever for a queue that never comes back. */
const maxInsistingMs = 10 * 60_000;
/** A queue that has nothing, and says so at once, is not asked again at once. */
const idleMs = 1_000;

export function startWorker(options: WorkerOptions): Worker {
  const {
    workerId,
    run,
    random,
    concurrency = 1,
    tell = () => {},
    timeout = AbortSignal.timeout,
    spool = null,
  } = options;
  const client: Client<typeof workRoutes> = createClient(workRoutes, {
    baseUrl: options.url,
    token: options.key,
    fetch: options.fetch,
    where: options.url,
  });
  const beats = options.beats ?? startBeats({ url: options.url, key: options.key, workerId });
  const counts = { succeeded: 0, failed: 0, stopped: 0, lost: 0, abandoned: 0, kept: 0, delivered: 0 };
  const jobs = new Set<Promise<void>>();
  const now = new AbortController();
  const resting = new AbortController();
  let draining = false;
  let asking = false;

  function drain(): void {
    if (draining) return;
    draining = true;
    resting.abort();
    tell({ kind: 'draining', held: jobs.size });
    void endAsking();
  }

  /** Ends the call that waits for a task, rather than cutting it: one that is on its way to us would be left behind. */
  async function endAsking(): Promise<void> {
    // Also sent while the worker asks for nothing: it shows viewers of the queue that this worker drains.
    do {
      const query = { worker_id: workerId, draining: '1' } as const;
      await within(patienceMs.telling, (signal) => client.leaseTask({ query }, { signal })).catch(() => {});
      // It may have overtaken the call that it was to end.
      if (asking) await pause(firstPauseMs / 4);
    } while (asking);
  }

  /** A server whose computer went away says nothing: no answer counts as nobody there. */
  async function within<T>(ms: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const over = timeout(ms);
    try {
      return await call(AbortSignal.any([now.signal, over]));
    } catch (cause) {
      if (now.signal.aborted || !over.aborted || cause instanceof AppError) throw cause;
      const fact = `${options.url} did not answer for ${ms / 1000} s.`;
      throw new AppError('transport', fact, 'Check that Gantry is running.', { cause });
    }
  }

  function rest(ms: number): Promise<void> {
    return pause(ms, undefined, { signal: resting.signal }).catch(() => {});
  }

  /** Full jitter, so that workers that lost the same queue do not come back together. */
  function backoff(failures: number): number {
    return Math.round(random() * Math.min(maxPauseMs, firstPauseMs * 2 ** failures));
  }

  async function poll(): Promise<void> {
    let failures = 0;
    while (!draining) {
      if (jobs.size >= concurrency) {
        await Promise.race([...jobs]);
        continue;
      }
      const askedAt = sharedNow();
      // While it works on something, an empty queue is no reason to end: what it does may bring more.
      const wait = options.untilEmpty === true ? 0 : (options.waitSeconds ?? maxWaitSeconds);
      try {
        asking = true;
        const query = { worker_id: workerId, wait };
        const patience = wait * 1000 + patienceMs.asking;
        const asked = within(patience, (signal) => client.leaseTask({ query }, { signal }));
        const { task, lease } = await asked.finally(() => {
          asking = false;
        });
        failures = 0;
        if (task !== null && lease !== null) {
          take(task, lease, askedAt);
          continue;
        }
        if (options.untilEmpty === true) {
          if (jobs.size === 0) return drain();
          await Promise.race([...jobs]);
        } else if (sharedNow() - askedAt < idleMs) await rest(idleMs + random() * idleMs);
      } catch (error) {
        if (now.signal.aborted) return;
        if (isFatal(error)) throw error;
        const againMs = backoff(failures);
        failures += 1;
        tell({ kind: 'trouble', why: sentence(error), againMs });
        await rest(againMs);
      }
    }
  }

  function take(task: Task, lease: Lease, askedAt: number): void {
    if (sharedNow() >= askedAt + lease.ttl_seconds * 1000) {
      counts.lost += 1;
      const why = 'Its lease expired before the worker received it.';
      tell({ kind: 'lost', task, ms: 0, why });
      return;
    }
    const job = work(task, lease, askedAt).finally(() => jobs.delete(job));
    jobs.add(job);
  }

  async function work(task: Task, lease: Lease, askedAt: number): Promise<void> {
    const began = performance.now();
    const took = () => Math.round(performance.now() - began);
    const ending = new AbortController();
    let lost: string | null = null;
    let stop = false;
    const letGo = beats.hold({
      taskId: task.id,
      leaseId: lease.id,
      ttlMs: lease.ttl_seconds * 1000,
      askedAt,
      onStop() {
        stop = true;
        ending.abort();
      },
      onLost(why) {
        lost = why;
        ending.abort();
      },
    });
    tell({ kind: 'began', task, lease });
    const signal = AbortSignal.any([ending.signal, now.signal]);
    const outcome = await run({ task, lease, signal }).then(outcomeOf, (error: unknown) => ({
      error: taskErrorOf(error),
    }));
    const holder = { worker_id: workerId, lease_id: lease.id };
    /** Null: the queue took it. A result that the queue does not take, such as one that is too large, fails the task. */
    const ack = async (result: unknown): Promise<TaskError | null> => {
      try {
        await report('ack', task.id, { ...holder, result });
        return null;
      } catch (error) {
        if (error instanceof AppError && error.code === 'usage') return badResult(error.fact);
        throw error;
      }
    };
    try {
      // It had to end: its lease runs out, and another worker starts the task again.
      if (now.signal.aborted) {
        counts.abandoned += 1;
        tell({ kind: 'abandoned', task, ms: took(), why: 'Another worker starts it again when its lease expires.' });
        return;
      }
      if (lost !== null) {
        if (lost === noBeatInTime || !(await wasCancelled(task.id))) throw new Lost(lost);
        counts.stopped += 1;
        tell({ kind: 'stopped', task, ms: took(), why: 'It was stopped in the queue.' });
        return;
      }
      const error = 'error' in outcome ? outcome.error : await ack(outcome.result);
      if (error === null) {
        counts.succeeded += 1;
        tell({ kind: 'succeeded', task, ms: took() });
        return;
      }
      const body = stop ? holder : { ...holder, error };
      await report('stop', task.id, body);
      counts[stop ? 'stopped' : 'failed'] += 1;
      tell({ kind: stop ? 'stopped' : 'failed', task, ms: took(), why: stop ? undefined : error.message });
    } catch (error) {
      if (error instanceof Kept) {
        counts.kept += 1;
        tell({ kind: 'kept', task, ms: took(), why: error.message });
        return;
      }
      counts.lost += 1;
      tell({ kind: 'lost', task, ms: took(), why: error instanceof Lost ? error.message : sentence(error) });
    } finally {
      letGo();
    }
  }

  /** Whether somebody ended it, to whom it would be strange to hear that it was lost. */
  async function wasCancelled(id: string): Promise<boolean> {
    const asked = within(patienceMs.asking, (signal) => client.getTask({ params: { id } }, { signal }));
    return asked.then(
      ({ task }) => task.status === 'cancelled',
      () => false,
    );
  }

  /** Written to the spool first, so that the end of this process loses nothing. */
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

  /** What earlier workers here could not report, before anything new is taken. */
  async function deliverKept(): Promise<void> {
    if (spool === null) return;
    const { reports, damaged } = spool.adopt();
    for (const file of damaged) tell({ kind: 'damaged', file });
    for (const kept of reports) {
      const { taskId, verb, body } = kept.report;
      try {
        await send(verb, taskId, body as TaskEnd, true);
        spool.remove(kept);
        counts.delivered += 1;
        tell({ kind: 'delivered', taskId });
      } catch (error) {
        if (error instanceof Lost) return;
        if (!isAnswer(error)) throw error;
        if (spool.isForeign(kept)) continue;
        spool.remove(kept);
        tell({ kind: 'outdated', taskId, why: sentence(error) });
      }
    }
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
        if (now.signal.aborted) throw new Lost('The worker ended before it could report the result.');
        if (!(error instanceof AppError) || !isPassing(error) || sharedNow() > end) throw error;
        // Who drains does not wait for a queue that is away: the report is safe.
        if (isKept && draining) throw new Lost(sentence(error));
        const againMs = Math.min(backoff(failures), 10 * firstPauseMs);
        tell({ kind: 'trouble', why: sentence(error), againMs });
        await pause(againMs, undefined, { signal: now.signal }).catch(() => {});
      }
    }
  }

  const ended = (async (): Promise<WorkerCounts> => {
    try {
      await deliverKept();
      await poll();
    } finally {
      await Promise.all([...jobs]);
      await beats.close();
      spool?.close();
    }
    return counts;
  })();

  return {
    ended,
    drain,
    abort() {
      draining = true;
      resting.abort();
      now.abort();
    },
  };
}

class Lost extends Error {}
class Kept extends Error {}

/** Fields of the bodies that end a task. */
interface TaskEnd {
  readonly [field: string]: unknown;
  readonly worker_id: string;
  readonly lease_id: string;
}

/** The queue has judged the report itself. */
function isAnswer(error: unknown): boolean {
  return error instanceof AppError && !isPassing(error) && error.status !== 401 && error.status !== 403;
}

/** A queue that does not know the key, or the way to it, will not another time. */
function isFatal(error: unknown): boolean {
  return error instanceof AppError && !isPassing(error);
}

function isPassing(error: AppError): boolean {
  return ['transport', 'timeout', 'internal'].includes(error.code) || error.status === 429;
}

function sentence(error: unknown): string {
  return error instanceof AppError ? `${error.fact} ${error.action}`.trim() : String(error);
}
