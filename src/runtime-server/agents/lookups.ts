/** Finds an agent by name, and the bots that may direct it. */
import type { Agent } from '../../contracts/factory/agent.ts';
import type { TeamFile } from '../../contracts/factory/team-file.ts';
import type { AgentViews } from './agent-views.ts';
import type { Registry } from './registry.ts';

/** By id, address, or a short name that only one bot has. */
export function namedAgent(registry: Registry, views: AgentViews, name: string): Agent | null {
  const named = registry.members().filter((member) => member.slug === name);
  const member = registry.find(name) ?? (named.length === 1 ? named[0] : undefined);
  return member === undefined ? null : views.show(member);
}

/** Whether a team file lets one of its bots direct another. */
export function directs(file: TeamFile | null, from: string, to: string): boolean {
  const edge = file?.edges?.some((one) => one.kind === 'directs' && one.from === from && one.to === to) ?? false;
  return edge || (file?.bots.some((bot) => bot.bot === to && bot.directed_by === from) ?? false);
}
