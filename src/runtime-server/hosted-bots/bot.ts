/**
 * A hosted bot: a model in Gantry's own loop, which the factory sees as one more {@link PlacedBot}. Owns its state, its gate, and one turn at a
 * time; must not know the loop, tools or wires, and has no pane.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { AloneBot, PlacedBot } from '../agents/placement.ts';
import type { BotState, DeliverResult, Gate, Interrupted, Outgoing } from '../harness/harness.ts';
import { type AloneEnd, type AloneOrder, runAlone } from './alone.ts';
import type { HostedDeps, Order } from './deps.ts';
import { createModelHold } from './model-hold.ts';
import { createShownState } from './shown-state.ts';
import { type HostedSpec, stricter } from './spec.ts';
import { type TurnRecord, turnOfDelivery } from './store.ts';
import { type NotTaken, type RunningTurn, startTurn, type TurnEvents, type TurnOutcome } from './turn.ts';

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

const onRun = 'on a run of a rule';
/** A stopped tool ends within a moment. */
const endsWithinMs = 8000;

export function createHostedBot(deps: HostedDeps, first: HostedSpec, last: TurnRecord | null): HostedBot {
  const { clock } = deps;
  const { agentId } = first;
  let spec = first;
  let turn: RunningTurn | null = null;
  /** A separate run. */
  let alone: { readonly abort: AbortController; readonly over: Promise<unknown> } | null = null;
  /** From the moment a message is accepted, before its turn exists. */
  let taking = false;
  let closed = false;
  const closing = new AbortController();
  const gateListeners = new Set<() => void>();
  const shown = createShownState(beginning(last), clock);
  const { show } = shown;
  const hold = createModelHold(deps, {
    agentId,
    spec: () => spec,
    isFree: () => turn === null && alone === null,
    show,
    openGate,
  });

  function openGate(): void {
    if (gate().open) for (const listener of gateListeners) listener();
  }

  function gate(): Gate {
    const shut = (why: string): Gate => ({ open: false, why, setup: false });
    if (closed) return shut('it is not running');
    const { state, reason } = shown.now();
    if (turn !== null || alone !== null || taking) return shut(reason === null ? state : `${state}: ${reason}`);
    const why = hold.why();
    if (why !== null) return shut(`${state}: ${why}`);
    return { open: true };
  }

  /** What a turn or a separate run reports while it runs. */
  const watch: Pick<TurnEvents, 'waiting' | 'asking'> = {
    waiting(wait) {
      if (wait === null) show('working', alone === null ? null : onRun, 'turn.goes-on');
      else show(wait.person ? 'needs_you' : 'blocked', wait.why, 'turn.waits');
    },
    asking(title) {
      if (title === null) show('working', alone === null ? null : onRun, 'turn.goes-on');
      else show('needs_you', `asks: ${title}`, 'turn.asks');
    },
  };

  async function begin(message: Outgoing): Promise<DeliverResult> {
    taking = true;
    try {
      const why = await hold.hindrance();
      if (why !== null) return { state: 'held', why };
      const found = deps.models.find(spec.model);
      if ('problem' in found) return { state: 'held', why: found.problem.fact };
      const order = await deps.store.read((tx) => deps.orderOf(tx, message.deliveryId));
      const record = await recordFor(message, order);
      return await run(message, record, order, found.target);
    } finally {
      taking = false;
      openGate();
    }
  }

  async function recordFor(message: Outgoing, order: Order | null): Promise<TurnRecord> {
    const { dagId = null, nodeId = null, threadId = null } = order ?? {};
    // A person may name a node with a message; only the engine hands one over.
    const handed = order?.caller === 'engine' && dagId !== null && nodeId !== null ? { dagId, nodeId } : null;
    const duty = handed === null ? null : await deps.nodes.duty(handed, spec.address);
    const id = deps.ids.next('run');
    const startedAt = clock.now();
    const deliveryId = message.deliveryId;
    return {
      id,
      agentId,
      deliveryId,
      threadId,
      dagId,
      nodeId,
      duty,
      status: 'asked',
      reason: null,
      startedAt,
      endedAt: null,
    };
  }

  async function run(
    message: Outgoing,
    record: TurnRecord,
    order: Order | null,
    target: Parameters<typeof startTurn>[1]['target'],
  ): Promise<DeliverResult> {
    let accept = () => {};
    const accepted = new Promise<'accepted'>((resolve) => {
      accept = () => resolve('accepted');
    });
    show('working', null, 'turn.begin');
    const mode = order === null ? spec.mode : stricter(spec.mode, deps.modeOf(order.caller));
    const text = message.raw ? message.text : `${message.senderLine}\n\n${message.text}`;
    const limits = { ...deps.models.limits, ...present(spec.limits) };
    const now = startTurn(deps, { record, text, spec, mode, target, limits }, { accepted: () => accept(), ...watch });
    turn = now;
    const ended = now.outcome.then(
      (outcome) => end(outcome),
      (error: unknown) => {
        turn = null;
        deps.log.warn(`A turn of ${spec.address} failed.`, { error: String(error) });
        show('failed', `Its turn failed: ${error instanceof Error ? error.message : String(error)}`, 'turn.broke');
        return null;
      },
    );
    const first = await Promise.race([accepted, ended]);
    if (first === 'accepted' || (first !== null && first.how !== 'not_taken')) {
      return { state: 'verified', evidence: 'model' };
    }
    if (first === null) return { state: 'failed', evidence: null, detail: shown.now().reason ?? 'its turn failed' };
    return notTaken(first.fault);
  }

  /** A message may have come between the check of the gate and the run. */
  function freed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (!gate().open && !closed && !signal.aborted) return;
        gateListeners.delete(look);
        signal.removeEventListener('abort', look);
        resolve();
      };
      gateListeners.add(look);
      signal.addEventListener('abort', look);
      look();
    });
  }

  async function byItself(order: AloneOrder): Promise<AloneEnd> {
    const failed = (error: string): AloneEnd => ({ status: 'failed', output: null, error, usage: null });
    await freed(AbortSignal.any([order.signal, closing.signal]));
    if (closed || order.signal.aborted)
      return { ...failed('The run was stopped before it started.'), status: 'cancelled' };
    const found = deps.models.find(spec.model);
    if ('problem' in found) return failed(`${found.problem.fact} ${found.problem.action}`);
    const abort = new AbortController();
    const over = runAlone(
      deps,
      {
        ...order,
        spec,
        target: found.target,
        mode: stricter(spec.mode, order.mode),
        limits: { ...deps.models.limits, ...present(spec.limits) },
        signal: AbortSignal.any([order.signal, abort.signal]),
      },
      watch,
    ).catch((error: unknown) => {
      deps.log.warn(`A run of ${spec.address} failed.`, { error: String(error) });
      return failed(`The run failed: ${error instanceof Error ? error.message : String(error)}`);
    });
    alone = { abort, over };
    show('working', onRun, 'run.begin');
    const end = await over;
    alone = null;
    if (!closed) show('idle', null, `run.${end.status}`);
    openGate();
    return end;
  }

  /** Whether a turn that was stopped ends while its stopping is waited for; a broken one has ended as well. */
  function within(over: Promise<unknown>): Promise<boolean> {
    return new Promise((resolve) => {
      const cancel = deps.timers.after(endsWithinMs, () => resolve(false));
      const done = () => {
        cancel();
        resolve(true);
      };
      over.then(done, done);
    });
  }

  function end(outcome: TurnOutcome): TurnOutcome {
    turn = null;
    if (closed) return outcome;
    switch (outcome.how) {
      case 'not_taken':
        return outcome;
      case 'done':
        hold.release();
        show('idle', null, 'turn.done');
        break;
      case 'refused':
        hold.release();
        show('idle', 'Its model declined the last message.', 'turn.refused');
        break;
      case 'stopped':
        show('idle', outcome.reason, 'turn.stopped');
        break;
      default:
        show('failed', outcome.reason, `turn.${outcome.how}`);
    }
    openGate();
    return outcome;
  }

  /** The message goes back into its queue, unless it is the message itself that cannot be taken. */
  function notTaken(fault: NotTaken): DeliverResult {
    const detail = fault.message;
    if (fault.kind === 'invalid') {
      show('failed', detail, 'model.invalid');
      return { state: 'failed', evidence: null, detail };
    }
    if (fault.kind === 'stopped') {
      show('idle', detail, 'turn.stopped');
      return closed ? { state: 'held', why: 'Gantry is stopping' } : { state: 'failed', evidence: null, detail };
    }
    return { state: 'held', why: hold.refused(fault) };
  }

  return {
    state: shown.now,
    onState: shown.onState,
    gate,
    onGate(listener) {
      gateListeners.add(listener);
      return () => gateListeners.delete(listener);
    },
    async deliver(message) {
      const now = gate();
      return now.open ? begin(message) : { state: 'held', why: now.why };
    },
    async resume(message) {
      const before = await deps.store.read((tx) => turnOfDelivery(tx, message.deliveryId));
      // What the model had already received is not sent again; what it had not counts as never said.
      if (before !== null)
        return { state: 'verified', evidence: 'model', detail: 'Gantry stopped while the model was working on it' };
      const now = gate();
      return now.open ? begin(message) : { state: 'held', why: now.why };
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
      run: byItself,
    },
    explain: () => ({
      harness: 'hosted',
      ruleset: spec.model,
      steps: shown.steps(),
      bottom: [],
      approvals: turn?.approvals() ?? [],
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
      const held = turn;
      if (held === null) {
        if (alone === null || node !== undefined) return none;
        alone.abort.abort();
        return { ended: await within(alone.over), keys: [] };
      }
      if (node !== undefined && (held.record.dagId !== node.dagId || held.record.nodeId !== node.nodeId)) return none;
      held.stop(why);
      return { ended: await within(held.outcome), keys: [] };
    },
    async abandon() {
      closed = true;
      closing.abort();
      hold.stop();
      const held = turn;
      held?.abandon();
      alone?.abort.abort();
      await held?.outcome.catch(() => {});
      await alone?.over;
    },
    close() {
      closed = true;
      closing.abort();
      hold.stop();
      turn?.stop('It was stopped.');
      alone?.abort.abort();
      shown.close();
      gateListeners.clear();
    },
  };
}

function beginning(last: TurnRecord | null): Omit<BotState, 'since'> {
  if (last?.status !== 'interrupted') return { state: 'idle', reason: null };
  return { state: 'idle', reason: `interrupted: ${last.reason ?? 'Gantry stopped during a turn.'}` };
}

function present<T extends object>(given: T): { [K in keyof T]-?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]-?: NonNullable<T[K]>;
  };
}
