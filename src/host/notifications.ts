/**
 * Joins notifications to the rest of a cloud: the backbone's events, the approvals that buttons answer, the computers that may be
 * away, and the one client for push services.
 */
import { createNotifications, type Notifications, type NotificationsDeps } from '../cloud-api/notifications/index.ts';
import { createEgress } from '../kit/egress/egress.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { type CloudBase, openOutbox } from './cloud-base.ts';
import type { PushSettings } from './push-settings.ts';

/** Push services want somebody to write to; where no address is public and none was given, there is nobody. */
const nobody = 'mailto:nobody@gantry.invalid';
/** The push service of a browser is back within minutes, or gone for hours. */
const backoffMs = [5_000, 30_000, 120_000, 600_000, 1_800_000];
/** Devices that are sent to at the same time: one whose service hangs holds up nobody. */
const parallel = 32;

export async function composeNotifications(
  options: CloudBase &
    Pick<NotificationsDeps, 'events' | 'approvals' | 'computers' | 'admits'> & { readonly push: PushSettings },
): Promise<Notifications> {
  const { push, origin } = options;
  const egress = options.egress.count('pushes', createEgress({ allow: push.allow }));
  const notifications = await createNotifications({
    ...options,
    sealer: createSealer({ masterKey: options.masterKey, purpose: 'push' }),
    vapid: push.vapid,
    vapidSubject: push.subject ?? (origin.startsWith('https://') ? origin : nobody),
    egress,
    openLanes: (worker) =>
      openOutbox(options, { name: 'pushes', ...worker, parallel, backoffMs, failed: 'A push could not be sent.' }),
  });
  return {
    ...notifications,
    async close() {
      await notifications.close();
      await egress.close();
    },
  };
}
