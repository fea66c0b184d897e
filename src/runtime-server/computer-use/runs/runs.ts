/**
 * Runs as their callers know them: accepted, waiting for control, acting, asked to pause, resume and stop. One acts at a time, since one holds
 * control at a time. Must not know HTTP.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { ExecuteRequest, Run, RunStatus } from '../../../contracts/computer-use/run.ts';
import type { Store } from '../../../kit/store/store.ts';
import type { Asker, Ending } from './course.ts';
import { createLiveRun, type LiveRun, type LiveRunDeps } from './live-run.ts';
import { type Caller, orderOf } from './order.ts';
import {
  artifactsOf,
  findRun,
  findSession,
  insertRun,
  insertSession,
  moveRun,
  type RunRow,
  readRun,
  runWire,
} from './records.ts';
import { guardRequest, hasEnded, liveStatuses, type RunRequest } from './states.ts';

export interface Runs {
  /** Returns the existing run where `run_id` names one. */
  execute(request: ExecuteRequest, caller: Caller): Promise<Run>;
  /** Resolves once it has ended, or `signal` is aborted. */
  wait(runId: string, signal: AbortSignal): Promise<Run>;
  read(runId: string): Promise<Run>;
  ask(runId: string, request: RunRequest, asker: Asker): Promise<Run>;
  /** Interrupts runs left by an earlier process. Call it before any other. */
  start(): Promise<void>;
  close(): Promise<void>;
}

/** A person who pauses waits for the action under way; the answer says `running` where it takes longer. Milliseconds. */
const pauseMs = 5_000;
const actingStatuses: readonly RunStatus[] = ['running', 'awaiting_approval', 'cancelling'];
const closeMs = 1_500;

