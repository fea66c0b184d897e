/** Which bots show their panes on a floor where nothing is open: those who need their person, then those at work, then the other live ones. Pure. */
import type { PlacedBot } from '../../base/data/places.ts';
import { isLive } from '../../base/is-live.ts';
import { needsPerson } from '../../base/needs-person.ts';

/** More beside each other are too small to read. */
const shownAtFirst = 4;

const rank = (bot: PlacedBot): number => (needsPerson(bot) ? 0 : bot.state === 'working' ? 1 : 2);

/** `team` null: those of all teams. */
export function firstPanes(bots: readonly PlacedBot[], team: string | null): readonly PlacedBot[] {
  return bots
    .filter((bot) => isLive(bot) && !bot.place.away && (team === null || bot.team === team))
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, shownAtFirst);
}
