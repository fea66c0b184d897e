/** Teams and bots as rows of one list, filtered. Must not know how a row looks. */
import type { Agent, InvalidTeam, Team } from '../../../contracts/factory/agent.ts';
import { isLive } from '../../app/is-live.ts';

export type FloorRow =
  | { readonly kind: 'team'; readonly key: string; readonly team: Team; readonly live: number }
  | { readonly kind: 'bot'; readonly key: string; readonly agent: Agent }
  | { readonly kind: 'invalid'; readonly key: string; readonly team: InvalidTeam };

/** A bot matches by address, name, role, harness or state; a team's name shows all its bots. */
export function matchesFilter(agent: Agent, filter: string): boolean {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const text = [agent.address, agent.name, agent.role ?? '', agent.binding.harness ?? '', agent.state]
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

/** `agents` is fresher than what the teams carry, so bots are taken from it by id. */
export function floorRows(
  teams: readonly Team[],
  invalid: readonly InvalidTeam[],
  agents: readonly Agent[],
  filter: string,
): FloorRow[] {
  const fresh = new Map(agents.map((agent) => [agent.id, agent]));
  const rows: FloorRow[] = [];
  for (const team of teams) {
    const bots = team.agents.map((agent) => fresh.get(agent.id) ?? agent);
    const shown = bots.filter((agent) => matchesFilter(agent, filter));
    if (shown.length === 0 && filter !== '' && !team.name.includes(filter.toLowerCase())) continue;
    const live = bots.filter(isLive).length;
    rows.push({ kind: 'team', key: `team ${team.name}`, team: { ...team, agents: bots }, live });
    for (const agent of shown) rows.push({ kind: 'bot', key: agent.id, agent });
  }
  for (const team of invalid) {
    if (filter === '' || team.name.includes(filter.toLowerCase())) {
      rows.push({ kind: 'invalid', key: `invalid ${team.name}`, team });
    }
  }
  return rows;
}
