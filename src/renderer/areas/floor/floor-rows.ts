/** Computers, their teams and bots as rows of one list, filtered. Must not know how a row looks. */
import type { Agent, InvalidTeam, Team } from '../../../contracts/factory/agent.ts';
import { type Floor, type Place, type PlacedBot, placedBot } from '../../base/data/places.ts';
import { isLive, isStartable } from '../../base/is-live.ts';

export type FloorRow =
  /** Only where there are several. */
  | { readonly kind: 'computer'; readonly key: string; readonly place: Place; readonly bots: number }
  | {
      readonly kind: 'team';
      readonly key: string;
      readonly team: Team;
      readonly place: Place;
      readonly live: number;
      /** How many of its bots can be started. */
      readonly startable: number;
    }
  | { readonly kind: 'bot'; readonly key: string; readonly bot: PlacedBot }
  | { readonly kind: 'invalid'; readonly key: string; readonly team: InvalidTeam; readonly place: Place }
  /** In place of teams: why no teams are shown. */
  | { readonly kind: 'none'; readonly key: string; readonly floor: Floor };

/** A bot matches by address, name, role, harness or state; a team's name, or the title of its run, shows all its bots. */
function matchesFilter(agent: Agent, filter: string, title = ''): boolean {
  if (filter === '') return true;
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const text = [agent.address, agent.name, agent.role ?? '', agent.binding.harness ?? '', agent.state, title]
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

export function floorRows(floors: readonly Floor[], filter: string): FloorRow[] {
  const places = floors.map((floor) => floor.place);
  return floors.flatMap((floor) => {
    const rows = rowsOf(floor, filter, places);
    if (floors.length === 1) return rows;
    const { place } = floor;
    if (rows.length === 0 && filter !== '') return [];
    const head: FloorRow = { kind: 'computer', key: `computer ${place.id}`, place, bots: floor.bots.length };
    return rows.length === 0 ? [head, { kind: 'none', key: `none ${place.id}`, floor }] : [head, ...rows];
  });
}

/** The list of bots is fresher than what the teams carry, so bots are taken from it by id. */
function rowsOf({ place, bots, teams, invalid }: Floor, filter: string, places: readonly Place[]): FloorRow[] {
  const away = new Set(places.filter((one) => one.away).map((one) => one.id));
  const fresh = new Map(bots.map((bot) => [bot.id, bot]));
  const rows: FloorRow[] = [];
  for (const team of teams) {
    const all = team.agents.map(
      (agent): PlacedBot => fresh.get(agent.id) ?? placedBot(agent, place, places, team.title ?? null),
    );
    const shown = all.filter((bot) => matchesFilter(bot, filter, team.title));
    if (shown.length === 0 && filter !== '' && !team.name.includes(filter.toLowerCase())) continue;
    const live = place.away ? 0 : all.filter((bot) => isLive(bot) && !away.has(bot.machine)).length;
    const startable = all.filter(isStartable).length;
    rows.push({ kind: 'team', key: `team ${place.id} ${team.name}`, team, place, live, startable });
    for (const bot of shown) rows.push({ kind: 'bot', key: `${place.id} ${bot.id}`, bot });
  }
  for (const team of invalid) {
    if (filter === '' || team.name.includes(filter.toLowerCase())) {
      rows.push({ kind: 'invalid', key: `invalid ${place.id} ${team.name}`, team, place });
    }
  }
  return rows;
}
