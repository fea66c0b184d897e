/**
 * Carries out steps through the work queue: the files of a step go to whichever worker leases its task, and output and changes come back. What the
 * queue is asked for is written down first, under a key that the queue takes once, so that no kill loses a task or adds it twice. Must not know runs.
 */
import { closeSync, constants, existsSync, openSync, rmSync, writeSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { AppError } from '../../../contracts/common/errors.ts';
import { type NodeCause, namedTask } from '../../../contracts/factory/node.ts';
import {
  maxChangesBytes,
  maxSeconds,
  type NewTask,
  TaskChanges,
  type TaskRepository,
} from '../../../contracts/work-queue/task.ts';
import type { Blob, Blobs } from '../../../kit/blobs/blobs.ts';
import { pause } from '../../../kit/clock/timers.ts';
import { createGit } from '../../../kit/process/git.ts';
import type { Base } from '../../base/base.ts';
import { maxOutputLength } from '../model.ts';
import type { ShellEnd } from '../shell.ts';
import {
  findWorkerTask,
  insertWorkerTask,
  nameWorkerTask,
  removeWorkerTask,
  type WorkerTask,
  workerTasks,
} from '../store/worker-tasks.ts';
import { createQueueCalls, type SeenTask, type WorkQueue } from './calls.ts';
import { applyChanges } from './changes.ts';
import { dropSnapshot, takeSnapshot } from './snapshot.ts';

interface WorkerJob {
  /** Unique among all jobs ever: names its task. */
  readonly key: string;
  readonly dagId: string;
  readonly nodeId: string;
  readonly attempt: number;
  readonly title: string;
  readonly text: string;
  readonly cwd: string;
  /** All that the command gets: nothing of this computer's own environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly timeoutMinutes: number | undefined;
  /** Leaves out files that git does not track. */
  readonly trackedOnly: boolean;
}

/** Where the job is: waiting for a worker, or with one. */
export interface WorkerState {
  readonly cause: Extract<NodeCause, 'awaits_worker' | 'at_worker'>;
  readonly detail: string;
}

export type WorkerEnd =
  | (Extract<ShellEnd, { kind: 'ended' }> & { readonly patch: Blob | null })
  | {
      readonly kind: 'given_up';
      readonly cause: Extract<
        NodeCause,
        'cannot_start' | 'timed_out' | 'worker_failed' | 'changes_refused' | 'cancelled'
      >;
      readonly detail: string;
      /** Changes that could not be taken. */
      readonly patch: Blob | null;
    };

export interface WorkerSteps {
  /** Why no step can go to a worker, as a sentence; null: it can. */
  problem(): string | null;
  /** Adds its task, or takes it up again. */
  start(job: WorkerJob, listener: { tell(state: WorkerState): void; end(end: WorkerEnd): void }): void;
  /** Ends its task. The end is reported as usual, with this reason. */
  stop(key: string, reason: 'cancelled' | 'timed_out'): void;
  /** Its end is recorded: nothing of it is needed any more. */
  forget(key: string): void;
  /** Ends the tasks of an earlier run of this program that no job asks for any more. */
  endOthers(wanted: ReadonlySet<string>): Promise<void>;
  /** Stops asking the queue. Tasks continue, and are taken up again at the next start. */
  close(): void;
}

/** As `gantry worker` returns it. */
const Done = z.object({ stdout: z.string(), stderr: z.string(), truncated: z.boolean(), changes: TaskChanges });

const firstLookMs = 1_000;
/** Shorter than a signed call may take: the call that waits for the end is then made again. */
const maxLookMs = 10_000;

interface Entry {
  /** The queue has its task. */
  isAdded: boolean;
  stopped: 'cancelled' | 'timed_out' | null;
  /** Aborted by a stop, so that nothing that waits waits longer. */
  readonly waking: AbortController;
}

export function createWorkerSteps(
  deps: Pick<Base, 'store' | 'timers' | 'log'> & {
    readonly workspace: string;
    /** Where running jobs keep their files. */
    readonly folder: string;
    readonly blobs: Blobs;
    readonly queue: WorkQueue;
  },
): WorkerSteps {
  const { store, timers, queue, blobs } = deps;
  const calls = createQueueCalls({ queue, timers });
  const git = createGit();
  const entries = new Map<string, Entry>();
  const closing = new AbortController();
  /** Snapshots read and pack many files: one after the other. */
  let packing: Promise<unknown> = Promise.resolve();

  const bundleOf = (key: string) => join(deps.folder, `${key}.bundle`);

  async function carryOut(job: WorkerJob, entry: Entry, tell: (state: WorkerState) => void): Promise<WorkerEnd> {
    let state: WorkerState = { cause: 'awaits_worker', detail: 'Its files are being packed.' };
    const say = (next: WorkerState) => {
      if (next.cause === state.cause && next.detail === state.detail) return;
      state = next;
      tell(next);
    };
    const away = (why: string) => say({ ...state, detail: `The work queue cannot be asked (${why}). Trying again.` });
    const kept = await store.read((tx) => findWorkerTask(tx, job.key));
    if (kept === null && entry.stopped !== null) return endedBy(entry.stopped);
    const task = kept ?? (await prepare(job));
    // Packing takes a while, and the queue knows nothing of the step yet.
    if (kept === null && entry.stopped !== null) return endedBy(entry.stopped);
    const taskId = task.taskId ?? (await add(task, entry.stopped === null, away));
    entry.isAdded = true;
    const seen = await follow(taskId, entry, say, away);
    // A short one ends between two looks: its history names its worker all the same.
    if (seen.last_worker_id !== null) say(heldState(seen));
    return settle(job, task, seen, entry, away);
  }

  async function prepare(job: WorkerJob): Promise<WorkerTask> {
    const { key, dagId, nodeId, attempt, title, cwd: folder, trackedOnly } = job;
    const taken = packing.then(() => takeSnapshot(git, { key, folder, file: bundleOf(key), trackedOnly }));
    packing = taken.catch(() => {});
    const { top, inside, commit, size, sha256 } = await taken;
    const bundle = { name: `${key}.bundle`, size, sha256 };
    const repository: TaskRepository = { bundle, commit, ...(inside === '' ? {} : { folder: inside }) };
    const seconds = job.timeoutMinutes === undefined ? maxSeconds : Math.min(maxSeconds, job.timeoutMinutes * 60);
    const request: NewTask = {
      payload: { command: job.text, timeout_seconds: seconds, repository, step: { run: dagId, node: nodeId, title } },
      env: { ...job.env },
      ...(Object.keys(job.labels).length === 0 ? {} : { labels: { ...job.labels } }),
    };
    const task = { key, dagId, nodeId, attempt, top, base: commit, request, taskId: null };
    await store.write((tx) => insertWorkerTask(tx, deps.workspace, task));
    return task;
  }

  /**
   * The queue may have it already, from before a kill: the same key adds it once. One that is only to be ended loses its files first: no worker that
   * leases it in between can run it.
   */
  async function add({ key, request }: WorkerTask, isWanted: boolean, away: (why: string) => void): Promise<string> {
    const file = bundleOf(key);
    if (!isWanted) await calls.remove(`${key}.bundle`, closing.signal);
    else if (existsSync(file)) await calls.store(`${key}.bundle`, file, closing.signal, away);
    const { id } = await calls.add(key, request, closing.signal, away);
    await store.write((tx) => nameWorkerTask(tx, key, id));
    await rm(file, { force: true });
    return id;
  }

  async function follow(
    id: string,
    entry: Entry,
    say: (state: WorkerState) => void,
    away: (why: string) => void,
  ): Promise<SeenTask> {
    let stopSent = false;
    for (let lookMs = firstLookMs; ; lookMs = Math.min(maxLookMs, lookMs * 2)) {
      if (entry.stopped !== null && !stopSent) {
        await calls.stop(id, closing.signal, away);
        stopSent = true;
      }
      const task = await calls.find(id, closing.signal, away);
      if (['succeeded', 'failed', 'cancelled'].includes(task.status)) return task;
      say(task.status === 'queued' ? await waitingState(task) : heldState(task));
      await changeOf(id, lookMs, stopSent ? null : entry.waking.signal);
    }
  }

  /** Until the task has ended, the time is over or it is to be stopped. */
  async function changeOf(id: string, ms: number, waking: AbortSignal | null): Promise<void> {
    const over = new AbortController();
    const signal = AbortSignal.any([closing.signal, over.signal, ...(waking === null ? [] : [waking])]);
    const first = Promise.race([calls.waitForEnd(id, signal), pause(timers, ms, signal)]);
    await first.catch(() => {});
    over.abort();
    closing.signal.throwIfAborted();
  }

  async function waitingState({ id, waiting_for: reason }: SeenTask): Promise<WorkerState> {
    const nobody = reason == null && !(await calls.hasWorkers(closing.signal));
    const why = nobody ? 'No worker is connected.' : (reason ?? 'It waits for its turn.');
    return { cause: 'awaits_worker', detail: `${why.replace(/\.$/, '')} (${namedTask(id)}).` };
  }

  async function settle(
    { trackedOnly }: WorkerJob,
    task: WorkerTask,
    seen: SeenTask,
    entry: Entry,
    away: (why: string) => void,
  ): Promise<WorkerEnd> {
    const about = `Worker ${seen.last_worker_id}, task ${seen.id}`;
    // It may have ended just before: what it changed is not taken all the same.
    if (isCancelled(entry)) return endedBy('cancelled');
    if (seen.status !== 'succeeded') {
      if (entry.stopped !== null) return endedBy(entry.stopped);
      if (seen.status === 'cancelled') return givenUp('worker_failed', `Task ${seen.id} was cancelled in the queue.`);
      const { code, message } = seen.error ?? { code: 'worker_error', message: 'It gave no reason.' };
      const exit = /^exit_(\d{1,3})$/.exec(code)?.[1];
      if (exit !== undefined) return ended(task.key, Number(exit), message, message, about, null);
      if (code === 'timeout') return givenUp('timed_out', message);
      return givenUp('worker_failed', `${about}: ${message}`);
    }
    const done = Done.safeParse(seen.result);
    if (!done.success || done.data.changes.commit !== task.base) {
      const why = 'Its result does not say what it changed in the files of this step. Update the worker.';
      return givenUp('worker_failed', `${about}: ${why}`);
    }
    const { stdout, stderr, truncated, changes } = done.data;
    const cut = truncated ? '\n[The worker left out the rest of the output.]\n' : '';
    let patch: Blob | null = null;
    if (changes.patch !== null) {
      const { size } = changes.patch;
      if (size > maxChangesBytes) {
        const why = `The patch has ${size} bytes; at most ${maxChangesBytes} are taken. Nothing was changed.`;
        return givenUp('changes_refused', why);
      }
      const bytes = await calls.fetch(changes.patch, closing.signal, away);
      // The files come from a cloud that may have been away for hours.
      if (isCancelled(entry)) return endedBy('cancelled');
      patch = await (await blobs.receive(Readable.from([bytes]), bytes.length)).keep();
      try {
        const file = blobs.fileOf(patch.sha256);
        await applyChanges(git, { top: task.top, commit: task.base, patch: file, announce: trackedOnly });
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return { ...givenUp('changes_refused', `${error.fact} ${error.action}`), patch };
      }
    }
    return ended(task.key, 0, stdout, `${stdout}${stderr}${cut}`, about, patch);
  }

  function ended(key: string, code: number, output: string, all: string, about: string, patch: Blob | null): WorkerEnd {
    const file = join(deps.folder, `${key}.log`);
    rmSync(file, { force: true });
    const handle = openSync(file, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
    writeSync(handle, `${about}\n${all}`);
    const text = output.replace(/\r?\n$/, '').replaceAll('\0', '');
    const log = { file, handle };
    return { kind: 'ended', code, signal: null, stopped: null, output: text.slice(-maxOutputLength), log, patch };
  }

  async function clear(key: string): Promise<void> {
    const task = await store.read((tx) => findWorkerTask(tx, key));
    if (task === null) return;
    await rm(bundleOf(key), { force: true });
    await dropSnapshot(git, task.top, key);
    // After what is here, so that a kill leaves nothing in the repository; before the calls, which last as long as the cloud is away.
    await store.write((tx) => removeWorkerTask(tx, key));
    await calls.remove(`${key}.bundle`, closing.signal);
    if (task.taskId === null) return;
    const done = Done.safeParse((await calls.find(task.taskId, closing.signal, () => {})).result);
    const patch = done.success ? done.data.changes.patch : null;
    if (patch !== null) await calls.remove(patch.name, closing.signal);
  }

  const quietly = (what: string, done: Promise<unknown>) =>
    void done.catch((error: unknown) => {
      if (!closing.signal.aborted) deps.log.warn(what, { error: String(error) });
    });

  return {
    problem: queue.problem,
    start(job, { tell, end }) {
      const entry: Entry = entries.get(job.key) ?? {
        isAdded: false,
        stopped: null,
        waking: new AbortController(),
      };
      entries.set(job.key, entry);
      carryOut(job, entry, tell).then(
        (how) => {
          entries.delete(job.key);
          if (!closing.signal.aborted) end(how);
          else if (how.kind === 'ended') closeSync(how.log.handle);
        },
        (error: unknown) => {
          entries.delete(job.key);
          if (closing.signal.aborted) return;
          if (!(error instanceof AppError)) deps.log.warn('A step of a worker failed.', { error: String(error) });
          const why = error instanceof AppError ? `${error.fact} ${error.action}` : String(error);
          end(givenUp(entry.isAdded ? 'worker_failed' : 'cannot_start', why));
        },
      );
    },
    stop(key, reason) {
      const entry = entries.get(key);
      if (entry === undefined || entry.stopped !== null) return;
      entry.stopped = reason;
      entry.waking.abort();
    },
    forget: (key) => quietly('What a step left could not be removed.', clear(key)),
    async endOthers(wanted) {
      const left = (await store.read((tx) => workerTasks(tx, deps.workspace))).filter(({ key }) => !wanted.has(key));
      for (const task of left) {
        const stop = async () => {
          const id = task.taskId ?? (await add(task, false, () => {}));
          await calls.stop(id, closing.signal, () => {});
          await clear(task.key);
        };
        quietly(`The task of step ${task.nodeId} could not be ended.`, stop());
      }
    },
    close() {
      closing.abort(new Error('Gantry is closing.'));
    },
  };
}

const isCancelled = ({ stopped }: Entry): boolean => stopped === 'cancelled';

type GivenUp = Extract<WorkerEnd, { kind: 'given_up' }>;

function givenUp(cause: GivenUp['cause'], detail: string): GivenUp {
  return { kind: 'given_up', cause, detail, patch: null };
}

function endedBy(stopped: 'cancelled' | 'timed_out'): GivenUp {
  const detail = stopped === 'cancelled' ? 'Its task was cancelled.' : 'It timed out; its task was cancelled.';
  return givenUp(stopped, detail);
}

function heldState({ id, last_worker_id: worker, attempts }: SeenTask): WorkerState {
  const again = attempts > 1 ? `, attempt ${attempts}` : '';
  return { cause: 'at_worker', detail: `Worker ${worker} runs ${namedTask(id)}${again}.` };
}
