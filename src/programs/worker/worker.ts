/**
 * A worker of the work queue: leases tasks, runs several at once, lets a separate thread beat, and reports how each
 * ended. A lost lease ends its task without a report. A draining worker finishes what it holds, takes nothing new and
 * leaves nothing behind. Must not know what a task does.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { type Client, createClient, type Fetch } from '../../client/client.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { workRoutes } from '../../contracts/work-queue/routes.ts';
import { type Lease, maxWaitSeconds, type Task } from '../../contracts/work-queue/task.ts';
import { sharedNow } from './beat-messages.ts';
import { noBeatInTime } from './beating.ts';
import { type Beats, startBeats } from './beats.ts';
import { outcomeOf, taskErrorOf } from './outcome.ts';
import { backoff, createWithin, firstPauseMs, isPassing, patienceMs, sentence } from './queue-calls.ts';
import { createReports, Kept, Lost, type ReportEvent } from './reports.ts';
import type { Spool } from './spool.ts';

export interface LeasedTask {
  readonly task: Task;
  readonly lease: Lease;
  /** Aborted when the lease is lost, the task is asked to stop, or the worker ends now. */
  readonly signal: AbortSignal;
}

export type WorkerEvent =
  | ReportEvent
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
  | { readonly kind: 'draining'; readonly held: number };

export interface WorkerAbilities {
  readonly labels: Readonly<Record<string, string>>;
  /** Beginnings of the names of images that `run` can run; `*`: any. */
  readonly images: readonly string[];
}

export interface WorkerOptions {
  readonly url: string;
  /** API key with the scope `work`, or an access token. */
  readonly key: string;
  readonly workerId: string;
  /** What a task is: its answer becomes the result; a `TaskFailure` makes it fail, as does whatever else is thrown. */
  readonly run: (leased: LeasedTask) => Promise<unknown>;
  /**
   * What it has and can run, read before each lease call; tasks that ask for more are left to other workers. Absent: it says nothing, and gets the
   * oldest task.
   */
  readonly can?: WorkerAbilities;
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
  /** Ends its tasks now. Their leases run out, and others take the tasks over. */
  abort(): void;
}

/** A queue that has nothing, and says so at once, is not asked again at once. */
const idleMs = 1_000;

