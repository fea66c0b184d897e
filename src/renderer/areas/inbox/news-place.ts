/** Where a notification leads. Must not know how it is shown. */
import type { Notification } from '../../../contracts/notifications/routes.ts';

/** A link of the server names a conversation, or else only Home. Some events have a page that says more. */
export function placeOf({ event, url }: Pick<Notification, 'event' | 'url'>): string {
  return url === '/' ? (places[event] ?? url) : url;
}

const places: Readonly<Record<string, string>> = {
  'subscription.login_needed': '/connectors',
  'subscription.signed_in': '/connectors',
  'usage.threshold': '/settings/usage',
  'call.ended': '/phone',
};
