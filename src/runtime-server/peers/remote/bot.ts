/**
 * A bot on another computer, as the factory sees any bot: that computer reports its state, a message is a send there, keys go there. A repeated
 * request has one effect, because a delivery's id is its key. Must not know registry or rows.
 */

import { AppError } from '../../../contracts/common/errors.ts';
import { type PeerAgent, PeerSendFailure, PeerSendResult } from '../../../contracts/factory/peer-routes.ts';
import type { PlacedBot, RemoteRef } from '../../agents/placement.ts';
import type { Base } from '../../base/base.ts';
import type { BotState, DeliverResult, InterruptKeys, Outgoing } from '../../harness/harness.ts';
import { interruptTurn, isTurn } from '../../harness/interrupt.ts';
import { type PeerAnswer, type PeerCalls, peerFault } from './calls.ts';
import type { RemoteComputers } from './computers.ts';

/** Its place in the registry adds the rest of a {@link PlacedBot}. */
export interface RemoteBot extends Omit<PlacedBot, 'placement' | 'ref' | 'cancelWork'> {
  /** Ends it there. Succeeds when it is gone already; false where this computer can neither end it any more nor know whether it runs. */
  stop(): Promise<boolean>;
  /** Asks that computer for the current state. */
  look(): Promise<void>;
}

/** By then no picture from before its start is under way any more. */
const settleMs = 10_000;
const sameSinceMs = 5_000;
const senderForm = /^From ([a-z0-9_-]{1,64}@[a-z0-9_-]{1,64})$/;

type RemoteDeps = Pick<Base, 'clock' | 'timers'> & {
  readonly calls: PeerCalls;
  readonly computers: RemoteComputers;
  readonly address: string;
  /** As it was last seen. */
  readonly shown: BotState;
  readonly ref: RemoteRef;
  /** Its pane there is another one now. */
  readonly onSession: (session: string) => void;
  /** It does not run there any more. */
  readonly onGone: (reason: string) => void;
  /** The keys that end a turn of its harness. */
  readonly interrupt: InterruptKeys;
  /** Whether other computers can be reached at all. */
  readonly paired: () => boolean;
  /** A bot that was just started: earlier reports about it do not count. */
  readonly fresh: boolean;
};

