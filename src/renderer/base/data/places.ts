/** A person's computers and the bots on them, combined from the last reads. Pure; must not know how they are read or shown. */
import { byName } from '../../../contracts/common/by-name.ts';
import type { Agent, InvalidTeam, Team } from '../../../contracts/factory/agent.ts';
import type { Computer } from '../../../contracts/link/computers.ts';
import { localTimes } from '../../ui/local-times.ts';

export interface Place {
  /** Id of the computer. */
  readonly id: string;
  readonly name: string;
  /** What requests name it by; null for the one that answers when none is named. */
  readonly scope: string | null;
  /** It cannot be reached: what is known of it is from before. */
  readonly away: boolean;
  /** Since when it is linked or away; null where nobody says. */
  readonly since: string | null;
}

/** A bot with where it is read from. */
export interface PlacedBot extends Agent {
  readonly place: Place;
  /** Name of the computer it runs on, which may be another one than the one its team belongs to. */
  readonly computerName: string;
  /** Title of the run from a prompt that its team was made for; null: its team is one of the workspace. */
  readonly teamTitle: string | null;
}

interface Placing {
  readonly place: Place;
  readonly places: readonly Place[];
  readonly teamTitle: string | null;
  readonly bot: PlacedBot;
}
const placings = new WeakMap<Agent, Placing>();

/** Its reason with times as the person's clock shows them. The same object for the same arguments, so that nothing is drawn again for it. */
export function placedBot(
  agent: Agent,
  place: Place,
  places: readonly Place[],
  teamTitle: string | null = null,
): PlacedBot {
  const before = placings.get(agent);
  if (before?.place === place && before.places === places && before.teamTitle === teamTitle) return before.bot;
  const bot = { ...putTogether(agent, place, places), teamTitle };
  placings.set(agent, { place, places, teamTitle, bot });
  return bot;
}

function putTogether(agent: Agent, place: Place, places: readonly Place[]): Omit<PlacedBot, 'teamTitle'> {
  const { runner, machine, stateReason } = agent;
  const runsOn = runner === 'local' || machine === place.id ? place : places.find((one) => one.id === machine);
  const computerName = runsOn?.name ?? 'another computer';
  return { ...agent, stateReason: stateReason === null ? null : localTimes(stateReason), place, computerName };
}

export interface Floor {
  readonly place: Place;
  readonly bots: readonly PlacedBot[];
  readonly teams: readonly Team[];
  readonly invalid: readonly InvalidTeam[];
  /** Whether its lists were read at all, now or earlier. */
  readonly known: boolean;
  /** Why they could not be read now; null while they could, or while the computer is away. */
  readonly error: unknown;
}

/** The computer behind requests that name none: the one of this program, else the default of the cloud. */
export function homeOf(
  own: { readonly id: string; readonly name: string } | null,
  computers: readonly Computer[],
): string | null {
  return own?.id ?? computers.find((one) => one.default)?.id ?? null;
}

/**
 * One place a computer, the one that needs no name first, then by name. Before the list of computers is there, or where nobody
 * keeps one, this program's own computer is all that is known.
 */
export function placesOf(
  own: { readonly id: string; readonly name: string } | null,
  computers: readonly Computer[] | undefined,
): Place[] {
  const listed = computers ?? [];
  const home = homeOf(own, listed);
  const places = listed.map(
    (one): Place => ({
      id: one.id,
      name: one.name,
      scope: one.id === home ? null : one.id,
      // What runs in this very program is reached without any link.
      away: one.state === 'away' && one.id !== own?.id,
      since: one.since,
    }),
  );
  if (own !== null && !places.some((one) => one.id === own.id)) {
    places.push({ id: own.id, name: own.name, scope: null, away: false, since: null });
  }
  return places.sort((a, b) => Number(a.scope !== null) - Number(b.scope !== null) || byName(a.name, b.name));
}

interface Names {
  readonly byId: ReadonlyMap<string, PlacedBot>;
  /** How many bots have a name, how many a name within a title, and how many an address. */
  readonly names: ReadonlyMap<string, number>;
  readonly titled: ReadonlyMap<string, number>;
  readonly addresses: ReadonlyMap<string, number>;
}
const namesOf = new WeakMap<readonly PlacedBot[], Names>();

/** What a bot is called among all that are there: its name, with its team and where it runs as far as others share it. */
export function botName(bot: PlacedBot, bots: readonly PlacedBot[]): string {
  const known = namesOf.get(bots) ?? countNames(bots);
  const own = known.byId.get(bot.id);
  const others = (counts: ReadonlyMap<string, number>, of: (bot: PlacedBot) => string): number =>
    (counts.get(of(bot)) ?? 0) - (own !== undefined && of(own) === of(bot) ? 1 : 0);
  if (others(known.names, ({ name }) => name) === 0) return bot.name;
  // The name of such a team is Gantry's own, and says nothing to anybody.
  if (bot.teamTitle !== null && others(known.titled, withTitle) === 0) return withTitle(bot);
  if (others(known.addresses, ({ address }) => address) === 0) return bot.address;
  return `${bot.address} on ${bot.computerName}`;
}

function countNames(bots: readonly PlacedBot[]): Names {
  const names = {
    byId: new Map(bots.map((bot) => [bot.id, bot])),
    names: countsOf(bots.map(({ name }) => name)),
    titled: countsOf(bots.map(withTitle)),
    addresses: countsOf(bots.map(({ address }) => address)),
  };
  namesOf.set(bots, names);
  return names;
}

const withTitle = ({ name, teamTitle }: PlacedBot): string => `${name} · ${teamTitle ?? ''}`;

function countsOf(texts: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

/**
 * All bots, each once: one that was started on another computer stands with the team it belongs to, and is left out where that
 * computer lists it as its guest.
 */
export function botsOf(floors: readonly Floor[]): PlacedBot[] {
  const seen = new Set<string>();
  const bots: PlacedBot[] = [];
  for (const bot of floors.flatMap((floor) => floor.bots)) {
    if (seen.has(bot.id)) continue;
    seen.add(bot.id);
    bots.push(bot);
  }
  return bots;
}
