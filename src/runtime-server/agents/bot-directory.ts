/** The bots of all registries of this computer by id: queues and hooks name a bot so, also those that other computers brought. */
import { nameOf } from '../events/bot-events.ts';
import type { Member } from './member.ts';
import type { PlacedBot } from './placement.ts';
import type { Registry } from './registry.ts';

type Bots = Pick<Registry, 'find' | 'bot'>;

export interface BotDirectory {
  /** Returns the function that removes it. */
  add(registry: Bots): () => void;
  /** Only by agent id: two bots may have the same address, one of them brought by another computer. */
  find(agentId: string): Member | null;
  /** As its person calls it; null for an unknown one. */
  nameOf(agentId: string): string | null;
  /** The live bot of an agent, or null. */
  bot(agentId: string): PlacedBot | null;
}

export function createBotDirectory(): BotDirectory {
  const registries = new Set<Bots>();
  const of = (agentId: string): Bots | null => {
    for (const registry of registries) if (registry.find(agentId)?.id === agentId) return registry;
    return null;
  };
  const find = (agentId: string): Member | null => of(agentId)?.find(agentId) ?? null;
  return {
    add(registry) {
      registries.add(registry);
      return () => registries.delete(registry);
    },
    find,
    nameOf(agentId) {
      const member = find(agentId);
      return member === null ? null : nameOf(member);
    },
    bot: (agentId) => of(agentId)?.bot(agentId) ?? null,
  };
}
