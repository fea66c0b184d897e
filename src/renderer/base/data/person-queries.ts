/** Data that belongs to the person and not to a computer, read from their home cloud. Must not know how anything is shown. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { AppError } from '../../../contracts/common/errors.ts';
import type { Api } from './api.ts';
import { personKeys as keys } from './keys.ts';

/** Notifications read at first, and of older ones at once. */
const notificationPage = 50;
const olderPage = 200;

export function personQueriesOf(api: Api) {
  const { computers, identity, notifications, pairing, usage } = api;
  return {
    session: queryOptions({ queryKey: keys.session, queryFn: ({ signal }) => identity.getSession({}, { signal }) }),
    /** Who signs people in here; null: nobody does, because this server is one person's own. */
    signInPlace: queryOptions({
      queryKey: keys.signInPlace,
      queryFn: async ({ signal }) => {
        try {
          const { authorization_servers } = await identity.protectedResource({}, { signal });
          return authorization_servers[0] ?? null;
        } catch (error) {
          if (error instanceof AppError && error.code === 'not_found') return null;
          throw error;
        }
      },
    }),
    signIns: queryOptions({ queryKey: keys.signIns, queryFn: ({ signal }) => identity.listSessions({}, { signal }) }),
    apiKeys: queryOptions({ queryKey: keys.apiKeys, queryFn: ({ signal }) => identity.listKeys({}, { signal }) }),
    computers: queryOptions({
      queryKey: keys.computers,
      queryFn: ({ signal }) => computers.listComputers({}, { signal }),
    }),
    /** The pairing of the computer that this program runs on. */
    pairing: queryOptions({
      queryKey: keys.pairing,
      queryFn: ({ signal }) => pairing.readLocalPairing({}, { signal }),
    }),
    /** The computer that shows this code. */
    pairingOf: (code: string) =>
      queryOptions({
        queryKey: keys.pairingOf(code),
        queryFn: ({ signal }) => computers.readPairing({ params: { code } }, { signal }),
      }),
    /** Newest first, a page at a time. */
    notifications: infiniteQueryOptions({
      queryKey: keys.notifications,
      queryFn: ({ pageParam: cursor, signal }) =>
        notifications.listNotifications(
          { query: cursor === undefined ? { limit: notificationPage } : { limit: olderPage, cursor } },
          { signal },
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    }),
    preferences: queryOptions({
      queryKey: keys.preferences,
      queryFn: ({ signal }) => notifications.getNotificationPreferences({}, { signal }),
    }),
    quiet: queryOptions({
      queryKey: keys.quiet,
      queryFn: ({ signal }) => notifications.getNotificationQuiet({}, { signal }),
    }),
    reach: queryOptions({ queryKey: keys.reach, queryFn: ({ signal }) => notifications.getReach({}, { signal }) }),
    pushDevices: queryOptions({
      queryKey: keys.pushDevices,
      queryFn: ({ signal }) => notifications.listPushDevices({}, { signal }),
    }),
    usage: (month: string | null) =>
      queryOptions({
        queryKey: keys.usage(month),
        queryFn: ({ signal }) => usage.getUsage({ query: month === null ? {} : { month } }, { signal }),
      }),
    budget: queryOptions({ queryKey: keys.budget, queryFn: ({ signal }) => usage.getBudget({}, { signal }) }),
  };
}
