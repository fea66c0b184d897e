/** What sandboxed bots were refused since this runtime began, counted by bot, destination and reason. Must not know who refused it. */
import type { Agent } from '../../contracts/factory/agent.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';

type Refusal = NonNullable<Agent['refused']>[number];

interface Refusals {
  /** `destination` null: it cannot be known. */
  count(agentId: string, destination: string | null, reason: string, why: string): void;
  /** The newest first. */
  of(agentId: string): readonly Refusal[];
}

/** Of one bot; its program may name any number of destinations. */
const maxKept = 10;

export function createRefusals(clock: Pick<Clock, 'now'>): Refusals {
  const byBot = new Map<string, Map<string, Refusal>>();
  return {
    count(agentId, destination, reason, why) {
      const kept = byBot.get(agentId) ?? new Map<string, Refusal>();
      byBot.set(agentId, kept);
      const key = `${destination} ${reason}`;
      const times = (kept.get(key)?.times ?? 0) + 1;
      // The order of the map is that of the last refusals.
      kept.delete(key);
      if (kept.size >= maxKept) kept.delete(kept.keys().next().value!);
      kept.set(key, { destination, why, times, last: iso(clock.now()) });
    },
    of: (agentId) => [...(byBot.get(agentId)?.values() ?? [])].reverse(),
  };
}
