/**
 * What needs the person now, from all parts of Gantry, as one list: what has waited longest first. Each says what it is and where it is
 * answered. What cannot be read (a part that is not set up here) needs nobody. Must not know how it is shown.
 */
import { useQueries, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { usePendingApprovals } from '../../app/approvals.ts';
import { useFloors } from '../../app/floors.tsx';
import { useLink, useServices } from '../../app/services.tsx';
import { useWaiting } from '../../app/use-waiting.ts';
import { computerUseQueriesOf } from '../../data/computer-use-queries.ts';
import { createHandsApi } from '../../data/hands-api.ts';
import { createPhoneApi } from '../../data/phone-api.ts';
import { phoneQueriesOf } from '../../data/phone-queries.ts';
import type { PlacedBot } from '../../data/places.ts';
import { describeProblem } from '../../data/problem.ts';
import { useNow } from '../../ui/now.tsx';
import { numberStatus } from '../../ui/phone-status.ts';
import {
  agentStatus,
  approvalStatus,
  connectionStatus,
  deliveryStatus,
  hostedStatus,
  nodeStatus,
  type StatusLook,
  serverStatus,
} from '../../ui/status.tsx';
import { useOpenBot } from '../factory/use-open-bot.ts';
import { numberWords } from '../phone/phone-words.ts';
import { type Need, needLook, troubleLook } from './need.ts';

/** Parts that tell of nothing by themselves are read this often while Home is in front, ms. */
const readEvery = 15_000;
const day = 24 * 60 * 60_000;

const gently = {
  refetchInterval: ({ state: { error } }: { state: { error: unknown } }) => (error === null ? readEvery : false),
} as const;

/** `bots`: those that this page shows. */
export function useNeeds(bots: readonly PlacedBot[]): readonly Need[] {
  const lists = [useQuestions(), useBotNeeds(bots), useStepNeeds(), useLost(bots), useServers(), useNumbers()];
  const more = [useHosted(), useBudget(), useTrouble()];
  // What has no time of its own stands behind what waits since a moment.
  return [...lists, ...more].flat().sort((a, b) => (a.since ?? '~').localeCompare(b.since ?? '~'));
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
    act: { word: 'Answer', about: `Answer ${one.title}`, run: () => void navigate({ to: '/inbox' }) },
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
      act: { word: 'Open its pane', about: `Open the pane of ${bot.address}`, run: () => open(bot) },
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
        about: `Open the board of ${title}`,
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
          about: `Look at the message to ${one.to}`,
          run: () => (bot === undefined ? void navigate({ to: '/floor' }) : open(bot)),
        },
      };
    });
}

/** Tool servers, and the services of connectors, which are tool servers, too. */
function useServers(): Need[] {
  const { computer, queries } = useServices();
  const navigate = useNavigate();
  const servers = useQuery({ ...queries.toolServers, ...gently }).data ?? [];
  return servers
    .filter(({ status }) => status === 'needs_reauth' || status === 'error')
    .map(({ id, name, status, error, transport, updatedAt }) => ({
      key: id,
      since: updatedAt,
      look: serverStatus[status],
      wire: status,
      title: name,
      text: error ?? '',
      act: {
        word: status === 'needs_reauth' ? 'Sign in' : 'Open it',
        about: status === 'needs_reauth' ? `Sign in at ${name}` : `Open ${name}`,
        run: () =>
          void (transport.type === 'http'
            ? navigate({ to: '/connectors', search: { connector: id, ...on(computer) } })
            : navigate({ to: '/tools', search: { server: name, ...on(computer) } })),
      },
    }));
}

const on = (computer: string | null) => (computer === null ? {} : { computer });

function useNumbers(): Need[] {
  const { api } = useServices();
  const navigate = useNavigate();
  const phone = useMemo(() => phoneQueriesOf(createPhoneApi(api.wireOf(null))), [api]);
  const numbers = useQuery({ ...phone.numbers, ...gently }).data ?? [];
  const registrations = useQueries({
    // One that texts already has none to correct.
    queries: numbers.map(({ id, smsState }) => ({ ...phone.registration(id), enabled: smsState !== 'active' })),
  });
  return numbers.flatMap((one, index): Need[] => {
    const registration = registrations[index]?.data;
    const look = numberStatus(one, registration);
    if (look.tone !== 'need' && look.tone !== 'fail') return [];
    return [
      {
        key: one.id,
        since: one.createdAt,
        look,
        wire: one.smsState,
        title: numberWords(one.e164),
        text: one.problem ?? '',
        act: {
          word: registration === null ? 'Register it' : 'Correct it',
          about: `Open ${numberWords(one.e164)}`,
          run: () =>
            void navigate({
              to: '/phone',
              search: { number: one.id, show: one.port === null ? 'register' : undefined },
            }),
        },
      },
    ];
  });
}

