/**
 * A hosted bot: a model in Gantry's own loop, which the factory sees as one more {@link PlacedBot}. Owns its state, its gate, and one turn at a
 * time; must not know the loop, tools or wires, and has no pane.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { AloneBot, PlacedBot } from '../agents/placement.ts';
import { createActivity } from '../harness/activity.ts';
import type { BotState, Gate, Interrupted } from '../harness/harness.ts';
import type { HostedDeps } from './deps.ts';
import { createModelHold } from './model-hold.ts';
import { createSeparateRuns, onJob } from './separate-runs.ts';
import { createShownState } from './shown-state.ts';
import type { HostedSpec } from './spec.ts';
import { type TurnRecord, turnOfDelivery } from './store.ts';
import type { TurnEvents } from './turn.ts';
import { createTurns, type Work } from './turns.ts';

/** Its place in the registry adds the rest of a {@link PlacedBot}. */
export interface HostedBot extends Omit<PlacedBot, 'placement' | 'ref' | 'away' | 'cancelWork' | 'stop'> {
  readonly alone: AloneBot;
  /** The team file has changed: holds from the next turn on. */
  update(spec: HostedSpec): void;
  /** `node`: only when it works on that one. */
  interrupt(why: string, node?: { dagId: string; nodeId: string }): Promise<Interrupted>;
  /** Abandons a turn as it is, to be found as interrupted. Resolves when none of its work runs any more. */
  abandon(): Promise<void>;
}

/** A stopped tool ends within a moment. */
const endsWithinMs = 8000;

export function createHostedBot(deps: HostedDeps, first: HostedSpec, last: TurnRecord | null): HostedBot {
  const { agentId } = first;
  let spec = first;
  const work: Work = { turn: null, alone: null, taking: false };
  const closing = new AbortController();
  const gateListeners = new Set<() => void>();
  const shown = createShownState(beginning(last), deps.clock);
  const { show } = shown;
  const activity = createActivity(deps.clock);
  const hold = createModelHold(deps, {
    agentId,
    spec: () => spec,
    isFree: () => work.turn === null && work.alone === null,
    show,
    openGate,
  });

  function openGate(): void {
    if (gate().open) for (const listener of gateListeners) listener();
  }

  function gate(): Gate {
    const shut = (why: string): Gate => ({ open: false, why, setup: false });
    if (closing.signal.aborted) return shut('it is not running');
    const { state, reason } = shown.now();
    if (work.turn !== null || work.alone !== null || work.taking)
      return shut(reason === null ? state : `${state}: ${reason}`);
    const why = hold.why();
    if (why !== null) return shut(`${state}: ${why}`);
    return { open: true };
  }

  /** What a turn or a separate run reports while it runs. */
  const watch: Omit<TurnEvents, 'accepted'> = {
    waiting(wait) {
      if (wait === null) show('working', work.alone === null ? null : onJob, 'turn.goes-on');
      else show(wait.person ? 'needs_you' : 'blocked', wait.why, 'turn.waits');
    },
    asking(title) {
      if (title === null) show('working', work.alone === null ? null : onJob, 'turn.goes-on');
      else show('needs_you', `asks: ${title}`, 'turn.asks');
    },
    acted(call) {
      if (call === null) activity.note('model');
      else activity.called(call.name, call.input);
    },
  };

  const parts = { spec: () => spec, work, shown, watch, openGate, closing: closing.signal };
  const turns = createTurns(deps, { ...parts, hold });
  const separate = createSeparateRuns(deps, { ...parts, gate, gateListeners });

  return {
    state: shown.now,
    activity: {
      ...activity,
      // A request of its model may take long, and has its own timeout.
      now: () => ({
        ...activity.now(),
        ...(work.turn?.isAsking() === true && { at: deps.clock.monotonic(), by: 'model' as const }),
      }),
    },
    onState: shown.onState,
    gate,
    onGate(listener) {
      gateListeners.add(listener);
      return () => gateListeners.delete(listener);
    },
    async deliver(message) {
      const now = gate();
      return now.open ? turns.begin(message) : { state: 'held', why: now.why };
    },
    async resume(message) {
      const before = await deps.store.read((tx) => turnOfDelivery(tx, message.deliveryId));
      // What the model had already received is not sent again; what it had not counts as never said.
      if (before !== null)
        return { state: 'verified', evidence: 'model', detail: 'Gantry stopped while the model was working on it' };
      const now = gate();
      return now.open ? turns.begin(message) : { state: 'held', why: now.why };
    },
    async input() {
      throw new AppError(
        'not_found',
        `${spec.address} is a hosted bot and has no terminal to type into.`,
        `Send it a message; \`gantry orchestration steer ${spec.address} interrupt\` ends its turn.`,
      );
    },
    alone: {
      async hindrance() {
        const now = gate();
        return now.open ? hold.hindrance() : now.why;
      },
      run: separate.run,
    },
    explain: () => ({
      harness: 'hosted',
      ruleset: spec.model,
      steps: shown.steps(),
      bottom: [],
      approvals: work.turn?.approvals() ?? [],
    }),
    update(next) {
      const changed = next.model !== spec.model || JSON.stringify(next.limits) !== JSON.stringify(spec.limits);
      spec = next;
      if (changed) hold.end('team.changed');
    },
    held: hold.held,
    unblock: () => hold.end('hold.let-go'),
    interruptKeys: () => [],
    async interrupt(why, node) {
      const none: Interrupted = { ended: false, keys: [] };
      const { turn, alone } = work;
      if (turn === null) {
        if (alone === null || node !== undefined) return none;
        alone.abort.abort();
        return { ended: await within(deps.timers, alone.over), keys: [] };
      }
      if (node !== undefined && (turn.record.dagId !== node.dagId || turn.record.nodeId !== node.nodeId)) return none;
      turn.stop(why);
      return { ended: await within(deps.timers, turn.outcome), keys: [] };
    },
    async abandon() {
      closing.abort();
      hold.stop();
      const { turn, alone } = work;
      turn?.abandon();
      alone?.abort.abort();
      await turn?.outcome.catch(() => {});
      await alone?.over;
    },
    close() {
      closing.abort();
      hold.stop();
      work.turn?.stop('It was stopped.');
      work.alone?.abort.abort();
      shown.close();
      gateListeners.clear();
    },
  };
}

function beginning(last: TurnRecord | null): Omit<BotState, 'since'> {
  if (last?.status !== 'interrupted') return { state: 'idle', reason: null };
  return { state: 'idle', reason: `interrupted: ${last.reason ?? 'Gantry stopped during a turn.'}` };
}

/** Whether a turn that was stopped ends while its stopping is waited for; a broken one has ended as well. */
function within(timers: HostedDeps['timers'], over: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = timers.after(endsWithinMs, () => resolve(false));
    const done = () => {
      cancel();
      resolve(true);
    };
    over.then(done, done);
  });
}
