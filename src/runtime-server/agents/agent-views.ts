/**
 * Agents in their wire form: the registry's facts about each, with what waits for it, the node that it holds, and whether its state can be known
 * now. Must not know rows.
 */
import type { Agent } from '../../contracts/factory/agent.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import { type Member, showAgent } from './member.ts';
import type { Registry } from './registry.ts';

export interface AgentViews {
  /** Agents that exist: named by a file, or live. */
  agents(team?: string): Agent[];
  show(member: Member): Agent;
}

export function createAgentViews({
  registry,
  panes,
  computerId,
  queueDepth,
  workOf,
  limitsOf,
}: {
  readonly registry: Pick<Registry, 'members' | 'bot'>;
  readonly panes: Pick<PaneEngine, 'engine'>;
  readonly computerId: string;
  /** How many sends wait for the agent. */
  readonly queueDepth: (agentId: string) => number;
  /** The node that a bot holds now, by its address. */
  readonly workOf: (address: string) => Pick<Agent, 'currentNode' | 'proof'>;
  /** The limits of a live bot in a sandbox, and what it was refused. */
  readonly limitsOf: (agentId: string) => Pick<Agent, 'caps' | 'refused'>;
}): AgentViews {
  const show = (member: Member) =>
    showAgent(member, {
      stale: !panes.engine().running,
      computerId,
      queueDepth: queueDepth(member.id),
      away: registry.bot(member.id)?.away() ?? null,
      work: workOf(member.address),
      limits: member.live && member.spec?.sandbox !== undefined ? limitsOf(member.id) : {},
    });
  return { agents: (team) => registry.members(team).map(show), show };
}
