/**
 * Emits `thread.needs_user` once each time a bot begins to need its person. It waits a little after the state changed, so that it announces neither
 * a dialog that is answered at once nor one that becomes an approval, which announces itself. Must not know where events go.
 */

import type { Tx } from '../../kit/store/store.ts';
import type { Base } from '../base/base.ts';
import type { BotEvents } from '../events/bot-events.ts';
import type { Registry } from './registry.ts';
import { readAgents } from './store/agents.ts';

export interface Needs {
  /** Before bots are restored: events from before a restart are not repeated. */
  start(): Promise<void>;
  close(): void;
}

/** A hook's question becomes an approval within this time. */
const settledAfterMs = 2_000;
const maxReasonLength = 500;

export function createNeeds({
  registry,
  events,
  store,
  timers,
  log,
  asks,
}: Pick<Base, 'store' | 'timers' | 'log'> & {
  readonly registry: Pick<Registry, 'onState' | 'find'>;
  readonly events: BotEvents;
  /** Whether a question of this bot waits as an approval, or did since then: its state follows an answer a little later. */
  readonly asks: (tx: Tx, agentId: string, since: number) => boolean;
}): Needs {
  /** Bots that need a person, with the function that cancels a pending event. */
  const needing = new Map<string, () => void>();
  const told = () => {};

  const off = registry.onState(({ agentId, state }) => {
    // After a restart a bot is starting before it shows what it waits for.
    if (state === 'starting') return;
    if (state !== 'needs_you') {
      needing.get(agentId)?.();
      needing.delete(agentId);
    } else if (!needing.has(agentId)) {
      const tell = () => {
        needing.set(agentId, told);
        store
          .write((tx) => emit(tx, agentId))
          .catch((error: unknown) => {
            log.warn('A notification that a bot needs you could not be sent.', { agentId, error: String(error) });
          });
      };
      needing.set(agentId, timers.after(settledAfterMs, tell));
    }
  });

  function emit(tx: Tx, agentId: string): void {
    const member = registry.find(agentId);
    // The computer that runs the bot reports it: it knows which questions are approvals, also while this one is off.
    if (member === null || !member.placement.isLocal) return;
    if (member.shown.state !== 'needs_you' || asks(tx, agentId, member.shown.since)) return;
    const reason = (member.shown.reason ?? 'it waits for a person').slice(0, maxReasonLength);
    events.emit(tx, agentId, { type: 'thread.needs_user', id: `${agentId}:${member.shown.since}`, data: { reason } });
  }

  return {
    async start() {
      const known = await store.read((tx) => readAgents(tx));
      for (const { id, shown } of known) if (shown.state === 'needs_you') needing.set(id, told);
    },
    close() {
      off();
      for (const cancel of needing.values()) cancel();
    },
  };
}
