/**
 * The rules of the queue over its store: who may lease, beat, end, stop and retry, and the error for anyone who may not. Must not know routes or SQL.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { NewTask, TaskError } from '../../contracts/work-queue/task.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { type ImageRule, mayName } from '../../kit/docker/image-rule.ts';
import { canonicalJson } from '../../kit/ledger/canonical.ts';
import type { Wake } from '../../kit/wake/wake.ts';
import { isEnded } from './model.ts';
import type { Can } from './needs.ts';
import type { TaskRow } from './rows.ts';
import { type Holder, readyTopic, type WorkStore } from './store.ts';
import { createWaiters } from './waiters.ts';

interface StopWish {
  readonly workerId?: string | undefined;
  readonly leaseId?: string | undefined;
  readonly error?: TaskError | string | undefined;
  readonly graceful?: boolean | undefined;
}

export interface Queue {
  /** `seed`: of its id, so that the same request can be repeated. */
  create(userId: string, seed: string | null, task: NewTask): Promise<TaskRow>;
  find(userId: string, id: string): Promise<TaskRow>;
  lease(wish: {
    userId: string;
    workerId: string;
    /** Null: the call says nothing about its worker. */
    can: Can | null;
    waitMs: number;
    draining: boolean;
    /** Null: the call does not wait. */
    signal: AbortSignal | null;
  }): Promise<TaskRow | null>;
  heartbeat(holder: Holder): Promise<TaskRow>;
  ack(holder: Holder, result: unknown): Promise<TaskRow>;
  stop(userId: string, id: string, wish: StopWish): Promise<TaskRow>;
  retry(userId: string, id: string): Promise<TaskRow>;
  /** The changes that are due by time. */
  sweep(): Promise<void>;
  close(): void;
}

/** A worker counts as polling for 30 seconds; it is recorded this often. */
const seenEveryMs = 10_000;
const forgetPollersMs = 24 * 60 * 60_000;
const maxRemembered = 10_000;

const drainTopic = (userId: string, workerId: string) => `work.drain:${userId}:${workerId}`;

