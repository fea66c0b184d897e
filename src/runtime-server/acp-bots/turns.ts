/**
 * Turns of a bot over ACP: one at a time, from a message that is handed to it to the state that is shown after. Must not know how its agent is started.
 */
import type { DeliverResult, Interrupted, Outgoing } from '../harness/harness.ts';
import { resetTime } from '../harness/reset-time.ts';
import type { UsageLimit } from '../harness/usage.ts';
import { composePrompt } from '../harness/wording.ts';
import type { createShownState } from '../hosted-bots/shown-state.ts';
import type { AgentLife } from './agent-life.ts';
import type { Recorder } from './conversation.ts';
import type { AcpDeps } from './deps.ts';
import type { createPermissions } from './permissions.ts';
import type { TurnRecord } from './store.ts';
import { type RunningTurn, startTurn, type TurnOutcome } from './turn.ts';

/** An agent that was asked to cancel ends its turn in this time, or is ended. */
const cancelMs = 8000;

export function createTurns(
  deps: AcpDeps,
  bot: {
    readonly agentId: string;
    /** What a new session is told first; null: nothing. */
    readonly culture: () => string | null;
    readonly life: AgentLife;
    readonly recorder: Recorder;
    readonly permissions: ReturnType<typeof createPermissions>;
    readonly shown: ReturnType<typeof createShownState>;
    readonly closing: AbortSignal;
    readonly openGate: () => void;
  },
) {
  const { store, clock } = deps;
  const { agentId, life, recorder, permissions, closing } = bot;
  const { show } = bot.shown;
  let turn: RunningTurn | null = null;
  let isTaking = false;
  let limit: UsageLimit | null = null;

  async function begin(message: Outgoing): Promise<DeliverResult> {
    const link = life.link();
    if (link === null) return { state: 'held', why: 'it is not running' };
    isTaking = true;
    permissions.newTurn();
    try {
      const { deliveryId } = message;
      const threadId = await store.read((tx) => deps.threadOf(tx, deliveryId));
      const culture = bot.culture();
      const told = life.isUntold() && culture !== null ? [`How this team works:\n\n${culture}`] : [];
      const place = { id: deps.ids.next('run'), agentId, deliveryId, threadId };
      const record: TurnRecord = { ...place, status: 'asked', reason: null, startedAt: clock.now() };
      show('working', null, 'acp.turn');
      const texts = [...told, composePrompt(message)];
      turn = await startTurn(deps, { record, texts, link, recorder, closing });
      const over = turn.outcome.then(finish);
      const begun = await Promise.race([turn.taken.then(() => null), over]);
      return resultOf(begun, closing.aborted);
    } finally {
      isTaking = false;
      bot.openGate();
    }
  }

  function finish(outcome: TurnOutcome): TurnOutcome {
    turn = null;
    if (closing.aborted) return outcome;
    const { how, reason } = outcome;
    // Otherwise its end, or its start, is shown.
    if (life.link() !== null) {
      const until = reason === null || how !== 'failed' ? null : resetTime(reason, clock.now(), zone());
      limit = reason === null || until === null ? null : { reason, until };
      if (limit !== null) show('blocked', reason, 'acp.limit');
      else show(how === 'failed' ? 'failed' : 'idle', reason, `acp.${how}`);
    }
    bot.openGate();
    return outcome;
  }

  return {
    begin,
    /** A turn runs, or a limit holds it. */
    isBusy: () => turn !== null || isTaking || limit !== null,
    isRunning: () => turn !== null,
    /** The agent reported something. */
    heard: () => turn?.heard(),
    stop: (why: string) => turn?.stop(why),
    limit: () => limit,
    unblock(): void {
      limit = null;
      if (bot.shown.now().state === 'blocked') show('idle', null, 'acp.let-go');
      bot.openGate();
    },
    async interrupt(why: string): Promise<Interrupted> {
      const now = turn;
      if (now === null) return { ended: false, keys: [] };
      now.stop(why);
      permissions.cutAll();
      life.link()?.cancel();
      if (await within(deps.timers, now.outcome)) return { ended: true, keys: [] };
      recorder.note(`The agent did not cancel in ${cancelMs / 1000} s, so it was ended. It is started again.`);
      await life.endProcess();
      return { ended: await within(deps.timers, now.outcome), keys: [] };
    },
  };
}

function resultOf(outcome: TurnOutcome | null, isClosing: boolean): DeliverResult {
  if (outcome === null || outcome.isAnswered) {
    if (outcome?.how === 'failed')
      return { state: 'failed', evidence: null, detail: outcome.reason ?? 'the agent refused it' };
    return { state: 'verified', evidence: 'acp' };
  }
  const why = isClosing ? 'Gantry stopped' : (outcome.reason ?? 'the agent ended');
  return { state: 'unconfirmed', evidence: null, detail: `${why}, before the agent showed that it had the message` };
}

const zone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Whether it is over while its end is waited for. */
function within(timers: AcpDeps['timers'], over: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = timers.after(cancelMs, () => resolve(false));
    void over.then(() => {
      cancel();
      resolve(true);
    });
  });
}
