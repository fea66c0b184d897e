/**
 * What is found by typed words: on every linked computer its runs, steps, messages and events; from the lists that are small, templates,
 * tools, connectors, numbers and hosted computers. Must not know how it is shown.
 */
import { type UseQueryResult, useQueries, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import type { Found } from '../../contracts/factory/search-routes.ts';
import { createHandsApi } from '../areas/computers/api.ts';
import { computerUseQueriesOf } from '../areas/computers/queries.ts';
import { createConnectorApi } from '../areas/connectors/api.ts';
import { connectorQueriesOf } from '../areas/connectors/queries.ts';
import { createPhoneApi } from '../areas/phone/api.ts';
import { numberWords } from '../areas/phone/phone-words.ts';
import { phoneQueriesOf } from '../areas/phone/queries.ts';
import { createToolApi } from '../areas/tools/api.ts';
import { groupOf, toolQueriesOf } from '../areas/tools/queries.ts';
import type { Place } from '../base/data/places.ts';
import { usePlaces } from '../base/floors.tsx';
import { useServices } from '../base/services.tsx';
import { useHasPhone } from '../base/use-home-cloud.ts';

export const foundGroups = [
  'Runs',
  'Steps',
  'Messages',
  'Events',
  'Numbers',
  'Templates',
  'Tool servers',
  'Tools',
  'Connectors',
  'Hosted computers',
] as const;
export type FoundGroup = (typeof foundGroups)[number];

export interface FoundRow {
  readonly key: string;
  readonly group: FoundGroup;
  readonly title: string;
  readonly text: string;
  readonly at: string | null;
  readonly href: string;
}

export interface FoundState {
  readonly rows: readonly FoundRow[];
  /** Whether an answer is still to come. */
  readonly looking: boolean;
  /** What could not be looked through, in a sentence each. */
  readonly failed: readonly { readonly name: string; readonly error: unknown }[];
  /** False: there are older ones than were looked through. */
  readonly complete: boolean;
}

interface Answer {
  readonly found: readonly Found[];
  readonly complete: boolean;
}

/** After the last key, ms: not every letter is a question. */
const pause = 180;
/** A computer that does not answer holds nobody up, ms. */
const answerWithin = 8_000;
const shortest = 2;
/** Of one small list. */
const max = 6;

const groupOfKind: Readonly<Record<Found['kind'], FoundGroup>> = {
  run: 'Runs',
  step: 'Steps',
  message: 'Messages',
  event: 'Events',
};

function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pause);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** `+1 303`, `(303)` and `+1303` are the same digits. */
const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');

export function useFound(typed: string): FoundState {
  const services = useServices();
  const { connections } = services;
  const all = usePlaces();
  const places = useMemo(() => all.filter(({ away }) => !away), [all]);
  const text = typed.trim();
  const settled = useSettled(text);
  const asks = settled.length >= shortest;
  const answers = useQueries({
    queries: places.map((place) => ({
      queryKey: ['search', place.id, settled],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        connections
          .on(place.scope)
          .api.factory.search(
            { query: { q: settled } },
            { signal: AbortSignal.any([signal, AbortSignal.timeout(answerWithin)]) },
          ),
      enabled: asks,
      staleTime: 0,
      gcTime: 60_000,
    })),
    combine: together,
  });
  const small = useSmallLists(asks);
  const rows = useMemo(() => {
    const fits = fitsWords(settled);
    return [
      ...answers.data.flatMap((data, index) => rowsOf(data, places[index], places.length > 1)),
      ...small.flatMap((some) => some.filter(fits).slice(0, max)),
    ];
  }, [answers.data, places, small, settled]);
  if (!asks || text.length < shortest) return nothingFound;
  return {
    rows,
    looking: settled !== text || answers.fetching,
    failed: answers.errors.flatMap((error, index) =>
      error === null ? [] : [{ name: places[index]?.name ?? '', error }],
    ),
    complete: answers.data.every((data) => data?.complete !== false),
  };
}