export function createQueue({
  store,
  ids,
  now,
  timers,
  wake,
  images,
  onFault,
}: {
  readonly store: WorkStore;
  /** Who may name which images; null: everybody any. */
  readonly images: readonly ImageRule[] | null;
  readonly ids: { next(prefix: string): string };
  readonly now: () => number;
  readonly timers: Timers;
  readonly wake: Wake;
  readonly onFault: (what: string, error: unknown) => void;
}): Queue {
  const seen = new Map<string, { readonly at: number; readonly draining: boolean; readonly kind: string }>();

  const leaseNow = (userId: string, workerId: string, can: Can | null) =>
    store.lease(userId, workerId, ids.next('lease'), can);

  const waiters = createWaiters<TaskRow, Can | null>({
    lease: leaseNow,
    listen: (userId, listener) => wake.on(readyTopic(userId), listener),
    timers,
  });

  function note(userId: string, workerId: string, draining: boolean, can: Can | null): void {
    const kind = kindOf(can);
    const who = `${userId} ${workerId}`;
    const at = now();
    const last = seen.get(who);
    if (last !== undefined && last.draining === draining && last.kind === kind && last.at > at - seenEveryMs) return;
    if (seen.size >= maxRemembered) seen.clear();
    seen.set(who, { at, draining, kind });
    store
      .seen(userId, workerId, draining, can)
      .catch((error) => onFault('The workers that poll could not be recorded.', error));
  }

  async function find(userId: string, id: string): Promise<TaskRow> {
    const row = await store.find(userId, id);
    if (row === null) throw unknownTask(id);
    return row;
  }

  /** The error for a worker that no longer holds the task, or never did. */
  async function notHeld(holder: Holder): Promise<AppError> {
    const row = await find(holder.userId, holder.id);
    return new AppError('not_found', `Task ${row.id} is not leased by ${holder.workerId}.`, 'Stop working on it.', {
      wireCode: 'lease_not_found',
    });
  }

  return {
    async create(userId, seed, task) {
      const { sandbox_image: image } = task;
      if (image !== undefined && !mayName(images, userId, image)) {
        throw new AppError(
          'usage',
          `The image ${image} is not allowed here.`,
          'Name an image that your administrator allows (GANTRY_TASK_IMAGES).',
          { wireCode: 'image_not_allowed' },
        );
      }
      const row = await store.create(userId, seed === null ? ids.next('task') : `task_${seed}`, task);
      if (typeof row !== 'string') return row;
      const [noun, id] =
        row === 'session_not_found' ? ['session', task.session_id] : ['deployment', task.deployment_id];
      throw new AppError('usage', `There is no ${noun} ${id}.`, `Create the ${noun} first, or leave it out.`, {
        wireCode: row,
      });
    },
    find,
    async lease({ userId, workerId, can, waitMs, draining, signal }) {
      note(userId, workerId, draining, can);
      if (draining) {
        // Wherever it still waits, at any replica.
        wake.signal(drainTopic(userId, workerId));
        return null;
      }
      if (waitMs <= 0 || signal === null) return leaseNow(userId, workerId, can);
      const drained = new AbortController();
      const off = wake.on(drainTopic(userId, workerId), () => drained.abort());
      try {
        const ends = AbortSignal.any([signal, drained.signal]);
        const row =
          (await leaseNow(userId, workerId, can)) ??
          (await waiters.wait({ userId, workerId, can, kind: kindOf(can), ms: waitMs, signal: ends }));
        if (row === null || !signal.aborted) return row;
        // It left while it was being served.
        await store.giveBack({ userId, id: row.id, workerId, leaseId: row.lease_id });
        return null;
      } finally {
        off();
      }
    },
    async heartbeat(holder) {
      const row = await store.heartbeat(holder);
      if (row === null) throw await notHeld(holder);
      return row;
    },
    async ack(holder, result) {
      const text = JSON.stringify(result ?? null);
      const row = await store.ack(holder, text);
      if (row !== null) return row;
      const there = await find(holder.userId, holder.id);
      if (!isEnded(there.status) || !heldIt(there, holder)) throw await notHeld(holder);
      if (there.status === 'succeeded' && sameJson(there.result, text)) return there;
      throw new AppError('refused', `Task ${there.id} has already ended: ${there.status}.`, 'Stop working on it.', {
        status: 409,
        wireCode: 'already_finished',
      });
    },
    async stop(userId, id, wish) {
      const by = wish.workerId === undefined ? null : { workerId: wish.workerId, leaseId: wish.leaseId ?? null };
      if (by === null && wish.leaseId !== undefined) {
        throw new AppError('usage', 'lease_id is given without worker_id.', 'Give both, or neither.', {
          wireCode: 'bad_request',
        });
      }
      const how = { by, error: wish.error === undefined ? null : JSON.stringify(errorOf(wish.error)) };
      const asked = wish.graceful === true ? await store.askToStop(userId, id, how) : null;
      const row = asked ?? (await store.stop(userId, id, how));
      if (row !== null) return row;
      const there = await find(userId, id);
      throw isEnded(there.status)
        ? new AppError('not_found', `Task ${id} has already ended: ${there.status}.`, 'There is nothing to stop.', {
            wireCode: 'already_finished',
          })
        : new AppError(
            'not_found',
            `Task ${id} is not leased by ${wish.workerId ?? 'anybody'}.`,
            'Stop working on it.',
            {
              wireCode: 'lease_not_found',
            },
          );
    },
    async retry(userId, id) {
      const row = await store.retry(userId, id);
      if (row !== null) return row;
      const there = await find(userId, id);
      throw new AppError(
        'refused',
        `Task ${id} is ${there.status}.`,
        'Only a failed or cancelled task can be retried.',
        { status: 409, wireCode: 'invalid_transition' },
      );
    },
    async sweep() {
      await store.settle(null);
      while ((await store.lineUp()) > 0);
      await store.sweepLine();
      await store.fold();
      await store.forgetPollers(now() - forgetPollersMs);
    },
    close: () => waiters.close(),
  };
}

/** Equal for workers that can run the same. */
function kindOf(can: Can | null): string {
  return can === null ? '' : canonicalJson(can);
}

function heldIt(row: TaskRow, { workerId, leaseId }: Holder): boolean {
  return row.lease_worker_id === workerId && (leaseId === null || row.lease_id === leaseId);
}

function sameJson(kept: string | null, given: string): boolean {
  const text = kept ?? 'null';
  return text === given || canonicalJson(JSON.parse(text)) === canonicalJson(JSON.parse(given));
}

function errorOf(error: TaskError | string): TaskError {
  return typeof error === 'string' ? { code: 'worker_error', message: error } : error;
}

function unknownTask(id: string): AppError {
  return new AppError('not_found', `There is no task ${id}.`, 'List the tasks with GET /beta/work.', {
    wireCode: 'task_not_found',
  });
}
