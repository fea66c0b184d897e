/** Which bots can answer what people text, and where an answer is missing. Pure. */
import type { PhoneNumber } from '../../../contracts/phone/number.ts';
import type { Conversation } from '../../../contracts/phone/texts.ts';
import type { Floor, PlacedBot } from '../../base/data/places.ts';

/** A bot that works on an answer has had its time, ms. */
const answerTime = 5 * 60_000;

/** Why texts stay without an answer at this bot; null: it can answer, or what it runs is not known. */
export function whyMute({ binding: { type, harness } }: Pick<PlacedBot, 'binding'>): string | null {
  if (type === 'hosted') return null;
  if (type === 'vendor') return 'takes tickets, not texts';
  if (harness === 'shell') return 'is a plain shell';
  return harness === 'custom' ? 'runs a custom program that reads no texts' : null;
}

/** What the picker of bots says about those it leaves out; null: it leaves out none. */
export function leftOutWords(
  bots: readonly Pick<PlacedBot, 'binding'>[],
  nameOf: (at: number) => string,
): string | null {
  const left = bots.flatMap((bot, at) => {
    const why = whyMute(bot);
    return why === null ? [] : [`${nameOf(at)} ${why}`];
  });
  if (left.length === 0) return null;
  const max = 3;
  const rest = left.length - max;
  const named = rest > 0 ? [...left.slice(0, max), `${rest} more cannot either`] : left;
  return `Not offered, because they cannot answer: ${named.join('; ')}.`;
}

/** Why nobody answers at this number; null: its bot can, or it is not known now. `complete`: what is not on the floors is gone. */
export function whyNobodyAnswers(
  { botId, runtimeId }: Pick<PhoneNumber, 'botId' | 'runtimeId'>,
  { floors, bots, complete }: { floors: readonly Floor[]; bots: readonly PlacedBot[]; complete: boolean },
): string | null {
  const bot = bots.find(({ id }) => id === botId);
  if (bot !== undefined) {
    const why = whyMute(bot);
    return why === null ? null : `${bot.name} cannot answer: it ${why}. Move the number to a bot that can.`;
  }
  const floor = floors.find(({ place }) => place.id === runtimeId);
  const gone = floor === undefined ? complete : floor.known && !floor.place.away && floor.error === null;
  return gone ? 'The bot of this number is gone, so nobody answers. Move the number to another bot.' : null;
}

/** Words that the service answers itself ask for no answer, and who said STOP gets none. */
export function isUnanswered({ last, optedOut }: Pick<Conversation, 'last' | 'optedOut'>, now: number): boolean {
  return last.direction === 'in' && last.status !== 'kept_back' && !optedOut && now - Date.parse(last.at) >= answerTime;
}