export function createRemoteBot(deps: RemoteDeps): RemoteBot {
  const { calls, computers, clock, ref, address } = deps;
  const { computerId, computerName } = ref;
  const stateListeners = new Set<(state: BotState) => void>();
  const gateListeners = new Set<() => void>();
  let state: BotState = deps.fresh ? { state: 'starting', reason: null, since: clock.now() } : deps.shown;
  let session = ref.session;
  let known = !deps.fresh;
  const born = clock.monotonic();
  /** The message's current obstacle there: asked again when something changed there. */
  let waits: string | null = null;
  let away: string | null = computers.away(computerId);
  let closed = false;

  const tell = () => {
    for (const listener of [...stateListeners]) listener(state);
  };
  const openGate = () => {
    waits = null;
    for (const listener of [...gateListeners]) listener();
  };

  /** By this computer's clock: the other one may be wrong by hours. */
  const sinceWhen = ({ forMs, since }: PeerAgent): number => {
    if (forMs !== undefined) return clock.now() - forMs;
    return since === undefined ? state.since : Date.parse(since);
  };
  const take = (agents: readonly PeerAgent[]) => {
    if (closed) return;
    const now = agents.find((agent) => agent.address === address);
    const there = now?.live === true ? now.session : null;
    // Until it was seen, a picture from before its start may still be on its way.
    known ||= there === session || clock.monotonic() - born > settleMs;
    if (!known) return;
    if (now === undefined || there === null) {
      deps.onGone(now?.stateReason ?? `it no longer runs on ${computerName}`);
      return;
    }
    if (there !== session) {
      session = there;
      deps.onSession(session);
    }
    const next: BotState = {
      state: now.state ?? 'idle',
      reason: now.stale === true ? 'unclear' : (now.stateReason ?? null),
      since: sinceWhen(now),
    };
    const changed = next.state !== state.state || next.reason !== state.reason;
    // By how long it took to get here each report differs a little.
    const same = !changed && Math.abs(next.since - state.since) < sameSinceMs;
    state = same ? state : next;
    if (changed) tell();
    openGate();
  };
  const stopWatching = computers.watch(computerId, computerName, {
    onAgents: take,
    onAway(why) {
      away = why;
      tell();
      if (why === null) openGate();
    },
  });

  const ask = async (method: 'GET' | 'POST', path: string, body?: unknown): Promise<PeerAnswer> => {
    const answer = await calls.call(computerId, { method, path, ...(body === undefined ? {} : { body }) });
    if (answer.status === 200) return answer;
    throw peerFault(answer);
  };

  const onState = (listener: (state: BotState) => void) => {
    stateListeners.add(listener);
    return () => stateListeners.delete(listener);
  };

  const hold = (why: string): DeliverResult => {
    waits = why;
    return { state: 'held', why };
  };
  const deliver = (message: Outgoing) => sendThere(deps, message, hold);

  return {
    state: () => state,
    away: () => away,
    onState,
    gate() {
      const why = away ?? waits;
      return why === null ? { open: true } : { open: false, why, setup: false };
    },
    onGate(listener) {
      gateListeners.add(listener);
      return () => gateListeners.delete(listener);
    },
    deliver,
    resume: deliver,
    async input(input) {
      await ask('POST', 'input', { to: address, ...input });
    },
    interruptKeys: () => deps.interrupt.keys,
    async interrupt() {
      if (!isTurn(state.state)) return { ended: false, keys: [] };
      const { keys, apartMs = 0 } = deps.interrupt;
      const press = async () => {
        for (const [at, key] of keys.entries()) {
          if (at > 0) await new Promise<void>((resolve) => deps.timers.after(apartMs, resolve));
          if (!isTurn(state.state)) return;
          await ask('POST', 'input', { to: address, keys: [key] });
        }
      };
      return { ended: await interruptTurn(onState, () => state, deps.timers, press), keys };
    },
    explain: () => ({
      harness: ref.harness ?? 'none',
      ruleset: `judged on ${computerName}, where it runs`,
      steps: [],
      bottom: [],
      approvals: [],
    }),
    async stop() {
      if (!deps.paired()) return false;
      let answer: PeerAnswer;
      try {
        answer = await calls.call(computerId, { method: 'POST', path: 'stop', body: { to: address } });
      } catch (error) {
        // The computer is not one of this person's any more.
        if (error instanceof AppError && error.code === 'not_found') return false;
        throw error;
      }
      if (answer.status === 200) return true;
      const fault = peerFault(answer);
      if (fault.code !== 'not_found') throw fault;
      return true;
    },
    async look() {
      const team = address.slice(address.indexOf('@') + 1);
      const { body } = await ask('GET', `agents?team=${encodeURIComponent(team)}`);
      known = true;
      take((body as { agents?: PeerAgent[] } | null)?.agents ?? []);
    },
    close() {
      closed = true;
      stopWatching();
      stateListeners.clear();
      gateListeners.clear();
    },
  };
}

/** `hold`: that computer took it, and holds it back. */
async function sendThere(
  { calls, address, ref }: Pick<RemoteDeps, 'calls' | 'address' | 'ref'>,
  message: Outgoing,
  hold: (why: string) => DeliverResult,
): Promise<DeliverResult> {
  const { computerId, computerName } = ref;
  if (message.raw) {
    return {
      state: 'failed',
      evidence: null,
      detail: `raw text cannot be sent to another computer; type it into the pane`,
    };
  }
  const from = senderForm.exec(message.senderLine)?.[1];
  const body = {
    to: address,
    text: message.text,
    ...(message.mayQueue === false ? { queue: false } : {}),
    ...(from === undefined ? {} : { from }),
  };
  let answer: PeerAnswer;
  try {
    answer = await calls.call(computerId, {
      method: 'POST',
      path: 'send',
      body,
      idempotencyKey: message.deliveryId,
    });
  } catch (error) {
    // Whether it arrived there is not known. Where it may wait the same key asks again.
    const why = factOf(error);
    if (message.mayQueue !== false) return { state: 'held', why };
    return {
      state: 'unconfirmed',
      evidence: null,
      detail: `whether it reached ${computerName} is unknown: ${why}`,
    };
  }
  const sent = PeerSendResult.safeParse(answer.body);
  if (answer.status === 200 && sent.success) {
    const { state: became, reason } = sent.data;
    if (became === 'queued') return hold(`it waits on ${computerName}: ${reason ?? 'it is queued'}`);
    return {
      state: 'verified',
      evidence: sent.data.evidence ?? null,
      ...(reason === undefined ? {} : { detail: reason }),
    };
  }
  const fault = peerFault(answer);
  const ended = PeerSendFailure.safeParse(answer.body);
  if (ended.success) return { state: ended.data.state, evidence: null, detail: `on ${computerName}: ${fault.fact}` };
  if (fault.code === 'transport' || fault.status === 409) return hold(`on ${computerName}: ${fault.fact}`);
  return { state: 'failed', evidence: null, detail: `on ${computerName}: ${fault.fact}` };
}

function factOf(error: unknown): string {
  return error instanceof AppError ? error.fact : String(error);
}
