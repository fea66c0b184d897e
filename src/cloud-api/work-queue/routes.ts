/** The routes of the work queue: from the wire to its rules and back, at both mounts. */
import * as fileContract from '../../contracts/work-queue/files.ts';
import * as linkContract from '../../contracts/work-queue/links.ts';
import * as contract from '../../contracts/work-queue/routes.ts';
import { ageEnds } from '../../contracts/work-queue/task.ts';
import { iso } from '../../kit/clock/clock.ts';
import { placeOf } from '../../kit/http/place.ts';
import { type BoundRoute, bind, type OwnerLookups } from '../../kit/http/types.ts';
import type { Changes } from './changes.ts';
import type { TaskFiles } from './files.ts';
import { type LinkRow, type Links, wireDeployment, wireSession } from './links.ts';
import { pollingMs } from './model.ts';
import { canOf } from './needs.ts';
import type { Queue } from './queue.ts';
import type { WorkReads } from './reads.ts';
import { type TaskRow, wireLease, wireTask } from './rows.ts';
import type { TaskWaits } from './wait.ts';

interface WorkRoutesDeps {
  readonly queue: Queue;
  readonly reads: WorkReads;
  readonly changes: Changes;
  readonly waits: TaskWaits;
  readonly files: TaskFiles;
  readonly sessions: Links;
  readonly deployments: Links;
  readonly ids: { next(prefix: string): string };
  readonly now: () => number;
}

const defaultLimit = 50;
/** A worker that did not ask for this long, and holds nothing, is gone. */
const recentMs = 10 * 60_000;

export function workRoutes(deps: WorkRoutesDeps): BoundRoute[] {
  return [...queueRoutes(deps), ...fileRoutes(deps), ...linkRoutes(deps)].flatMap((bound) =>
    bound.route.path.startsWith('/beta/work') ? [bound, { ...bound, route: contract.aliasOf(bound.route) }] : [bound],
  );
}

function queueRoutes({ queue, reads, changes, waits, now }: WorkRoutesDeps): BoundRoute[] {
  const withReason = async (userId: string, row: TaskRow) =>
    wireTask(row, (await reads.waitingFor(userId, [row], now() - pollingMs)).get(row.id));

  return [
    bind(contract.createTask, async ({ principal: { userId }, body, seed }) => {
      const row = await queue.create(userId, seed, body);
      return { body: { task: await withReason(userId, row), id: row.id } };
    }),
    bind(contract.listTasks, async ({ principal: { userId }, query }) => {
      const { limit = defaultLimit, cursor, status } = query;
      const { shown, nextCursor } = await reads.list({
        userId,
        status,
        sessionId: query.session_id,
        deploymentId: query.deployment_id,
        workerId: query.worker_id,
        after: cursor === undefined ? null : placeOf(cursor),
        limit,
      });
      const reasons = await reads.waitingFor(userId, shown, now() - pollingMs);
      return { body: { tasks: shown.map((row) => wireTask(row, reasons.get(row.id))), next_cursor: nextCursor } };
    }),
    bind(contract.leaseTask, async (context) => {
      const { userId } = context.principal;
      const { worker_id: workerId, wait = 0, draining = false, labels, images } = context.query;
      // Only a waiting call needs to know that the caller has left.
      const signal = wait > 0 ? context.signal : null;
      const row = await queue.lease({
        userId,
        workerId,
        can: canOf({ labels, images }),
        waitMs: wait * 1000,
        draining,
        signal,
      });
      return {
        ...(row === null || row.trace === null ? {} : { headers: { traceparent: row.trace } }),
        // The lease began when the row was written: the answer has its full time.
        body:
          row === null ? { task: null, lease: null } : { task: wireTask(row), lease: wireLease(row, row.updated_at) },
      };
    }),
    bind(contract.getQueueStats, async ({ principal: { userId } }) => {
      const at = now();
      const stats = await reads.stats(userId, at, at - pollingMs);
      const { depth, leased, running, oldestQueuedAt, workersPolling, scheduled, failed, ages } = stats;
      return {
        body: {
          depth,
          leased,
          running,
          oldest_queued_at: oldestQueuedAt === null ? null : iso(oldestQueuedAt),
          workers_polling: workersPolling,
          scheduled,
          failed,
          ages: ages.map((count, index) => ({ under_seconds: ageEnds[index] ?? null, count })),
        },
      };
    }),
    bind(contract.getQueueHistory, async ({ principal: { userId }, query: { range = 'day' } }) => {
      const { stepSeconds, moments } = await reads.history(userId, range, now());
      return {
        body: {
          step_seconds: stepSeconds,
          moments: moments.map(({ at, oldestSeconds, ...sums }) => ({
            at: iso(at),
            oldest_seconds: oldestSeconds,
            ...sums,
          })),
        },
      };
    }),
    bind(contract.listWorkers, async ({ principal: { userId } }) => {
      const at = now();
      const workers = await reads.workers(userId, at - recentMs);
      return {
        body: {
          workers: workers.map(({ worker_id, seen_at: seen, draining, holding, can }) => ({
            worker_id,
            last_seen_at: seen === null ? null : iso(seen),
            polling: seen !== null && seen >= at - pollingMs && !draining,
            draining,
            holding,
            labels: can?.labels ?? null,
            images: can === null ? null : [...can.images],
          })),
        },
      };
    }),
    bind(contract.streamTasks, ({ principal: { userId }, request }, sink) => {
      const last = request.headers['last-event-id'];
      const since = typeof last === 'string' && /^\d{1,15}$/.test(last) ? Number(last) : null;
      sink.open();
      const stop = changes.follow(userId, since, {
        tell: ({ id, status, at }) => sink.send({ event: 'task', id: String(at), data: { id, status } }),
        drained: () => sink.drained(),
      });
      sink.signal.addEventListener('abort', stop, { once: true });
      if (sink.signal.aborted) stop();
    }),
    bind(contract.getTask, async ({ principal, params }) => ({
      body: { task: await withReason(principal.userId, await queue.find(principal.userId, params.id)) },
    })),
    bind(contract.waitForTask, async ({ principal, params: { id }, query, signal }) => ({
      body: await waits.wait({ principal, id, states: query.for, seconds: query.seconds, signal }),
    })),
    bind(contract.heartbeatTask, async ({ principal: { userId }, params: { id }, body }) => {
      const at = now();
      const row = await queue.heartbeat({ userId, id, workerId: body.worker_id, leaseId: body.lease_id ?? null });
      return {
        body: { task: wireTask(row), lease: wireLease(row, at), stop_requested: row.stop_requested === 1 },
      };
    }),
    bind(contract.ackTask, async ({ principal: { userId }, params: { id }, body }) => {
      const holder = { userId, id, workerId: body.worker_id, leaseId: body.lease_id ?? null };
      return { body: { task: wireTask(await queue.ack(holder, body.result)) } };
    }),
    bind(contract.stopTask, async ({ principal: { userId }, params: { id }, body = {} }) => {
      const { worker_id: workerId, lease_id: leaseId, error, graceful } = body;
      return {
        body: {
          stopped: true as const,
          task: wireTask(await queue.stop(userId, id, { workerId, leaseId, error, graceful })),
        },
      };
    }),
    bind(contract.retryTask, async ({ principal, params }) => ({
      body: { task: await withReason(principal.userId, await queue.retry(principal.userId, params.id)) },
    })),
  ];
}