export function createRuns(
  deps: LiveRunDeps & {
    readonly store: Store;
  },
): Runs {
  const { store, gate, journal, clock, timers } = deps;
  const live = new Map<string, LiveRun>();
  /** Until nothing of a run is left, its browser too. */
  const going = new Set<Promise<void>>();
  let queue: LiveRun[] = [];
  let closed = false;
  const faults = (what: string) => (fault: unknown) => deps.onFault(what, fault);

  const stopControl = gate.onControl(({ control, why }) => {
    for (const { course } of live.values()) {
      // One that has ended is still there while its browser is closed.
      if (hasEnded(course.status())) continue;
      const mine = control.holder?.kind === 'run' && control.holder.id === course.holder.id;
      if (why === 'elsewhere' || (why === 'taken' && !mine)) {
        const reason = why === 'taken' ? 'takeover' : 'control_elsewhere';
        course.takenOver(reason, control.holder).catch(faults('A run could not be paused.'));
      } else if (why !== 'taken' && control.holder === null) {
        course.givenBack().catch(faults('The release of control could not be reported.'));
      }
    }
    pump();
  });
  const stopDownloads = gate.onDownload(({ session, path }) => {
    const run = [...live.values()].find(
      ({ sessionId, course }) => sessionId === session && course.status() !== 'queued',
    );
    if (run === undefined) return;
    deps.artifacts
      .copyFile(run.course.holder.id, path, {
        kind: 'download',
        name: path.split(/[\\/]/).at(-1) ?? 'download',
        mediaType: 'application/octet-stream',
        step: run.step(),
      })
      .catch(faults('A download could not be saved.'));
  });

  /** It is acting, or about to: one that has left the queue and is not stored as running yet. */
  const acts = (run: LiveRun) => {
    const status = run.course.status();
    return status === 'queued' ? !queue.includes(run) : actingStatuses.includes(status);
  };

  /** The next one begins once no run acts and no higher-ranked holder has control. */
  function pump(): void {
    const [next, ...others] = queue;
    if (closed || next === undefined || [...live.values()].some(acts)) return;
    // Before control is taken: the listener of that change calls this again.
    queue = others;
    try {
      gate.control.take(next.course.holder);
    } catch (error) {
      queue.unshift(next);
      // Tried again when control changes.
      if (error instanceof AppError) return;
      throw error;
    }
    const runId = next.course.holder.id;
    const gone = next.go().finally(() => {
      going.delete(gone);
      live.delete(runId);
      pump();
    });
    going.add(gone);
  }

  function begin(run: LiveRun): void {
    live.set(run.course.holder.id, run);
    queue.push(run);
    void run.course.over.then(() => {
      if (!queue.includes(run)) return;
      // It never began, so nothing else would end it.
      queue = queue.filter((other) => other !== run);
      live.delete(run.course.holder.id);
    });
    pump();
  }

  async function execute(request: ExecuteRequest, caller: Caller): Promise<Run> {
    if (request.run_id !== undefined) {
      const known = await store.read((tx) => findRun(tx, request.run_id!));
      if (known !== null) return knownRun(known, caller);
    }
    const order = await orderOf(deps, request, caller);
    const { control } = gate;
    if (control.now().holder?.kind === 'person') throw takeControlFirst();
    const known = await store.write((tx) => {
      const at = clock.now();
      const other = findRun(tx, order.runId);
      if (other !== null) return other;
      if (order.ownSession) {
        insertSession(tx, {
          id: order.sessionId,
          user_id: caller.userId,
          target_scope: order.scope,
          of_run: 1,
          metadata: '{}',
          created_at: at,
          last_used_at: at,
          closed_at: null,
        });
      } else {
        const session = findSession(tx, order.sessionId);
        if (session === null || session.closed_at !== null) throw sessionClosed(order.sessionId);
        refuseBusy(tx.get<{ id: string }>(liveRunOf, order.sessionId), order.sessionId);
        tx.run('UPDATE computer_use_session SET last_used_at = ? WHERE id = ?', at, order.sessionId);
      }
      insertRun(tx, {
        id: order.runId,
        user_id: caller.userId,
        session_id: order.sessionId,
        mode: order.mode,
        task: order.task === '' ? null : order.task,
        target_scope: order.scope,
        max_steps: order.maxSteps,
        model: order.model,
        metadata: JSON.stringify(request.metadata ?? {}),
        created_at: at,
      });
      return null;
    });
    if (known !== null) return knownRun(known, caller);
    begin(
      createLiveRun(deps, order, {
        onIdle: pump,
        onEnd({ tx, at }) {
          tx.run('UPDATE computer_use_session SET last_used_at = ? WHERE id = ?', at, order.sessionId);
          if (order.ownSession)
            tx.run('UPDATE computer_use_session SET closed_at = ? WHERE id = ?', at, order.sessionId);
        },
      }),
    );
    return read(order.runId);
  }

  async function knownRun(row: RunRow, { userId }: Caller): Promise<Run> {
    if (row.user_id === userId) return runWire(row, await store.read((tx) => artifactsOf(tx, row.id)));
    throw new AppError('usage', `The run_id ${JSON.stringify(row.id)} cannot be used.`, 'Choose another.', {
      wireCode: 'invalid_request',
    });
  }

  async function read(runId: string): Promise<Run> {
    const run = await store.read((tx) => readRun(tx, runId));
    if (run === null) throw runNotFound(runId);
    return run;
  }

  async function wait(runId: string, signal: AbortSignal): Promise<Run> {
    const course = live.get(runId)?.course;
    if (course !== undefined) {
      const left = Promise.withResolvers<void>();
      const leave = () => left.resolve();
      signal.addEventListener('abort', leave, { once: true });
      await Promise.race([course.over, left.promise]);
      signal.removeEventListener('abort', leave);
    }
    return read(runId);
  }

  async function ask(runId: string, request: RunRequest, asker: Asker): Promise<Run> {
    const row = await store.read((tx) => findRun(tx, runId));
    if (row === null) throw runNotFound(runId);
    const course = live.get(runId)?.course;
    const wanted = guardRequest(runId, row.status, request);
    if (course === undefined) return read(runId);
    if (request === 'cancel' && wanted) await course.end(cancelled, asker);
    if (request === 'pause' && wanted) {
      const late = Promise.withResolvers<void>();
      const stopWaiting = timers.after(pauseMs, late.resolve);
      await Promise.race([course.pause(asker), late.promise]);
      stopWaiting();
    }
    // One that has yet to pause is not to any more.
    if (request === 'resume') {
      if (wanted && [...live.values()].some((other) => other.course !== course && acts(other))) {
        throw takeControlFirst('Another run has control of this computer.');
      }
      await course.resume(asker);
    }
    return read(runId);
  }

  return {
    execute,
    wait,
    read,
    ask,
    async start() {
      const left = await store.read((tx) =>
        liveStatuses.flatMap((status) =>
          tx.all<{ id: string }>('SELECT id FROM computer_use_run WHERE status = ? ORDER BY seq', status),
        ),
      );
      for (const { id } of left) {
        await journal.write(id, ({ tx, at, event }) => {
          const result = JSON.stringify({ text: null, stop_reason: 'restart' });
          const row = moveRun(tx, id, 'interrupted', { result, approval: null, pause: null, finished_at: at });
          event({ type: 'run.interrupted', message: interrupted.message, data: { stop_reason: 'restart' } });
          event({ type: 'run.ended', message: 'The run has ended.', data: { status: 'interrupted' } });
          const own = 'UPDATE computer_use_session SET closed_at = ? WHERE id = ? AND of_run = 1 AND closed_at IS NULL';
          tx.run(own, at, row.session_id);
        });
      }
    },
    async close() {
      closed = true;
      stopControl();
      stopDownloads();
      const late = Promise.withResolvers<void>();
      const stopWaiting = timers.after(closeMs, late.resolve);
      const ends = [...live.values()].map(async ({ course }) => {
        await course.end(interrupted, null);
        await course.over;
      });
      await Promise.race([Promise.allSettled([...ends, ...going]), late.promise]);
      stopWaiting();
    },
  };
}

/** The run of a session that lives; its parameter is the session. */
export const liveRunOf = `SELECT id FROM computer_use_run WHERE session_id = ? AND status IN (${liveStatuses.map((status) => `'${status}'`).join(', ')}) LIMIT 1`;

const cancelled: Ending = { status: 'cancelled', stopReason: 'cancelled', message: 'The run was stopped.' };
const interrupted: Ending = {
  status: 'interrupted',
  stopReason: 'restart',
  message: 'Gantry was stopped. What was done stays done; nothing is repeated.',
};

export function refuseBusy(run: { readonly id: string } | undefined, sessionId: string): void {
  if (run === undefined) return;
  throw new AppError(
    'refused',
    `The session ${sessionId} is used by the run ${run.id}.`,
    'Wait until it has ended, or cancel it.',
    { status: 409, wireCode: 'session_busy' },
  );
}

function takeControlFirst(fact = 'A person has control of this computer.'): AppError {
  return new AppError('refused', fact, 'Wait until control is free, or ask for it.', {
    wireCode: 'take_control_first',
  });
}

function sessionClosed(id: string): AppError {
  return new AppError('usage', `The session ${id} is closed.`, 'Open a new one.', { wireCode: 'invalid_request' });
}

function runNotFound(id: string): AppError {
  return new AppError('not_found', `There is no run ${JSON.stringify(id)}.`, 'List them: GET /computer-use/runs', {
    wireCode: 'run_not_found',
  });
}
