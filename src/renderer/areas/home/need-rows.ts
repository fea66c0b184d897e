/** Turns each kind of need into rows: what was read → what Home shows of it and where it leads. Must not know how it is read. */
import type { Approval } from '../../../contracts/approvals/approval.ts';
import type { Delivery } from '../../../contracts/factory/delivery.ts';
import type { PlacedBot } from '../../base/data/places.ts';
import { agentStatus, deliveryStatus, nodeStatus } from '../../ui/status.tsx';
import type { Lead, Need } from './need.ts';

const day = 24 * 60 * 60_000;

/** The longest waiting item comes first; items without a time come after all that have waited since a known one. */
export const inOrder = (needs: readonly Need[]): readonly Need[] =>
  needs.toSorted(
    (a, b) => Number(a.since === null) - Number(b.since === null) || (a.since ?? '').localeCompare(b.since ?? ''),
  );

/** A bot with a question stands on Home once: as its question. `several`: bots of more than one computer are shown. */
export const botNeeds = (
  bots: readonly PlacedBot[],
  approvals: readonly Pick<Approval, 'agentId'>[],
  several: boolean,
  open: (bot: PlacedBot) => void,
): Need[] =>
  bots
    .filter(({ id, state }) => bad.has(state) && !approvals.some(({ agentId }) => agentId === id))
    .map((bot) => ({
      key: bot.id,
      since: bot.since,
      look: agentStatus[bot.state],
      wire: bot.state,
      title: several ? `${bot.address} on ${bot.computerName}` : bot.address,
      text: bot.stateReason ?? '',
      act: { word: 'Open pane', run: () => open(bot) },
    }));
const bad: ReadonlySet<string> = new Set(['needs_you', 'blocked', 'failed']);

/** Steps that wait for a person and ask no question of their own. */
export const stepNeeds = (
  campaigns: readonly { readonly id: string; readonly title: string; readonly needsYou: number }[],
  lead: Lead,
): Need[] =>
  campaigns
    .filter(({ needsYou }) => needsYou > 0)
    .map(({ id, title, needsYou }) => ({
      key: id,
      since: null,
      look: nodeStatus.needs_you,
      wire: 'needs_you',
      title,
      text: `${needsYou} ${needsYou === 1 ? 'step waits' : 'steps wait'} for you`,
      act: { word: 'Open the board', run: () => lead({ to: '/work', search: { campaign: id } }) },
    }));

/** What was sent to somebody last and did not arrive, or nobody saw arriving, within a day. `deliveries`: the newest first. */
export function lostNeeds(
  deliveries: readonly Delivery[],
  bots: readonly PlacedBot[],
  now: number,
  lead: Lead,
  open: (bot: PlacedBot) => void,
): Need[] {
  const seen = new Set<string>();
  const last = deliveries.filter(({ to }) => !seen.has(to) && seen.add(to));
  return last
    .filter(({ state, at }) => (state === 'failed' || state === 'unconfirmed') && now - Date.parse(at) < day)
    .map((one) => {
      const bot = bots.find(({ address }) => address === one.to);
      return {
        key: one.id,
        since: one.at,
        look: deliveryStatus[one.state],
        wire: one.state,
        title: `Message to ${one.to}`,
        text: one.detail ?? '',
        act: {
          word: bot === undefined ? 'Open the floor' : 'Open pane',
          run: () => (bot === undefined ? lead({ to: '/floor' }) : open(bot)),
        },
      };
    });
}
