/**
 * What needs the person now, from all parts of Gantry, as one list: what has waited longest first. Each says what it is and where it is
 * answered. What cannot be read (a part that is not set up here) needs nobody. Must not know how it is shown.
 */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { usePendingApprovals } from '../../app/approvals.ts';
import { useFloors } from '../../app/floors.tsx';
import { useServices } from '../../app/services.tsx';
import { useWaiting } from '../../app/use-waiting.ts';
import type { PlacedBot } from '../../data/places.ts';
import { useNow } from '../../ui/now.tsx';
import { agentStatus, approvalStatus, deliveryStatus, nodeStatus } from '../../ui/status.tsx';
import { useOpenBot } from '../factory/use-open-bot.ts';
import type { Need } from './need.ts';
import { usePartNeeds } from './part-needs.ts';

const day = 24 * 60 * 60_000;

/** `bots`: those that this page shows. */
export function useNeeds(bots: readonly PlacedBot[]): readonly Need[] {
  const lists = [useQuestions(), useBotNeeds(bots), useStepNeeds(), useLost(bots), usePartNeeds()];
  // What has no time of its own stands behind what waits since a moment.
  return lists.flat().sort((a, b) => (a.since ?? '~').localeCompare(b.since ?? '~'));
}

function useQuestions(): Need[] {
  const navigate = useNavigate();
  return usePendingApprovals().map((one) => ({
    key: one.id,
    since: one.requestedAt,
    look: approvalStatus(one, 0),
    wire: one.state,
    title: one.title,
    text: one.summary.split('\n', 1)[0] ?? '',
    code: true,
    act: { word: 'Answer', run: () => void navigate({ to: '/inbox' }) },
  }));
}

/** A bot whose question is in the inbox stands here once: as its question. */
function useBotNeeds(bots: readonly PlacedBot[]): Need[] {
  const open = useOpenBot('home');
  const asking = new Set(usePendingApprovals().map((one) => one.agentId));
  const several = useFloors().length > 1;
  return bots
    .filter((bot) => ['needs_you', 'blocked', 'failed'].includes(bot.state) && !asking.has(bot.id))
    .map((bot) => ({
      key: bot.id,
      since: bot.since,
      look: agentStatus[bot.state],
      wire: bot.state,
      title: several ? `${bot.address} on ${bot.computerName}` : bot.address,
      text: bot.stateReason ?? '',
      act: { word: 'Open its pane', run: () => open(bot) },
    }));
}

/** Steps that wait for a person and ask no question of their own. */
function useStepNeeds(): Need[] {
  const { queries } = useServices();
  const navigate = useNavigate();
  const { steps } = useWaiting();
  const campaigns = useQuery(queries.campaigns).data?.campaigns ?? [];
  if (steps === 0) return [];
  return campaigns
    .filter(({ needsYou }) => needsYou > 0)
    .map(({ id, title, needsYou }) => ({
      key: id,
      since: null,
      look: nodeStatus.needs_you,
      wire: 'needs_you',
      title,
      text: `${needsYou} ${needsYou === 1 ? 'step waits' : 'steps wait'} for you`,
      act: {
        word: 'Open the board',
        run: () => void navigate({ to: '/work', search: { campaign: id } }),
      },
    }));
}

/** What was sent to somebody last and did not arrive, or nobody saw arriving, within a day. */
function useLost(bots: readonly PlacedBot[]): Need[] {
  const { queries } = useServices();
  const navigate = useNavigate();
  const open = useOpenBot('home');
  const now = useNow();
  const deliveries = useQuery(queries.deliveries).data?.deliveries ?? [];
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
          word: bot === undefined ? 'Open the floor' : 'Open its pane',
          run: () => (bot === undefined ? void navigate({ to: '/floor' }) : open(bot)),
        },
      };
    });
}
