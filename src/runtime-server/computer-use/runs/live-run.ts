/**
 * One run from its start to its end: its actions one after the other (`direct`) or as a planner chooses them (`intent`, `assist`), its
 * limits, its recording. Must not know HTTP, queues or who may see it.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { ExecuteRequest, RunAction, TargetScope } from '../../../contracts/computer-use/run.ts';
import type { Ids } from '../../../kit/ids/ids.ts';
import type { Place } from '../../../programs/executor/protocol.ts';
import type { Base } from '../../base/base.ts';
import type { Models } from '../../models/index.ts';
import type { ToolsetCaller, ToolsetGate } from '../gate.ts';
import { acts, errorOf, textOf } from './actions.ts';
import type { Artifacts } from './artifacts.ts';
import { type Course, createCourse, type Ending, failed, Stopping } from './course.ts';
import type { Journal, RunTx } from './journal.ts';
import { createPerformer } from './performer.ts';
import type { Planner } from './planner-port.ts';
import { createRecording, noRecording } from './recording.ts';
import { Ended } from './records.ts';
import { createRunLimits, maxResultLength } from './run-limits.ts';

export interface LiveRunDeps extends Pick<Base, 'clock' | 'timers'> {
  readonly gate: ToolsetGate;
  readonly journal: Journal;
  readonly artifacts: Artifacts;
  readonly planner: Planner;
  /** Records the cost of a request, millionths of a dollar; null: its price is unknown. */
  readonly spent: Models['record'];
  readonly ids: Pick<Ids, 'next'>;
  /** For recordings under way. */
  readonly folder: string;
  readonly onFault: (what: string, fault: unknown) => void;
}

export interface RunOrder {
  readonly runId: string;
  readonly sessionId: string;
  /** The session belongs only to this run, and ends with it. */
  readonly ownSession: boolean;
  readonly mode: ExecuteRequest['mode'];
  readonly scope: TargetScope;
  readonly actions: readonly RunAction[];
  readonly task: string;
  readonly context: string | null;
  readonly model: string | null;
  readonly maxSteps: number;
  readonly timeoutMs: number;
  /** Null: no limit. */
  readonly maxMicroUsd: number | null;
  readonly record: boolean;
  readonly caller: Omit<ToolsetCaller, 'holder'>;
}

export interface LiveRun {
  readonly course: Course;
  readonly sessionId: string;
  readonly ownSession: boolean;
  /** Resolves once nothing of it runs any more. Never rejects. */
  go(): Promise<void>;
  step(): number | null;
}

