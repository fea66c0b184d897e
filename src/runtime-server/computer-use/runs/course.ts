/**
 * Controls one live run: pausing, being paused by somebody who takes control, resuming, ending, and the time that counts. One object a run; its row
 * is the truth, and every move goes through the guard there. Must not know actions or models.
 */

import type { RunStatus } from '../../../contracts/computer-use/run.ts';
import { cancelSeconds } from '../../../contracts/computer-use/run.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Base } from '../../base/base.ts';
import type { Holder, ToolsetGate } from '../gate.ts';
import type { Journal, RunTx } from './journal.ts';
import { Ended, moveRun, type Pause, type PendingApproval, patchRun, type Result } from './records.ts';

/** Thrown through whatever a run was doing when it has to end. */
export class Stopping extends Error {}

export interface Ending {
  readonly status: Extract<RunStatus, 'completed' | 'failed' | 'cancelled' | 'interrupted' | 'expired'>;
  readonly stopReason: Result['stop_reason'];
  readonly message: string;
  readonly text?: string | null;
  readonly error?: { readonly code: string; readonly message: string };
}

/** The caller, for the event. */
export interface Asker {
  readonly actor: string;
  readonly comment?: string | undefined;
}

export interface Course {
  readonly holder: Holder;
  readonly signal: AbortSignal;
  status(): RunStatus;
  start(): Promise<void>;
  /** Between actions: waits while it is paused. Throws {@link Stopping} or {@link Ended}. */
  between(): Promise<void>;
  /** Takes effect between actions; resolves once it has. */
  pause(asker: Asker): Promise<void>;
  /** 423 while somebody has control. */
  resume(asker: Asker): Promise<void>;
  /** Somebody else has control: pauses at once and stops the action under way. */
  takenOver(reason: 'takeover' | 'control_elsewhere', by: Holder | null): Promise<void>;
  /** Somebody has given control back; a person still resumes. */
  givenBack(): Promise<void>;
  awaitApproval(approval: PendingApproval): Promise<void>;
  approvalResolved(decision: string, by: string | null): Promise<void>;
  /** Ends it from outside: stops the action under way; by force where that does not end in time. */
  end(ending: Ending, asker: Asker | null): Promise<void>;
  /** The final state, once nothing of it runs any more. `ending` of {@link end} outranks it. */
  finish(ending: Ending): Promise<void>;
  readonly over: Promise<void>;
}

/** A lease lasts 60 s. */
const renewMs = 20_000;

