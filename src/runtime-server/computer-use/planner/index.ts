/**
 * The planner of `intent` and `assist`: asks a model, has its calls carried out, shows it their results, until the model is done. The loop is that
 * of hosted bots; runs and gate decide whether an action may happen, who is asked and what it costs. Must not know stores, HTTP or the gate.
 */
import type { Toolset } from '../../../contracts/computer-use/members.ts';
import type { TargetScope } from '../../../contracts/computer-use/run.ts';
import type { Target } from '../../models/endpoints.ts';
import type { Models } from '../../models/index.ts';
import type { TurnEnd, TurnHooks, TurnLimits } from '../../models/loop.ts';
import type { FaultKind, ToolCall } from '../../models/model.ts';
import { offerToolsets, type ToolsetOffer } from '../../models/toolsets/index.ts';
import type { PlannedCall, Planner, PlannerEnd, PlannerHooks } from '../runs/planner-port.ts';
import { carryOut } from './call.ts';
import { firstMessage, goOn, systemFor } from './instructions.ts';

const toolsetsOf: Readonly<Record<TargetScope, readonly Toolset[]>> = {
  auto: ['browser', 'computer'],
  browser: ['browser'],
  desktop: ['computer'],
};
/** Pictures of results that a model is still shown. */
const keepPictures = 3;
/** How long to wait for a service that accepts no more requests, milliseconds; the run has its own time limit. */
const limitPatienceMs = 10 * 60_000;
/** Runs count steps, time and cost: the loop does not. */
const unlimited: TurnLimits = {
  steps: Number.POSITIVE_INFINITY,
  tokens: Number.POSITIVE_INFINITY,
  minutes: 14 * 24 * 60,
  usd: null,
};
/** For a screen without any result yet. Pixels. */
const defaultFrame = { width: 1280, height: 800 };
/** Answers in a row without one action that could be carried out, nor words. */
const maxEmptyAnswers = 2;

const faultCodes: Readonly<Record<FaultKind, string>> = {
  key: 'model_key_refused',
  limit: 'model_rate_limited',
  overloaded: 'model_overloaded',
  unreachable: 'model_unreachable',
  cut: 'model_answer_cut',
  garbage: 'model_answer_unreadable',
  unknown_model: 'model_unknown',
  invalid: 'model_request_refused',
  stopped: 'model_stopped',
};

export function createPlanner({
  models,
  platform,
}: {
  readonly models: Pick<Models, 'findForComputer' | 'priced' | 'run' | 'maxOutputTokens'>;
  /** The platform of the computer that is used. */
  readonly platform: NodeJS.Platform;
}): Planner {
  return {
    find(model) {
      const found = models.findForComputer(model);
      return 'target' in found ? { model: found.name, priced: models.priced(found.target.model) } : found;
    },
    async run(order, hooks) {
      const found = models.findForComputer(order.model);
      if (!('target' in found)) {
        return fault('model_not_configured', `${found.problem.fact} ${found.problem.action}`);
      }
      const { target, form } = found;
      const offer = offerToolsets(form, target.wire, toolsetsOf[order.targetScope]);
      const empty = countEmptyAnswers();
      const end = await models.run(
        target,
        {
          system: systemFor(offer.wanted, order.mode),
          messages: [{ role: 'user', text: firstMessage(order) }],
          tools: offer.tools,
          toolsets: offer.native,
          keepPictures,
          limitPatienceMs,
          maxOutputTokens: models.maxOutputTokens,
          limits: unlimited,
          used: { steps: 0, tokens: 0, activeMs: 0, microUsd: 0 },
          signal: order.signal,
        },
        turnHooks(target, offer, empty, hooks, platform === 'darwin'),
      );
      if (end.how === 'stopped') throw order.signal.reason;
      if (end.how !== 'refused' && empty.tooMany()) {
        const fact = `The model ${target.model} answered ${maxEmptyAnswers} times in a row with nothing that could be carried out.`;
        return fault('model_answers_not_actions', [fact, empty.problem()].filter(Boolean).join(' '), end.text);
      }
      return endOf(end);
    },
  };
}

function turnHooks(
  target: Target,
  offer: ToolsetOffer,
  empty: EmptyAnswers,
  hooks: PlannerHooks,
  mac: boolean,
): TurnHooks {
  let frame = defaultFrame;
  const read = (call: ToolCall) => offer.read(call, { toolsets: offer.wanted, frame, mac });
  return {
    started() {},
    async step() {
      empty.close();
      return !empty.tooMany() && (await hooks.step());
    },
    async answered({ calls, text }, usage) {
      const count = calls.map(read).reduce((sum, one) => sum + ('problem' in one ? 0 : one.actions.length), 0);
      if (calls.length > 0) empty.open();
      await hooks.answered({ wire: target.wire, model: target.model, text, calls: count, usage });
      return null;
    },
    async call(call) {
      const perform = (planned: PlannedCall) => hooks.call(planned);
      const done = await carryOut({ showsScreen: offer.showsScreen, perform }, call, read(call));
      frame = done.frame ?? frame;
      if (done.wasAction) empty.action();
      else empty.notAction(done.result.text);
      return done.result;
    },
    async result() {},
    noCalls(why) {
      empty.notAction('');
      empty.open();
      empty.close();
      return empty.tooMany() ? null : goOn[why];
    },
    waiting() {},
    idleMs: () => 0,
  };
}

type EmptyAnswers = ReturnType<typeof countEmptyAnswers>;

/** An answer is open while its calls are carried out, and empty when none of them was an action. */
function countEmptyAnswers() {
  let inARow = 0;
  let isOpen = false;
  let acted = false;
  let problem = '';
  return {
    open() {
      isOpen = true;
      acted = false;
    },
    action() {
      acted = true;
    },
    notAction(why: string) {
      problem = why;
    },
    close() {
      if (!isOpen) return;
      isOpen = false;
      inARow = acted ? 0 : inARow + 1;
    },
    tooMany: () => inARow >= maxEmptyAnswers,
    problem: () => problem,
  };
}

const fault = (code: string, message: string, text = ''): PlannerEnd => ({
  how: 'fault',
  text,
  error: { code, message },
});

function endOf(end: TurnEnd): PlannerEnd {
  if (end.fault !== null) return fault(faultCodes[end.fault.kind], end.fault.message, end.text);
  return { how: end.how === 'done' || end.how === 'refused' ? end.how : 'limit', text: end.text, error: null };
}
