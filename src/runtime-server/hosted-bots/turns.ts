/**
 * Turns of a hosted bot: takes a message in if its model can be asked, starts one turn for it, and shows how it ended. Must not know the loop or separate
 * runs.
 */
import type { DeliverResult, Outgoing } from '../harness/harness.ts';
import type { HostedDeps, Order } from './deps.ts';
import type { createModelHold } from './model-hold.ts';
import type { createShownState } from './shown-state.ts';
import { type HostedSpec, stricter } from './spec.ts';
import type { TurnRecord } from './store.ts';
import { type NotTaken, type RunningTurn, startTurn, type TurnEvents, type TurnOutcome } from './turn.ts';

/** What a hosted bot is doing. One thing at a time. */
export interface Work {
  turn: RunningTurn | null;
  /** A separate run. */
  alone: { readonly abort: AbortController; readonly over: Promise<unknown> } | null;
  /** From the moment a message is accepted, before its turn exists. */
  taking: boolean;
}

/** What a turn or a separate run needs of its bot. */
export interface BotParts {
  /** As the team file has it now. */
  readonly spec: () => HostedSpec;
  readonly work: Work;
  readonly shown: ReturnType<typeof createShownState>;
  readonly watch: Omit<TurnEvents, 'accepted'>;
  readonly openGate: () => void;
  /** Aborted when the bot is no longer running. */
  readonly closing: AbortSignal;
}

export function createTurns(deps: HostedDeps, parts: BotParts & { readonly hold: ReturnType<typeof createModelHold> }) {
  const { work, shown, hold, watch, openGate, closing } = parts;
  const { show } = shown;

  async function begin(message: Outgoing): Promise<DeliverResult> {
    work.taking = true;
    try {
      const why = await hold.hindrance();
      if (why !== null) return { state: 'held', why };
      const found = deps.models.find(parts.spec().model);
      if ('problem' in found) return { state: 'held', why: found.problem.fact };
      const order = await deps.store.read((tx) => deps.orderOf(tx, message.deliveryId));
      const record = await recordFor(deps, parts.spec(), message, order);
      return await run(message, record, order, found.target);
    } finally {
      work.taking = false;
      openGate();
    }
  }

  async function run(
    message: Outgoing,
    record: TurnRecord,
    order: Order | null,
    target: Parameters<typeof startTurn>[1]['target'],
  ): Promise<DeliverResult> {
    const spec = parts.spec();
    let accept = () => {};
    const accepted = new Promise<'accepted'>((resolve) => {
      accept = () => resolve('accepted');
    });
    show('working', null, 'turn.begin');
    const mode = order === null ? spec.mode : stricter(spec.mode, deps.modeOf(order.caller));
    const text = message.raw ? message.text : `${message.senderLine}\n\n${message.text}`;
    const limits = { ...deps.models.limits, ...present(spec.limits) };
    const now = startTurn(deps, { record, text, spec, mode, target, limits }, { accepted: () => accept(), ...watch });
    work.turn = now;
    const ended = now.outcome.then(
      (outcome) => end(outcome),
      (error: unknown) => {
        work.turn = null;
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

  function end(outcome: TurnOutcome): TurnOutcome {
    work.turn = null;
    if (closing.aborted) return outcome;
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
      return closing.aborted
        ? { state: 'held', why: 'Gantry is stopping' }
        : { state: 'failed', evidence: null, detail };
    }
    return { state: 'held', why: hold.refused(fault) };
  }

  return { begin };
}

async function recordFor(
  { ids, nodes, clock }: Pick<HostedDeps, 'ids' | 'nodes' | 'clock'>,
  { agentId, address }: HostedSpec,
  message: Outgoing,
  order: Order | null,
): Promise<TurnRecord> {
  const { dagId = null, nodeId = null, threadId = null } = order ?? {};
  // A person may name a node with a message; only the engine hands one over.
  const handed = order?.caller === 'engine' && dagId !== null && nodeId !== null ? { dagId, nodeId } : null;
  const duty = handed === null ? null : await nodes.duty(handed, address);
  const id = ids.next('run');
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

export function present<T extends object>(given: T): { [K in keyof T]-?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]-?: NonNullable<T[K]>;
  };
}