function fileRoutes({ files }: WorkRoutesDeps): BoundRoute[] {
  return [
    bind(fileContract.putTaskFilePart, async ({ principal, params: { name, part }, body }) => {
      await files.put(principal.userId, name, part, Buffer.from(body.data, 'base64'));
      return { body: { name, part } };
    }),
    bind(fileContract.getTaskFilePart, async ({ principal, params: { name, part } }) => ({
      body: { data: Buffer.from(await files.get(principal.userId, name, part)).toString('base64') },
    })),
    bind(fileContract.removeTaskFile, async ({ principal, params: { name } }) => {
      await files.remove(principal.userId, name);
      return { body: { removed: true as const } };
    }),
  ];
}

function linkRoutes({ sessions, deployments, ids, now }: WorkRoutesDeps): BoundRoute[] {
  const made = (id: string, userId: string, title: string | undefined, metadata: unknown): LinkRow => ({
    id,
    user_id: userId,
    title: title ?? null,
    metadata: JSON.stringify(metadata ?? {}),
    created_at: now(),
  });
  const idOf = (prefix: string, seed: string | null) => (seed === null ? ids.next(prefix) : `${prefix}_${seed}`);
  const page = (links: Links, userId: string, limit = defaultLimit, cursor: string | undefined = undefined) =>
    links.list(userId, cursor === undefined ? null : placeOf(cursor), limit);
  // The dispatcher has checked that it is the caller's.
  const found = async (links: Links, userId: string, id: string) => (await links.find(userId, id)) as LinkRow;

  return [
    bind(linkContract.createWorkSession, async ({ principal, body: { title, metadata }, seed }) => {
      const row = await sessions.add(made(idOf('session', seed), principal.userId, title, metadata));
      return { body: { session: wireSession(row), id: row.id } };
    }),
    bind(linkContract.listWorkSessions, async ({ principal, query: { limit, cursor } }) => {
      const { shown, nextCursor } = await page(sessions, principal.userId, limit, cursor);
      return { body: { sessions: shown.map(wireSession), next_cursor: nextCursor } };
    }),
    bind(linkContract.getWorkSession, async ({ principal, params }) => ({
      body: { session: wireSession(await found(sessions, principal.userId, params.id)) },
    })),
    bind(linkContract.createDeployment, async ({ principal, body: { name, metadata }, seed }) => {
      const row = await deployments.add(made(idOf('deployment', seed), principal.userId, name, metadata));
      return { body: { deployment: wireDeployment(row), id: row.id } };
    }),
    bind(linkContract.listDeployments, async ({ principal, query: { limit, cursor } }) => {
      const { shown, nextCursor } = await page(deployments, principal.userId, limit, cursor);
      return { body: { deployments: shown.map(wireDeployment), next_cursor: nextCursor } };
    }),
    bind(linkContract.getDeployment, async ({ principal, params }) => ({
      body: { deployment: wireDeployment(await found(deployments, principal.userId, params.id)) },
    })),
  ];
}

export function workOwners({ sessions, deployments }: Pick<WorkRoutesDeps, 'sessions' | 'deployments'>): OwnerLookups {
  return {
    work_session: async ({ userId }, id) => (await sessions.find(userId, id)) !== null,
    deployment: async ({ userId }, id) => (await deployments.find(userId, id)) !== null,
  };
}
