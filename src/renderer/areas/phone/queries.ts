/**
 * Reads of the phone: numbers, their ports and registrations, texts, calls, consents and opt-outs. The page's own stream does not report them, so the
 * pages that show them poll. Must not know how they are shown.
 */
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import { AppError } from '../../../contracts/common/errors.ts';
import type { Call } from '../../../contracts/phone/calls.ts';
import type { PhoneApi } from './api.ts';

/** Of one page of a list. */
const phonePage = 50;
/** While the page is in front, ms: where somebody watches, and where little happens. */
const liveEvery = 1_500;
const quietEvery = 4_000;
/** Each read of a port or of a registration that is under way asks the carrier. */
const carrierEvery = 3_000;
/** A list counts down its own next try after a failure. */
const every = (ms: number, error: unknown) => (error === null ? ms : false);

/** All begin with `phone`; those of a number with its id after that. */
export const phoneKeys = {
  all: ['phone'],
  numbers: ['phone', 'numbers'],
  of: (id: string, ...part: readonly unknown[]) => ['phone', 'number', id, ...part],
  own: ['phone', 'own'],
  botConfig: (botId: string) => ['phone', 'bot-config', botId],
  demo: ['phone', 'demo'],
} as const;

export const goesOn = ({ status }: Pick<Call, 'status'>): boolean => status !== 'ended';

/** The cloud's own word for an error, such as `phone_not_configured`. */
export const wireCodeOf = (error: unknown): string | null =>
  error instanceof AppError ? (error.options.wireCode ?? null) : null;

/** What is not there is an answer, too. */
async function orNull<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return null;
    throw error;
  }
}

export function phoneQueriesOf({ numbers, texts, calls, demo }: PhoneApi) {
  const page = (cursor: string | undefined) => ({ limit: phonePage, ...(cursor === undefined ? {} : { cursor }) });
  return {
    numbers: queryOptions({
      queryKey: phoneKeys.numbers,
      queryFn: async ({ signal }) => (await numbers.listPhoneNumbers({}, { signal })).numbers,
      staleTime: 0,
      refetchOnWindowFocus: true,
      refetchInterval: ({ state: { error } }) => every(quietEvery, error),
    }),
    /** Null: none was filed. `registered`: as its number says; where it is false nobody is asked for what is not there. */
    registration: (id: string, registered = true) =>
      queryOptions({
        queryKey: phoneKeys.of(id, 'registration'),
        queryFn: async ({ client, queryKey, signal }) => {
          // One that was just filed is known before its number says so.
          const known = client.getQueryData(queryKey) ?? null;
          if (!registered && known === null) return null;
          return orNull(numbers.getPhoneRegistration({ params: { id } }, { signal }));
        },
        staleTime: carrierEvery,
        refetchInterval: ({ state: { data, error } }) =>
          data?.state === 'pending' || data?.correction?.state === 'pending' ? every(carrierEvery, error) : false,
      }),
    port: (id: string) =>
      queryOptions({
        queryKey: phoneKeys.of(id, 'port'),
        queryFn: async ({ signal }) => (await numbers.getPhonePort({ params: { id } }, { signal })).port,
        staleTime: 0,
        refetchInterval: ({ state: { error } }) => every(carrierEvery, error),
      }),
    invites: (id: string) =>
      queryOptions({
        queryKey: phoneKeys.of(id, 'invites'),
        queryFn: async ({ signal }) => (await numbers.listPhoneInvites({ params: { id } }, { signal })).invites,
        staleTime: 0,
        refetchInterval: ({ state: { error } }) => every(quietEvery, error),
      }),
    conversations: (id: string) =>
      queryOptions({
        queryKey: phoneKeys.of(id, 'conversations'),
        queryFn: ({ signal }) =>
          texts.listPhoneConversations({ params: { id }, query: { limit: phonePage } }, { signal }),
        staleTime: 0,
        refetchInterval: ({ state: { error } }) => every(liveEvery, error),
      }),
    /** Newest first, a page at a time. */
    texts: (id: string, person: string) =>
      infiniteQueryOptions({
        queryKey: phoneKeys.of(id, 'texts', person),
        queryFn: ({ pageParam, signal }) =>
          texts.listPhoneTexts({ params: { id }, query: { ...page(pageParam), with: person } }, { signal }),
        initialPageParam: undefined as string | undefined,
        getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
        staleTime: 0,
        refetchInterval: ({ state: { error } }) => every(liveEvery, error),
      }),
    calls: (id: string) =>
      queryOptions({
        queryKey: phoneKeys.of(id, 'calls'),
        queryFn: ({ signal }) => calls.listPhoneCalls({ params: { id }, query: { limit: phonePage } }, { signal }),
        staleTime: 0,
        refetchInterval: ({ state: { data, error } }) =>
          every(data?.calls.some(goesOn) === true ? liveEvery : quietEvery, error),
      }),
    consents: (id: string, cursor: string | undefined) =>
      queryOptions({
        queryKey: phoneKeys.of(id, 'consents', cursor ?? null),
        queryFn: ({ signal }) => calls.listPhoneConsents({ params: { id }, query: page(cursor) }, { signal }),
        staleTime: 0,
        placeholderData: keepPreviousData,
        refetchInterval: ({ state: { error } }) => every(quietEvery, error),
      }),
    optOuts: (id: string, cursor: string | undefined) =>
      queryOptions({
        queryKey: phoneKeys.of(id, 'opt-outs', cursor ?? null),
        queryFn: ({ signal }) => texts.listPhoneOptOuts({ params: { id }, query: page(cursor) }, { signal }),
        staleTime: 0,
        placeholderData: keepPreviousData,
        refetchInterval: ({ state: { error } }) => every(quietEvery, error),
      }),
    ownPhone: queryOptions({
      queryKey: phoneKeys.own,
      queryFn: ({ signal }) => texts.getOwnPhone({}, { signal }),
      staleTime: 0,
      refetchInterval: ({ state: { error } }) => every(liveEvery, error),
    }),
    botConfig: (botId: string) =>
      queryOptions({
        queryKey: phoneKeys.botConfig(botId),
        queryFn: ({ signal }) => calls.getVoiceBotConfig({ params: { botId } }, { signal }),
        staleTime: 0,
      }),
    demoPhone: queryOptions({
      queryKey: phoneKeys.demo,
      queryFn: ({ signal }) => demo.getDemoPhone({}, { signal }),
      staleTime: 0,
      refetchInterval: ({ state: { error } }) => every(liveEvery, error),
    }),
  };
}
