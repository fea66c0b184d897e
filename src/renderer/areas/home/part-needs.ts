/** What needs the person in the parts of Gantry beside its bots: services, numbers, computers, spending, schedules, links. */
import { useQueries, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { CalendarClock } from 'lucide-react';
import { useMemo } from 'react';
import { useFloors } from '../../app/floors.tsx';
import { useLink, useServices } from '../../app/services.tsx';
import { useHasPhone } from '../../app/use-home-cloud.ts';
import { computerUseQueriesOf } from '../../data/computer-use-queries.ts';
import { createHandsApi } from '../../data/hands-api.ts';
import { createPhoneApi } from '../../data/phone-api.ts';
import { phoneQueriesOf } from '../../data/phone-queries.ts';
import { describeProblem } from '../../data/problem.ts';
import { numberStatus } from '../../ui/phone-status.ts';
import { connectionStatus, hostedStatus, type StatusLook, serverStatus } from '../../ui/status.tsx';
import { numberWords } from '../phone/phone-words.ts';
import { type Need, needLook, troubleLook } from './need.ts';

/** Parts that tell of nothing by themselves are read this often while Home is in front, ms. */
const readEvery = 15_000;
const gently = {
  refetchInterval: ({ state: { error } }: { state: { error: unknown } }) => (error === null ? readEvery : false),
} as const;

export function usePartNeeds(): Need[] {
  return [useServers(), useNumbers(), useHosted(), useBudget(), useDayLimits(), useSchedules(), useTrouble()].flat();
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
  const enabled = useHasPhone();
  const numbers = useQuery({ ...phone.numbers, ...gently, enabled }).data ?? [];
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
  const enabled = useQuery({ ...hands.hostedSettings, ...gently }).data?.hosted_driver_enabled === true;
  const computers = useQuery({ ...hands.hostedList, ...gently, enabled }).data ?? [];
  const running = computers.filter(({ status }) => status === 'running');
  const asked = useQueries({ queries: running.map(({ id }) => ({ ...hands.hostedApprovals(id), ...gently })) });
  const row = (id: string, name: string, more: Pick<Need, 'key' | 'since' | 'look' | 'wire' | 'text'>): Need => ({
    title: name,
    act: {
      word: 'Open it',
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
  const enabled = useQuery(queries.session).data?.mode === 'embedded';
  const pairing = useQuery({ ...queries.pairing, ...gently, enabled }).data;
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
      act: { word: 'See computers', run: computers },
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
      act: { word: 'Open its settings', run: computers },
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
        run: () => void navigate({ to: '/floor' }),
      },
    });
  }
  return needs;
}

/** What bots may spend a day, and did. */
function useDayLimits(): Need[] {
  const { queries } = useServices();
  const navigate = useNavigate();
  const limits = useQuery({ ...queries.spending, ...gently }).data?.limits ?? [];
  return limits
    .filter(({ reached }) => reached)
    .map(({ subject }) => ({
      key: `limit-${subject}`,
      since: null,
      look: { ...needLook, word: 'Limit reached' },
      wire: 'limit',
      title: subject === '*' ? 'All bots' : subject,
      text: 'What may be spent today is spent: who is meant waits until tomorrow, or for you',
      act: { word: 'See the limits', run: () => void navigate({ to: '/settings/usage' }) },
    }));
}

/** Times at which a template should have run and Gantry did not. */
function useSchedules(): Need[] {
  const { queries } = useServices();
  const navigate = useNavigate();
  const schedules = useQuery({ ...queries.schedules, ...gently }).data?.schedules ?? [];
  return schedules
    .filter(({ missed }) => missed > 0)
    .map(({ id, title, missed, last }) => ({
      key: id,
      since: last?.due ?? null,
      look: { ...needLook, word: 'Missed', icon: CalendarClock },
      wire: 'missed',
      title,
      text: `${missed} ${missed === 1 ? 'time was' : 'times were'} missed while Gantry did not run`,
      act: { word: 'See the schedule', run: () => void navigate({ href: '/work?schedules=1' }) },
    }));
}