export function createCourse(
  deps: Pick<Base, 'clock' | 'timers'> & {
    readonly runId: string;
    readonly timeoutMs: number;
    readonly gate: Pick<ToolsetGate, 'control'>;
    readonly journal: Journal;
    /** Stops the action under way, at once. */
    readonly stopAction: () => Promise<void>;
    /** Ends a session that was opened only for this run, in the transaction of its end. */
    readonly onEnd: (run: RunTx) => void;
    /** It no longer holds control, or has ended. */
    readonly onIdle: () => void;
    readonly onFault: (what: string, fault: unknown) => void;
  },
): Course {
  const { runId, gate, journal, clock, timers } = deps;
  const holder: Holder = { kind: 'run', id: runId };
  const abort = new AbortController();
  const over = Promise.withResolvers<void>();
  const stopped = Promise.withResolvers<void>();
  let status: RunStatus = 'queued';
  let ending: Ending | null = null;
  /** Set as soon as a pause is requested; the row says `paused` once it holds. */
  let pause: Pause | null = null;
  let moved = Promise.withResolvers<void>();
  let leftMs = deps.timeoutMs;
  let since = 0;
  let disarm = () => {};
  let stopRenewing = () => {};
  let stopForcing = () => {};

  /** Time counts while it runs, and neither while a person is asked nor while it is paused. */
  function now(next: RunStatus): void {
    if (status === 'running' && next !== 'running') {
      disarm();
      leftMs -= clock.monotonic() - since;
    }
    if (next === 'running' && status !== 'running') {
      since = clock.monotonic();
      disarm = timers.after(Math.max(0, leftMs), () => {
        const message = `The run took longer than ${deps.timeoutMs} ms.`;
        end({ status: 'expired', stopReason: 'timeout', message }, null).catch((fault) =>
          deps.onFault('A run could not be ended in time.', fault),
        );
      });
    }
    status = next;
    const holds = next === 'running' || next === 'awaiting_approval';
    stopRenewing();
    if (holds) renewLater();
    moved.resolve();
    moved = Promise.withResolvers();
    if (!holds) deps.onIdle();
  }

  function renewLater(): void {
    stopRenewing = timers.after(renewMs, () => {
      // The gate itself reports a new holder.
      tolerate(() => gate.control.renew(holder));
      renewLater();
    });
  }

  const release = () => tolerate(() => gate.control.release(holder));
  const lasts = () => {
    if (ending !== null) throw new Stopping();
  };

  async function enterPause(wanted: Pause): Promise<void> {
    await journal.write(runId, ({ tx, event }) => {
      const row = patchRun(tx, runId, { pause: JSON.stringify(wanted) });
      // A new holder may have been faster than the end of an action.
      if (row.status === 'paused') return;
      moveRun(tx, runId, 'paused');
      event({
        type: 'run.paused',
        message: pausedWords[wanted.reason],
        data: { reason: wanted.reason, from: row.status },
      });
    });
    now('paused');
  }

  async function end(wanted: Ending, asker: Asker | null): Promise<void> {
    if (ending !== null) return;
    const waits = wanted.status === 'cancelled';
    const wasQueued = status === 'queued';
    if (waits) {
      await journal.write(runId, ({ tx, event }) => {
        moveRun(tx, runId, 'cancelling', { pause: null, approval: null });
        event({ type: 'run.cancelling', message: 'The run was asked to stop.', data: askerData(asker) });
      });
    }
    ending = wanted;
    if (waits) now('cancelling');
    if (wasQueued) return finish(wanted);
    stopped.resolve();
    stopForcing = timers.after(cancelSeconds * 1000, () => {
      const forced: Ending = waits ? { ...wanted, stopReason: 'forced' } : wanted;
      write(forced, 'The run did not stop in time and was forced to end.').catch((fault) =>
        deps.onFault('A run could not be cut off.', fault),
      );
    });
    await deps.stopAction().catch((fault) => deps.onFault('An action could not be stopped.', fault));
    abort.abort(new Stopping());
  }

  const finish = (given: Ending) => write(ending ?? given, null);

  async function write(last: Ending, note: string | null): Promise<void> {
    if (status === last.status) return;
    try {
      await journal.write(runId, (run) => {
        const result: Result = { text: last.text ?? null, stop_reason: last.stopReason };
        const message = note ?? last.message;
        moveRun(run.tx, runId, last.status, {
          result: JSON.stringify(result),
          error: last.error === undefined ? null : JSON.stringify(last.error),
          approval: null,
          pause: null,
          finished_at: run.at,
        });
        run.event({
          type: `run.${last.status}`,
          message,
          data: { stop_reason: last.stopReason, ...(last.error !== undefined && { error: last.error }) },
        });
        run.event({ type: 'run.ended', message: 'The run has ended.', data: { status: last.status } });
        deps.onEnd(run);
      });
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      return;
    }
    stopForcing();
    release();
    now(last.status);
    stopped.resolve();
    abort.abort(new Stopping());
    over.resolve();
  }

  return {
    holder,
    signal: abort.signal,
    over: over.promise,
    status: () => status,
    async start() {
      await journal.write(runId, ({ tx, at, event }) => {
        moveRun(tx, runId, 'running', { started_at: at });
        event({ type: 'run.started', message: 'The run has started.' });
      });
      now('running');
    },
    async between() {
      while (true) {
        lasts();
        if (pause === null) return;
        if (status === 'paused') {
          await Promise.race([moved.promise, stopped.promise]);
          continue;
        }
        const wanted = pause;
        await enterPause(wanted);
        // A person who pauses wants to act there.
        if (wanted.reason === 'person') release();
      }
    },
    async pause() {
      if (pause !== null) return;
      const wanted: Pause = { reason: 'person', since: iso(clock.now()) };
      await journal.write(runId, ({ tx }) => patchRun(tx, runId, { pause: JSON.stringify(wanted) }));
      pause = wanted;
      if (status === 'awaiting_approval') await enterPause(wanted);
      while (pause === wanted && status === 'running' && ending === null) await moved.promise;
    },
    async resume(asker) {
      if (pause === null) return;
      gate.control.take(holder);
      const to = await journal.write(runId, ({ tx, event }) => {
        const row = patchRun(tx, runId, { pause: null });
        if (row.status !== 'paused') return row.status;
        const next = row.approval === null ? 'running' : 'awaiting_approval';
        moveRun(tx, runId, next);
        event({ type: 'run.resumed', message: 'The run continues.', data: askerData(asker) });
        return next;
      });
      pause = null;
      now(to);
    },
    async takenOver(reason, by) {
      if (ending !== null || status === 'paused' || status === 'queued') return;
      const wanted: Pause = { reason, since: iso(clock.now()) };
      // At once: nothing more may begin while this is being written.
      pause = wanted;
      const stop = deps.stopAction();
      await journal.write(runId, ({ tx, event }) => {
        patchRun(tx, runId, {});
        event({ type: 'control.taken', message: pausedWords[reason], data: { reason, holder: by } });
      });
      if (status === 'running' || status === 'awaiting_approval') await enterPause(wanted);
      await stop;
    },
    async givenBack() {
      if (pause === null || pause.reason === 'person' || status !== 'paused') return;
      await journal.write(runId, ({ tx, event }) => {
        patchRun(tx, runId, {});
        event({ type: 'control.released', message: 'Control is free. The run waits to be resumed.' });
      });
    },
    async awaitApproval(approval) {
      const to = await journal.write(runId, ({ tx, event }) => {
        const row = patchRun(tx, runId, { approval: JSON.stringify(approval) });
        if (row.status === 'running') moveRun(tx, runId, 'awaiting_approval');
        const { id, member, toolset, risk } = approval;
        event({ type: 'approval.required', message: approval.words, data: { approval_id: id, toolset, member, risk } });
        return row.status === 'running' ? 'awaiting_approval' : row.status;
      });
      if (to !== status) now(to);
    },
    async approvalResolved(decision, by) {
      const to = await journal.write(runId, ({ tx, event }) => {
        const row = patchRun(tx, runId, { approval: null });
        if (row.status === 'awaiting_approval') moveRun(tx, runId, 'running');
        event({ type: 'approval.resolved', message: `The question was ${decision}.`, data: { decision, by } });
        return row.status === 'awaiting_approval' ? 'running' : row.status;
      });
      if (to !== status) now(to);
    },
    end,
    finish,
  };
}

const pausedWords: Readonly<Record<Pause['reason'], string>> = {
  person: 'A person paused it.',
  takeover: 'A person took control.',
  control_elsewhere: 'Somebody used the mouse or keyboard.',
  budget: 'Its budget is used up.',
};

const askerData = (asker: Asker | null) =>
  asker === null ? {} : { by: asker.actor, ...(asker.comment !== undefined && { comment: asker.comment }) };

/** The gate refuses here when a higher-ranked holder took control, and reports that itself. */
function tolerate(effect: () => void): void {
  try {
    effect();
  } catch {}
}

export function failed(
  stopReason: Ending['stopReason'],
  error: { code: string; message: string },
  text: string | null = null,
): Ending {
  return { status: 'failed', stopReason, message: error.message, error, text };
}
