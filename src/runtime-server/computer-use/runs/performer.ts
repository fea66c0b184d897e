/**
 * Performs one action of a run: with an event before and after, a question where the gate requires one, never twice, and with a picture after it.
 * Must not know who chose it.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { Toolset } from '../../../contracts/computer-use/members.ts';
import type { TargetScope } from '../../../contracts/computer-use/run.ts';
import type { ToolsetCall, ToolsetResult } from '../../../contracts/computer-use/toolset.ts';
import type { Clock } from '../../../kit/clock/clock.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { ApprovalState, ToolsetCaller, ToolsetGate, ToolsetOutcome } from '../gate.ts';
import { acts, allowedIn, errorOf, pictureOf, shownInput } from './actions.ts';
import type { Artifacts } from './artifacts.ts';
import { type Course, Stopping } from './course.ts';
import type { Journal } from './journal.ts';
import type { CallAnswer, Picture, PlannedCall } from './planner-port.ts';
import { createProgress, maxRepeats } from './progress.ts';
import { patchRun } from './records.ts';

type Perform = (call: PlannedCall) => Promise<CallAnswer>;

type Asked = Extract<ToolsetOutcome, { kind: 'approval_required' }>;

export function createPerformer(deps: {
  readonly runId: string;
  readonly sessionId: string;
  readonly scope: TargetScope;
  readonly caller: ToolsetCaller;
  /** Members that are off unless named. */
  readonly enable: (member: string) => readonly string[];
  /** Resolves once the target of the action is ready. */
  readonly ready: (toolset: Toolset) => Promise<void>;
  readonly gate: Pick<ToolsetGate, 'call' | 'onApproval' | 'approvalState' | 'withdrawApproval'>;
  readonly journal: Journal;
  readonly artifacts: Artifacts;
  readonly course: Course;
  readonly clock: Clock;
  /** The step that it belongs to. */
  readonly step: () => number;
  /** Whether it counts when this is done again and again without a change of the screen. */
  readonly mustChange: (call: PlannedCall) => boolean;
  readonly onFault: (what: string, fault: unknown) => void;
}): Perform {
  const { runId, gate, journal, course, clock } = deps;
  const progress = createProgress();
  let actions = 0;
  /** Calls of one turn stop after the first that failed: actions after a failure are another turn. */
  let turn = 0;

  const envelope = (call: PlannedCall, place: object): ToolsetCall => ({
    toolset: call.toolset,
    member: call.member,
    input: { ...call.input },
    run_id: runId,
    model_frame: call.modelFrame,
    coordinate_space: call.coordinateSpace,
    enable: [...deps.enable(call.member)],
    ...(call.toolset === 'browser' && { browser_session_id: deps.sessionId }),
    ...place,
  });

  async function perform(call: PlannedCall): Promise<CallAnswer> {
    const answer = await performOne(call);
    const { result, after } = answer.kind === 'done' ? answer : { result: null, after: null };
    const times = progress.did(call, result, after);
    if (times < maxRepeats || !deps.mustChange(call)) return answer;
    throw new AppError(
      'refused',
      `The run did the same action (${call.toolset} ${call.member}) ${times} times, and the screen did not change.`,
      'Check its last screenshot, then change the task or the steps.',
      { wireCode: 'no_progress' },
    );
  }

  async function performOne(call: PlannedCall): Promise<CallAnswer> {
    await course.between();
    const index = actions;
    actions += 1;
    const { toolset, member } = call;
    const facts = { call_index: index, toolset, member };
    const began = clock.monotonic();
    await journal.write(runId, ({ tx, event }) => {
      const row = patchRun(tx, runId, {});
      patchRun(tx, runId, { actions: row.actions + 1 });
      event({
        type: 'action.started',
        message: `${toolset} ${member}`,
        data: { ...facts, step: deps.step(), input: shownInput(member, call.input) },
      });
    });
    const outcome = await outcomeOf(call, index);
    if (outcome.kind === 'denied') {
      turn += 1;
      await tell('action.denied', outcome.message, { ...facts, message: outcome.message });
      return outcome;
    }
    const { result } = outcome;
    const took = { ...facts, duration_ms: Math.round(clock.monotonic() - began) };
    if (result.is_error) {
      turn += 1;
      const error = errorOf(result);
      await tell('action.failed', error.message, { ...took, error });
      return { kind: 'done', result, after: null };
    }
    await tell('action.completed', `${toolset} ${member}`, { ...took, ...pageOf(result) });
    const shown = pictureOf(result);
    if (shown !== null) await keep(shown);
    const after = shown === null && acts(toolset, member) ? await look(call) : null;
    return { kind: 'done', result, after };
  }

  const tell = (type: 'action.denied' | 'action.failed' | 'action.completed', message: string, data: object) =>
    journal.write(runId, ({ tx, event }) => {
      patchRun(tx, runId, {});
      event({ type, message, data: { ...data } });
    });

  /** Until it was done or refused: over questions, and over the times in which somebody else has control. */
  async function outcomeOf(
    call: PlannedCall,
    index: number,
  ): Promise<Exclude<CallAnswer, { after: unknown }> | { kind: 'done'; result: ToolsetResult }> {
    if (!allowedIn(deps.scope, call.toolset)) {
      return { kind: 'denied', message: `This run may use only the ${deps.scope}.` };
    }
    const caller = call.confirm === undefined ? deps.caller : { ...deps.caller, confirm: call.confirm };
    let grant: { approval_grant?: string } = {};
    while (true) {
      await deps.ready(call.toolset);
      await course.between();
      const outcome = await gate
        .call(envelope(call, { turn_id: `${runId}.${turn}`, call_index: index, ...grant }), caller, course.signal)
        .catch((error: unknown) => answerOf(error));
      if (outcome === 'no control') {
        // Nothing was done, and the attempt is a failed call of its turn. The gate reports a new holder; this handles the case where that has not
        // arrived yet.
        turn += 1;
        await course.takenOver('takeover', null);
        continue;
      }
      if (outcome.kind !== 'approval_required') return outcome;
      const state = await ask(outcome);
      if (state !== 'approved') return { kind: 'denied', message: deniedWords[state] ?? deniedWords.denied };
      grant = { approval_grant: outcome.approval.id };
    }
  }

  /** A contract error goes back to the caller; a missing browser ends the run. */
  function answerOf(error: unknown): ToolsetOutcome | 'no control' {
    if (course.signal.aborted) throw new Stopping();
    if (!(error instanceof AppError)) throw error;
    const { wireCode } = error.options;
    const message = `${error.fact} ${error.action}`;
    if (wireCode === 'take_control_first') return 'no control';
    if (wireCode === 'approval_denied') return { kind: 'denied', rule: wireCode, message };
    // A run that may use both can do without a screen.
    const noScreen = deps.scope === 'auto' && wireCode === 'display_unavailable';
    if (error.code !== 'usage' && !noScreen) throw error;
    return {
      kind: 'done',
      auditId: '',
      executed: false,
      result: {
        is_error: true,
        content: [{ type: 'text', text: message }],
        screen: { width: 0, height: 0, scale: 1, frame_width: 0, frame_height: 0 },
        error: { code: wireCode ?? error.code, message },
      },
    };
  }

  async function ask({ approval, words }: Asked): Promise<ApprovalState> {
    const answered = Promise.withResolvers<{ state: ApprovalState; by: string | null }>();
    const stopListening = gate.onApproval((id, state, by) => {
      if (id === approval.id) answered.resolve({ state, by });
    });
    const stopped = () => answered.reject(new Stopping());
    course.signal.addEventListener('abort', stopped, { once: true });
    answered.promise.catch(() => {});
    try {
      await course.awaitApproval({ ...approval, words, requested_at: iso(clock.now()) });
      const state = gate.approvalState(approval.id);
      if (state !== null && state !== 'pending') answered.resolve({ state, by: null });
      const answer = await answered.promise;
      await course.approvalResolved(answer.state, answer.by);
      return answer.state;
    } catch (error) {
      await gate.withdrawApproval(approval.id).catch((fault) => deps.onFault('An approval was not withdrawn.', fault));
      throw error;
    } finally {
      stopListening();
      course.signal.removeEventListener('abort', stopped);
    }
  }

  /** After each action that can have changed something. A picture that cannot be taken ends nothing. */
  async function look(call: PlannedCall): Promise<Picture | null> {
    try {
      const screenshot = { toolset: call.toolset, member: 'screenshot', input: {} };
      const outcome = await gate.call(envelope(screenshot, {}), deps.caller, course.signal);
      const picture = outcome.kind === 'done' ? pictureOf(outcome.result) : null;
      if (picture !== null) await keep(picture);
      return picture;
    } catch (error) {
      if (course.signal.aborted) throw new Stopping();
      if (!(error instanceof AppError)) throw error;
      deps.onFault('A screenshot could not be taken.', error);
      return null;
    }
  }

  async function keep(picture: Picture): Promise<void> {
    const step = deps.step();
    await deps.artifacts.keepPicture(runId, Buffer.from(picture.data, 'base64'), {
      kind: 'screenshot',
      name: `step-${step}.${picture.media_type === 'image/png' ? 'png' : 'jpg'}`,
      mediaType: picture.media_type,
      step,
    });
  }

  return perform;
}

const deniedWords: Readonly<Record<string, string>> & { readonly denied: string } = {
  denied: 'A person said no.',
  expired: 'Nobody answered in time.',
  used: 'The approval has already been used.',
};

/** Where the browser is now. */
function pageOf({ browser_state: state }: ToolsetResult): object {
  const tab = state?.tabs.find(({ active }) => active);
  return tab === undefined ? {} : { page: { url: tab.url, title: tab.title } };
}
