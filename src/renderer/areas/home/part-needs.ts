/** Needs from parts of Gantry other than bots: services, numbers, computers, spending, schedules, links. */
import { useQueries, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useFloors } from '../../base/floors.tsx';
import { useLink, useServices } from '../../base/services.tsx';
import { useHasPhone } from '../../base/use-home-cloud.ts';
import { createHandsApi } from '../computers/api.ts';
import { computerUseQueriesOf } from '../computers/queries.ts';
import { createPhoneApi } from '../phone/api.ts';
import { phoneQueriesOf } from '../phone/queries.ts';
import { createToolApi } from '../tools/api.ts';
import { toolQueriesOf } from '../tools/queries.ts';
import type { Need } from './need.ts';
import {
  budgetNeeds,
  engineNeeds,
  hostedNeeds,
  limitNeeds,
  linkNeeds,
  numberNeeds,
  pairingNeeds,
  scheduleNeeds,
  serverNeeds,
} from './part-rows.ts';
import { useLead } from './use-lead.ts';

/** Parts that tell of nothing by themselves are read this often while Home is in front, ms. */
const readEvery = 15_000;
const gently = {
  refetchInterval: ({ state: { error } }: { state: { error: unknown } }) => (error === null ? readEvery : false),
} as const;

export function usePartNeeds(): Need[] {
  return [useServers(), useNumbers(), useHosted(), useSpending(), useSchedules(), useTrouble()].flat();
}

function useServers(): Need[] {
  const { api, computer, keys } = useServices();
  const tools = useMemo(() => toolQueriesOf(createToolApi(api.wireOf(computer)), keys), [api, computer, keys]);
  return serverNeeds(useQuery({ ...tools.toolServers, ...gently }).data ?? [], computer, useLead());
}

function useNumbers(): Need[] {
  const { api } = useServices();
  const phone = useMemo(() => phoneQueriesOf(createPhoneApi(api.home)), [api]);
  const enabled = useHasPhone() === true;
  const numbers = useQuery({ ...phone.numbers, ...gently, enabled }).data ?? [];
  const registrations = useQueries({
    // One that texts already has none to correct.
    queries: numbers.map(({ id, registered, smsState }) => ({
      ...phone.registration(id, registered),
      enabled: smsState !== 'active',
    })),
  });
  return numberNeeds(
    numbers,
    registrations.map(({ data }) => data),
    useLead(),
  );
}

function useHosted(): Need[] {
  const { api, computer, keys } = useServices();
  const hands = useMemo(
    () => computerUseQueriesOf(createHandsApi(api.wireOf(computer), api.home), keys),
    [api, computer, keys],
  );
  const enabled = useQuery({ ...hands.hostedSettings, ...gently }).data?.hosted_driver_enabled === true;
  const computers = useQuery({ ...hands.hostedList, ...gently, enabled }).data ?? [];
  const asked = useQueries({
    queries: computers.map(({ id, status }) => ({
      ...hands.hostedApprovals(id),
      ...gently,
      enabled: status === 'running',
    })),
  });
  return hostedNeeds(
    computers,
    computers.map(({ status }, index) => (status === 'running' ? asked[index]?.data : undefined)),
    useLead(),
  );
}

function useSpending(): Need[] {
  const { queries } = useServices();
  const lead = useLead();
  const budget = useQuery({ ...queries.budget, ...gently }).data;
  const spent = useQuery({ ...queries.usage(null), ...gently }).data?.spentCents;
  const limits = useQuery({ ...queries.spending, ...gently }).data?.limits ?? [];
  return [...budgetNeeds(budget, spent, lead), ...limitNeeds(limits, lead)];
}

function useSchedules(): Need[] {
  const { queries } = useServices();
  return scheduleNeeds(useQuery({ ...queries.schedules, ...gently }).data?.schedules ?? [], useLead());
}

/** The engine of a computer, the link of this page, the home cloud. */
function useTrouble(): Need[] {
  const { queries } = useServices();
  const lead = useLead();
  const link = useLink();
  const floors = useFloors();
  const enabled = useQuery(queries.session).data?.mode === 'embedded';
  const pairing = useQuery({ ...queries.pairing, ...gently, enabled }).data;
  return [
    ...linkNeeds(link.kind === 'off' ? link.since : null, lead),
    ...pairingNeeds(pairing, lead),
    ...engineNeeds(floors, lead),
  ];
}
