/**
 * The work queue: tasks that people give to their own workers, which lease them over HTTP, send heartbeats, and end them. Provides the routes and the
 * periodic work. Must not know what a task is for.
 */
import { leaseSeconds, type TaskStatus } from '../../contracts/work-queue/task.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { ImageRule } from '../../kit/docker/image-rule.ts';
import type { BoundRoute, OwnerLookups } from '../../kit/http/types.ts';
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { createChanges } from './changes.ts';
import { createTaskFiles } from './files.ts';
import { forgetSamples } from './history.ts';
import { createLinks } from './links.ts';
import { moves } from './model.ts';
import { createQueue, type Queue } from './queue.ts';
import { createWorkReads } from './reads.ts';
import { workOwners, workRoutes } from './routes.ts';
import { changedTopic, createWorkStore } from './store.ts';
import type { StoreClock } from './store-clock.ts';
import { createTaskWaits } from './wait.ts';

export { workQueueMigrations } from './migrations.ts';
export { createStoreClock, type StoreClock } from './store-clock.ts';

interface WorkQueue {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  readonly queue: Queue;
  /** Compares clocks, and starts the work of every ten seconds. */
  start(): Promise<void>;
  /** Removes tasks that ended longer ago than the retention, files as old, and how the queue went more than a week ago. */
  forgetOld(now: number): Promise<void>;
  /** Answers every waiting caller that there is nothing. */
  close(): void;
}

const sweepMs = 10_000;

export function createWorkQueue(deps: {
  readonly store: SharedStore;
  /** The clock of leases. */
  readonly clock: StoreClock;
  readonly timers: Timers;
  readonly ids: { next(prefix: string): string };
  /** How long a lease lasts without a heartbeat, ms. Default: 60 seconds. */
  readonly leaseMs?: number;
  /** The `traceparent` of the span that runs now: what a worker does is part of the span that added its task. */
  readonly trace?: (() => string | null) | undefined;
  /** Who may name which images. Default: everybody any. */
  readonly images?: readonly ImageRule[] | null | undefined;
  readonly log: { error(message: string, fields?: Record<string, unknown>): void };
}): WorkQueue {
  const { store, clock, timers, ids, log, leaseMs = leaseSeconds * 1000 } = deps;
  const now = () => clock.now();
  const onFault = (what: string, error: unknown) => log.error(what, { fault: String(error) });
  const reads = createWorkReads(store);
  const tasks = createWorkStore({ store, now, leaseMs, trace: deps.trace });
  const queue = createQueue({
    store: tasks,
    images: deps.images ?? null,
    ids,
    now,
    timers,
    wake: store.wake,
    onFault,
  });
  const changes = createChanges({
    changed: reads.changed,
    listen: (userId, listener) => store.wake.on(changedTopic(userId), listener),
    now,
    timers,
    onFault: (error) => onFault('Changes of tasks could not be read.', error),
  });
  const waits = createTaskWaits({ find: queue.find, changes, timers });
  const files = createTaskFiles({ store, now });
  const sessions = createLinks(store, 'work_session');
  const deployments = createLinks(store, 'work_deployment');
  let closed = false;
  let cancel = () => {};

  function later(): void {
    if (closed) return;
    cancel = timers.after(sweepMs, () => {
      clock
        .compare()
        .then(() => queue.sweep())
        .catch((error) => onFault('Tasks could not be looked after.', error))
        .finally(later);
    });
  }

  return {
    routes: workRoutes({ queue, reads, changes, waits, files, sessions, deployments, ids, now }),
    owners: workOwners({ sessions, deployments }),
    queue,
    async start() {
      await clock.compare();
      await queue.sweep();
      later();
    },
    async forgetOld(at) {
      await forgetEnded(store, at - retentionMs);
      await files.forgetOld(at - retentionMs);
      await forgetSamples(store, at);
      await tasks.forgetTurns();
    },
    close() {
      closed = true;
      cancel();
      queue.close();
      changes.close();
    },
  };
}

/**
 * How long ended tasks are kept. Waiting and held tasks stay however old they are, and so do sessions and deployments, so that a task's link leads
 * somewhere. Must not know leases.
 */
export const retentionMs = 30 * 24 * 3600 * 1000;

const nextOwner = 'SELECT user_id FROM work_task WHERE user_id > ? ORDER BY user_id LIMIT 1';
/**
 * The oldest of each state and person, so that neither younger nor waiting rows are read. Checks twice that a task has ended: somebody may just be
 * retrying it.
 */
const remove = (
  status: TaskStatus,
) => `DELETE FROM work_task WHERE status = '${status}' AND id IN (SELECT id FROM work_task
  WHERE user_id = ? AND status = '${status}' AND created_at < ? AND updated_at < ? ORDER BY created_at LIMIT ${portion})`;
const removals = [moves.ack.to, moves.fail.to, moves.cancel.to].map(remove);

/** Removes tasks that ended before that time (milliseconds since the epoch), person by person. */
export async function forgetEnded(store: SharedStore, before: number): Promise<void> {
  const ownerAfter = (userId: string) => store.get<{ user_id: string }>(nextOwner, userId);
  for (let owner = await ownerAfter(''); owner !== undefined; owner = await ownerAfter(owner.user_id)) {
    for (const sql of removals) await removePortions(store, sql, owner.user_id, before, before);
  }
}
