/** The routes of the list in the app, and of the ways to reach the person now. */
import { getReach, listNotifications, readNotifications } from '../../contracts/notifications/routes.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { DeviceStore } from './devices.ts';
import type { Feed } from './feed.ts';

/** The person's computers, and since when each is linked or away. */
export type ComputerReach = (
  userId: string,
) => Promise<
  readonly { readonly id: string; readonly name: string; readonly state: 'linked' | 'away'; readonly since: string }[]
>;

const defaultLimit = 50;

export function feedRoutes({
  feed,
  devices,
  computers,
  pushConfigured,
  sinkWorks,
}: {
  readonly feed: Feed;
  readonly devices: Pick<DeviceStore, 'list'>;
  readonly computers: ComputerReach;
  readonly pushConfigured: boolean;
  readonly sinkWorks: () => boolean;
}): BoundRoute[] {
  return [
    bind(listNotifications, async ({ principal, query: { unread = false, limit = defaultLimit, cursor } }) => ({
      body: await feed.list({ userId: principal.userId, unread, limit, cursor }),
    })),
    bind(readNotifications, async ({ principal, body }) => ({
      body: await ('undo' in body
        ? feed.undo(principal.userId, body.undo)
        : feed.read(principal.userId, 'ids' in body ? body.ids : null)),
    })),
    bind(getReach, async ({ principal: { userId } }) => {
      const all = await devices.list(userId);
      const reachable = all.filter(({ lastOutcome }) => lastOutcome === null || lastOutcome === 'sent');
      const away = (await computers(userId)).filter(({ state }) => state === 'away');
      return {
        body: {
          pushConfigured,
          working: sinkWorks(),
          devices: all.length,
          reachable: reachable.length,
          lastOutcome: await feed.latest(userId),
          away: away.map(({ id, name, since }) => ({ id, name, since })),
        },
      };
    }),
  ];
}