/** The same object, and below the same rows as long as nothing else is found, so that the palette puts them in order once a key. */
const nothingFound: FoundState = { rows: [], looking: false, failed: [], complete: true };

const together = (answers: readonly UseQueryResult<Answer>[]) => ({
  data: answers.map(({ data }) => data),
  errors: answers.map(({ error }) => error),
  fetching: answers.some(({ isFetching }) => isFetching),
});

function rowsOf(data: Answer | undefined, place: Place | undefined, several: boolean): FoundRow[] {
  if (place === undefined) return [];
  return (data?.found ?? []).map((one) => ({
    key: `${place.id} ${one.kind} ${one.id}`,
    group: groupOfKind[one.kind],
    title: one.title,
    text: several ? [one.text, place.name].filter(Boolean).join(' · ') : one.text,
    at: one.at,
    href: place.scope === null ? one.url : `${one.url}&computer=${encodeURIComponent(place.scope)}`,
  }));
}

function fitsWords(typed: string): (row: FoundRow) => boolean {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const digits = digitsOf(typed);
  return ({ title, text, group }) => {
    const all = `${title} ${text}`.toLowerCase();
    if (words.every((word) => all.includes(word))) return true;
    return group === 'Numbers' && digits.length > 2 && digitsOf(title).includes(digits);
  };
}

/** Read when somebody looks for something; a list that is not there (no phone, no hosted computers) has nothing to find. */
function useSmallLists(enabled: boolean): readonly FoundRow[][] {
  const { api, computer, keys, queries } = useServices();
  const mine = useMemo(() => {
    const [here, home] = [api.wireOf(computer), api.home];
    const connectors = createConnectorApi(here, home);
    return {
      phone: phoneQueriesOf(createPhoneApi(home)),
      connectors: connectorQueriesOf({ ...connectors, factory: api.factory }, keys),
      hands: computerUseQueriesOf(createHandsApi(here, home), keys),
      tools: toolQueriesOf(createToolApi(here), keys),
    };
  }, [api, computer, keys]);
  const once = { enabled, refetchInterval: false } as const;
  const hasPhone = useHasPhone() === true;
  const numbers = useQuery({ ...mine.phone.numbers, ...once, enabled: enabled && hasPhone }).data;
  const templates = useQuery({ ...queries.templates, ...once }).data?.templates;
  const servers = useQuery({ ...mine.tools.toolServers, ...once }).data;
  const tools = useQuery({ ...mine.tools.tools, ...once }).data;
  const connectors = useQuery({ ...mine.connectors.connectors, ...once }).data;
  const hasHosted = useQuery({ ...mine.hands.hostedSettings, ...once }).data?.hosted_driver_enabled === true;
  const hosted = useQuery({ ...mine.hands.hostedList, ...once, enabled: enabled && hasHosted }).data;
  return useMemo(() => {
    const row = (
      group: FoundGroup,
      id: string,
      title: string,
      text: string,
      path: string,
      named: object,
    ): FoundRow => ({
      key: `${group} ${id}`,
      group,
      title,
      text,
      at: null,
      href: `${path}?${new URLSearchParams({ ...named, ...(computer === null ? {} : { computer }) })}`,
    });
    const lists = [
      numbers?.map((one) =>
        row('Numbers', one.id, numberWords(one.e164), one.locality ?? '', '/phone', { number: one.id }),
      ),
      templates?.map((one) => row('Templates', one.id, one.name, one.description, '/work', { start: one.id })),
      servers?.map((one) => row('Tool servers', one.id, one.name, one.status, '/tools', { server: one.name })),
      tools?.map((one) =>
        row('Tools', one.name, one.name, one.description ?? '', '/tools', { server: groupOf(one), tool: one.name }),
      ),
      connectors?.map((one) => row('Connectors', one.id, one.name, '', '/connectors', { connector: one.id })),
      hosted?.map((one) => row('Hosted computers', one.id, one.name, one.status, '/computers', { hosted: one.id })),
    ];
    return lists.filter((list) => list !== undefined);
  }, [numbers, templates, servers, tools, connectors, hosted, computer]);
}