/** Hosted computers whose calls wait for an answer, or that could not go on. */
function useHosted(): Need[] {
  const { api, computer, keys } = useServices();
  const navigate = useNavigate();
  const hands = useMemo(
    () => computerUseQueriesOf(createHandsApi(api.wireOf(computer), api.wireOf(null)), keys),
    [api, computer, keys],
  );
  const computers = useQuery({ ...hands.hostedList, ...gently }).data ?? [];
  const running = computers.filter(({ status }) => status === 'running');
  const asked = useQueries({ queries: running.map(({ id }) => ({ ...hands.hostedApprovals(id), ...gently })) });
  const row = (id: string, name: string, more: Pick<Need, 'key' | 'since' | 'look' | 'wire' | 'text'>): Need => ({
    title: name,
    act: {
      word: 'Open it',
      about: `Open ${name}`,
      run: () => void navigate({ to: '/computers', search: { hosted: id } }),
    },
    ...more,
  });
  return [
    ...running.flatMap(({ id, name }, index) =>
      (asked[index]?.data ?? []).map((one) =>
        row(id, name, { key: one.id, since: one.requested_at, look: needLook, wire: 'awaiting', text: one.words }),
      ),
    ),
    ...computers
      .filter(({ status }) => status === 'error')
      .map((one) =>
        row(one.id, one.name, {
          key: one.id,
          since: one.created_at,
          look: hostedStatus(one),
          wire: one.status,
          text: 'It could not be started or kept running.',
        }),
      ),
  ];
}

function useBudget(): Need[] {
  const { queries } = useServices();
  const navigate = useNavigate();
  const budget = useQuery({ ...queries.budget, ...gently }).data;
  const spent = useQuery({ ...queries.usage(null), ...gently }).data?.spentCents;
  if (budget?.budgetCents == null || spent === undefined) return [];
  const percent = Math.floor((100 * spent) / budget.budgetCents);
  if (percent < budget.alertPercent) return [];
  const reached = percent >= 100;
  const look: StatusLook = { ...needLook, word: reached ? 'Budget reached' : 'Budget nearly reached' };
  return [
    {
      key: 'budget',
      since: null,
      look,
      wire: 'budget',
      title: 'Spending of this month',
      text: `${percent} % of the budget is spent`,
      act: {
        word: 'See the spending',
        about: 'See the spending',
        run: () => void navigate({ to: '/settings/usage' }),
      },
    },
  ];
}

/** The engine of a computer, the link of this page, the home cloud. */
function useTrouble(): Need[] {
  const { queries } = useServices();
  const navigate = useNavigate();
  const link = useLink();
  const floors = useFloors();
  const own = useQuery(queries.session).data?.computer ?? null;
  const pairing = useQuery({ ...queries.pairing, ...gently, enabled: own !== null }).data;
  const computers = () => void navigate({ to: '/settings/computers' });
  const needs: Need[] = [];
  if (link.kind === 'off') {
    needs.push({
      key: 'link',
      since: new Date(link.since).toISOString(),
      look: connectionStatus.off,
      wire: link.kind,
      title: 'Gantry does not answer this page',
      text: 'What is shown is from before. The page goes on by itself once it answers.',
      act: { word: 'See computers', about: 'See computers', run: computers },
    });
  }
  if (pairing?.problem !== undefined) {
    needs.push({
      key: 'pairing',
      since: pairing.link?.since ?? null,
      look: troubleLook,
      wire: pairing.state,
      title: 'The link to the home cloud',
      text: pairing.problem,
      act: { word: 'Open its settings', about: 'Open the settings of computers', run: computers },
    });
  }
  for (const { place, error } of floors) {
    if (error === null || error === undefined) continue;
    needs.push({
      key: `engine-${place.id}`,
      since: place.since,
      look: troubleLook,
      wire: 'engine',
      title: place.name,
      text: describeProblem(error).fact,
      act: {
        word: 'Open the floor',
        about: `Open the floor of ${place.name}`,
        run: () => void navigate({ to: '/floor' }),
      },
    });
  }
  return needs;
}