export function startWorker(options: WorkerOptions): Worker {
  const { workerId, random, concurrency = 1, tell = () => {}, timeout = AbortSignal.timeout, spool = null } = options;
  const client: Client<typeof workRoutes> = createClient(workRoutes, {
    baseUrl: options.url,
    token: options.key,
    fetch: options.fetch,
    where: options.url,
  });
  const beats = options.beats ?? startBeats({ url: options.url, key: options.key, workerId });
  const counts = { succeeded: 0, failed: 0, stopped: 0, lost: 0, abandoned: 0, kept: 0, delivered: 0 };
  const working = new Set<Promise<void>>();
  const now = new AbortController();
  const resting = new AbortController();
  const within = createWithin({ url: options.url, timeout, now: now.signal });
  let silent = options.can === undefined;
  const saying = () => (silent || options.can === undefined ? {} : sayingOf(options.can));
  let draining = false;
  let asking = false;
  const reports = createReports({
    client,
    spool,
    within,
    random,
    tell,
    now: now.signal,
    isDraining: () => draining,
  });
  const work = createWork({ workerId, run: options.run, beats, reports, wasCancelled, now: now.signal, tell, end });

  function drain(): void {
    if (draining) return;
    draining = true;
    resting.abort();
    tell({ kind: 'draining', held: working.size });
    void endAsking();
  }

  /** Ends the call that waits for a task, rather than cutting it: one that is on its way to us would be left behind. */
  async function endAsking(): Promise<void> {
    // Also sent while the worker asks for nothing: it shows viewers of the queue that this worker drains.
    do {
      const query = { worker_id: workerId, draining: '1', ...saying() } as const;
      await within(patienceMs.telling, (signal) => client.leaseTask({ query }, { signal })).catch(() => {});
      // It may have overtaken the call that it was to end.
      if (asking) await pause(firstPauseMs / 4);
    } while (asking);
  }

  function rest(ms: number): Promise<void> {
    return pause(ms, undefined, { signal: resting.signal }).catch(() => {});
  }

  async function poll(): Promise<void> {
    let failures = 0;
    while (!draining) {
      if (working.size >= concurrency) {
        await Promise.race([...working]);
        continue;
      }
      const askedAt = sharedNow();
      // While it works on something, an empty queue is no reason to end: what it does may bring more.
      const wait = options.untilEmpty === true ? 0 : (options.waitSeconds ?? maxWaitSeconds);
      try {
        asking = true;
        const query = { worker_id: workerId, wait, ...saying() };
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
          if (working.size === 0) return drain();
          await Promise.race([...working]);
        } else if (sharedNow() - askedAt < idleMs) await rest(idleMs + random() * idleMs);
      } catch (error) {
        if (now.signal.aborted) return;
        if (isOlderQueue(error) && Object.keys(options.can?.labels ?? {}).length === 0 && !silent) {
          silent = true;
          continue;
        }
        if (isFatal(error)) throw error;
        const againMs = backoff(failures, random);
        failures += 1;
        tell({ kind: 'trouble', why: sentence(error), againMs });
        await rest(againMs);
      }
    }
  }

  function take(task: Task, lease: Lease, askedAt: number): void {
    if (sharedNow() >= askedAt + lease.ttl_seconds * 1000) {
      end(task, 0, { kind: 'lost', why: 'Its lease expired before the worker received it.' });
      return;
    }
    const done = work(task, lease, askedAt).finally(() => working.delete(done));
    working.add(done);
  }

  function end(task: Task, ms: number, ending: Ending): void {
    counts[ending.kind] += 1;
    tell({ ...ending, task, ms });
  }

  /** Whether somebody ended it, to whom it would be strange to hear that it was lost. */
  async function wasCancelled(id: string): Promise<boolean> {
    const asked = within(patienceMs.asking, (signal) => client.getTask({ params: { id } }, { signal }));
    return asked.then(
      ({ task }) => task.status === 'cancelled',
      () => false,
    );
  }

  const ended = (async (): Promise<WorkerCounts> => {
    try {
      counts.delivered = await reports.deliverKept();
      await poll();
    } finally {
      await Promise.all([...working]);
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

/** How a task ended for this worker; the kinds are those of {@link WorkerEvent}. */
type Ending =
  | { readonly kind: 'succeeded' | 'failed' | 'stopped'; readonly why?: string }
  | { readonly kind: 'lost' | 'abandoned' | 'kept'; readonly why: string };

/** Runs one leased task with heartbeats, then reports to the queue how it ended. */
function createWork({
  workerId,
  run,
  beats,
  reports,
  wasCancelled,
  now,
  tell,
  end,
}: {
  readonly workerId: string;
  readonly run: WorkerOptions['run'];
  readonly beats: Beats;
  readonly reports: ReturnType<typeof createReports>;
  readonly wasCancelled: (taskId: string) => Promise<boolean>;
  /** Aborts when the worker ends at once. */
  readonly now: AbortSignal;
  readonly tell: (event: WorkerEvent) => void;
  readonly end: (task: Task, ms: number, ending: Ending) => void;
}) {
  return async (task: Task, lease: Lease, askedAt: number): Promise<void> => {
    const began = performance.now();
    const held = holdLease(beats, task, lease, askedAt);
    tell({ kind: 'began', task, lease });
    const signal = AbortSignal.any([held.signal, now]);
    const outcome = await run({ task, lease, signal }).then(outcomeOf, (error: unknown) => ({
      error: taskErrorOf(error),
    }));
    try {
      const ending = await settle(task, lease, outcome, held).catch(unsettled);
      end(task, Math.round(performance.now() - began), ending);
    } finally {
      held.release();
    }
  };

  /** Tells the queue where it still has to be told. */
  async function settle(
    task: Task,
    lease: Lease,
    outcome: ReturnType<typeof outcomeOf>,
    held: ReturnType<typeof holdLease>,
  ): Promise<Ending> {
    // It had to end: its lease runs out, and another worker starts the task again.
    if (now.aborted) return { kind: 'abandoned', why: 'Another worker starts it again when its lease expires.' };
    if (held.lost !== null) {
      if (held.lost === noBeatInTime || !(await wasCancelled(task.id))) throw new Lost(held.lost);
      return { kind: 'stopped', why: 'It was stopped in the queue.' };
    }
    const holder = { worker_id: workerId, lease_id: lease.id };
    const error =
      'error' in outcome ? outcome.error : await reports.ack(task.id, { ...holder, result: outcome.result });
    if (error === null) return { kind: 'succeeded' };
    await reports.stop(task.id, held.mustStop ? holder : { ...holder, error });
    return held.mustStop ? { kind: 'stopped' } : { kind: 'failed', why: error.message };
  }
}

/** The heartbeats of one lease, until it is released. `signal` aborts when the task must stop or the lease is lost. */
function holdLease(beats: Beats, task: Task, lease: Lease, askedAt: number) {
  const ending = new AbortController();
  let lost: string | null = null;
  let mustStop = false;
  const release = beats.hold({
    taskId: task.id,
    leaseId: lease.id,
    ttlMs: lease.ttl_seconds * 1000,
    askedAt,
    onStop() {
      mustStop = true;
      ending.abort();
    },
    onLost(why) {
      lost = why;
      ending.abort();
    },
  });
  return {
    signal: ending.signal,
    release,
    /** Why the lease is lost; null: it is not. */
    get lost(): string | null {
      return lost;
    },
    get mustStop(): boolean {
      return mustStop;
    },
  };
}

function unsettled(error: unknown): Ending {
  if (error instanceof Kept) return { kind: 'kept', why: error.message };
  return { kind: 'lost', why: error instanceof Lost ? error.message : sentence(error) };
}

/** As the lease call has it. */
function sayingOf({ labels, images }: WorkerAbilities) {
  return {
    labels: Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(','),
    images: images.length === 0 ? 'none' : images.join(','),
  };
}

/** A queue of an earlier version refuses what a worker says about itself. One that has no labels works there, too. */
function isOlderQueue(error: unknown): boolean {
  return error instanceof AppError && error.code === 'usage';
}

/** A queue that does not know the key, or the way to it, will not another time. */
function isFatal(error: unknown): boolean {
  return error instanceof AppError && !isPassing(error);
}