export function createLiveRun(
  deps: LiveRunDeps,
  order: RunOrder,
  ends: { readonly onEnd: (run: RunTx) => void; readonly onIdle: () => void },
): LiveRun {
  const { gate } = deps;
  const { runId, sessionId, scope } = order;
  let opening: Promise<void> | null = null;

  const desktop: Place = { kind: 'desktop' };
  const browserPlace: Place = { kind: 'browser', session: sessionId };
  const course = createCourse({
    ...deps,
    ...ends,
    runId,
    timeoutMs: order.timeoutMs,
    stopAction: async () => {
      const places = [
        ...(scope === 'desktop' || opening === null ? [] : [browserPlace]),
        ...(scope === 'browser' ? [] : [desktop]),
      ];
      await Promise.all(places.map((place) => gate.stop(place)));
    },
  });
  const { steps, beginStep, endStep, answered, limited } = createRunLimits({ ...deps, course }, order);
  const recording = order.record ? createRecording({ ...deps, runId, sessionId }) : noRecording;

  const perform = createPerformer({
    ...deps,
    runId,
    sessionId,
    scope,
    course,
    caller: { ...order.caller, holder: course.holder },
    // A caller that lists an action has chosen it; a model is offered safe ones.
    enable: (member) => (order.mode === 'direct' ? [member] : []),
    ready: (toolset) => (toolset === 'browser' ? browser() : recording.begin(desktop)),
    step: steps,
    // A caller's own list may wait or look as often as it wants.
    mustChange: ({ toolset, member }) => order.mode !== 'direct' || acts(toolset, member),
  });

  function browser(): Promise<void> {
    opening ??= gate.sessions
      .open(sessionId, { headless: true, trace: order.record })
      .then(() => recording.begin(browserPlace));
    return opening;
  }

  async function direct(): Promise<Ending> {
    const texts: string[] = [];
    const said = () => texts.join('\n').slice(-maxResultLength) || null;
    for (const { toolset, member, input = {} } of order.actions) {
      if (!(await beginStep())) return limited(said());
      const answer = await perform({ toolset, member, input });
      await endStep();
      if (answer.kind === 'denied') return failed('denied', { code: 'denied', message: answer.message }, said());
      const { result } = answer;
      const text = textOf(result);
      if (!result.is_error && text !== '') texts.push(text);
      // A person who took control judges the action that this cut off: it is not repeated, and resuming continues after it.
      if (result.is_error && errorOf(result).code !== 'cancelled') return failed('error', errorOf(result), said());
    }
    return { status: 'completed', stopReason: 'done', message: 'All actions are done.', text: said() };
  }

  async function planned(mode: 'intent' | 'assist'): Promise<Ending> {
    const end = await deps.planner.run(
      {
        runId,
        mode,
        model: order.model ?? '',
        task: order.task,
        context: order.context,
        targetScope: scope,
        signal: course.signal,
      },
      { step: beginStep, answered, call: perform },
    );
    await endStep();
    const text = end.text === '' ? null : end.text.slice(0, maxResultLength);
    if (end.how === 'done') {
      return { status: 'completed', stopReason: 'done', message: 'The model ended the task.', text };
    }
    if (end.how === 'limit') return limited(text);
    if (end.how === 'refused') {
      return failed('refused', { code: 'model_refused', message: 'The model declined the task.' }, text);
    }
    return failed('error', end.error ?? { code: 'model_failed', message: 'The model could not be asked.' }, text);
  }

  async function work(): Promise<Ending> {
    if (scope === 'browser') await browser();
    return order.mode === 'direct' ? direct() : planned(order.mode);
  }

  /** Somebody may take control in the moment in which it would have ended. */
  async function conclude(ending: Ending): Promise<void> {
    while (true) {
      await course.between();
      try {
        return await course.finish(ending);
      } catch (error) {
        if (!(error instanceof AppError && error.options.wireCode === 'invalid_transition')) throw error;
      }
    }
  }

  async function go(): Promise<void> {
    let ending: Ending = stopped;
    try {
      await course.start();
      ending = await work();
    } catch (error) {
      if (error instanceof Ended) return;
      if (!(error instanceof Stopping)) ending = broken(error);
    }
    try {
      await recording.finish();
      await conclude(ending);
    } catch (error) {
      if (error instanceof Ended) return;
      if (!(error instanceof Stopping)) deps.onFault('The end of a run could not be saved.', error);
      await course.finish(stopped);
    }
  }

  function broken(error: unknown): Ending {
    if (error instanceof AppError) {
      return failed('error', { code: error.options.wireCode ?? error.code, message: `${error.fact} ${error.action}` });
    }
    deps.onFault('A run failed.', error);
    return failed('error', { code: 'internal', message: 'Something went wrong inside Gantry; its log says more.' });
  }

  return {
    course,
    sessionId,
    ownSession: order.ownSession,
    step: () => steps() || null,
    async go() {
      try {
        await go();
      } catch (error) {
        deps.onFault('A run was left as it was.', error);
      } finally {
        deps.artifacts.forget(runId);
        if (order.ownSession && opening !== null) {
          await gate.sessions.close(sessionId, true).catch((fault) => deps.onFault('A session was not closed.', fault));
        }
      }
    },
  };
}

/** Used where {@link Course.end} has given the reason, which takes precedence. */
const stopped: Ending = { status: 'failed', stopReason: 'error', message: 'The run was stopped.' };
