/** The few facts that harnesses keep over a restart, in the agents' rows. Read from memory at once, written in the background. */
import type { Store } from '../../kit/store/store.ts';
import type { Log } from '../base/base.ts';
import type { BotMemory } from '../harness/harness.ts';
import { readMemories, saveMemory } from './store/agents.ts';

export async function createBotMemory(store: Store, log: Log): Promise<BotMemory> {
  const memories = await store.read((tx) => readMemories(tx));
  return {
    recall: (agentId) => memories.get(agentId) ?? null,
    remember(agentId, facts) {
      memories.set(agentId, facts);
      store
        .write((tx) => saveMemory(tx, agentId, facts))
        .catch((error: unknown) =>
          log.warn('The memory of a bot could not be saved.', { agentId, error: String(error) }),
        );
    },
  };
}
