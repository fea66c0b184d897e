/**
 * Runs as their callers know them: accepted, waiting for control, acting, asked to pause, resume and stop. One acts at a time, since one holds
 * control at a time. Must not know HTTP.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { ExecuteRequest, Run } from '../../../contracts/computer-use/run.ts';
import type { Store, Tx } from '../../../kit/store/store.ts';
import type { Asker, Ending } from './course.ts';
import { createLiveRun, type LiveRunDeps, type RunOrder } from './live-run.ts';
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
import { createRunQueue } from './run-queue.ts';
import { guardRequest, liveStatuses, type RunRequest } from './states.ts';

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

export function createRuns(
  deps: LiveRunDeps & {
    readonly store: Store;
  },
): Runs {
  const { store, gate, journal, clock, timers } = deps;
  const queue = createRunQueue(deps);

  async function execute(request: ExecuteRequest, caller: Caller): Promise<Run> {
    if (request.run_id !== undefined) {
      const known = await store.read((tx) => findRun(tx, request.run_id!));
      if (known !== null) return knownRun(known, caller);
    }
    const order = await orderOf(deps, request, caller);
    const { control } = gate;
    if (control.now().holder?.kind === 'person') throw takeControlFirst();
    const known = await store.write((tx) => accept(tx, order, request, caller, clock.now()));
    if (known !== null) return knownRun(known, caller);
    queue.begin(
      createLiveRun(deps, order, {
        onIdle: queue.pump,
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
    const course = queue.get(runId)?.course;
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
    const course = queue.get(runId)?.course;
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
      if (wanted && queue.anotherActs(course)) {
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
    start: () => interruptLeft(store, journal),
    close: () => queue.close(interrupted),
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

/** Stores an accepted run. Returns the one that has its id already. */
function accept(tx: Tx, order: RunOrder, request: ExecuteRequest, caller: Caller, at: number): RunRow | null {
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
}

/** Runs left by an earlier process: nothing of them is repeated. */
async function interruptLeft(store: Store, journal: LiveRunDeps['journal']): Promise<void> {
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
}
