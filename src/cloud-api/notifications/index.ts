/**
 * Notifications of a cloud: preferences, the sink from events to pushes, devices, the list in the app. Owns their composition; the host passes in the
 * store, the client and the ports of other areas.
 */
import { randomBytes } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { Egress } from '../../kit/egress/egress.ts';
import type { BoundRoute, OwnerLookups } from '../../kit/http/types.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { SharedLanes } from '../../kit/lane/lane.ts';
import type { Log } from '../../kit/log/log.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import type { Op, SharedReader, SharedStore } from '../../kit/store/shared-store.ts';
import { type ApprovalResolver, actionRoutes, createPushActions } from './actions.ts';
import { createClaims } from './claims.ts';
import { deviceRoutes } from './device-routes.ts';
import { createDeviceStore } from './devices.ts';
import { createDirectPush, type PushDirectly } from './direct.ts';
import { type ComputerReach, createFeed, feedRoutes } from './feed.ts';
import { createOutcomes } from './outcomes.ts';
import { createPace } from './pace.ts';
import { createPreferences, preferenceRoutes } from './preferences.ts';
import { createPushKeys, type VapidPair } from './push-keys.ts';
import { createPushQueue, type LaneWorker, type OpenApproval } from './push-queue.ts';
import { createPusher } from './pusher.ts';
import { createQuiet, quietRoutesOf } from './quiet.ts';
import { createSink } from './sink.ts';

export { notificationMigrations } from './migrations.ts';
export type { VapidPair } from './push-keys.ts';

export interface NotificationsDeps {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly log: Pick<Log, 'warn' | 'error'>;
  readonly sealer: Sealer;
  /** The operator's own push keys; null: made at the first start. */
  readonly vapid: VapidPair | null;
  /** Contact for push services: `mailto:…` or `https://…`. */
  readonly vapidSubject: string;
  readonly egress: Pick<Egress, 'request' | 'refusal'>;
  readonly openLanes: (worker: LaneWorker) => SharedLanes;
  readonly events: {
    onEmit(listener: () => void): () => void;
    forwards(tx: SharedReader, computerId: string): Op<boolean>;
  };
  readonly approvals: ApprovalResolver & { readonly open: OpenApproval };
  readonly computers: ComputerReach;
  /** Whether this person may act, and get notifications, at all; default: everybody. */
  readonly admits?: (userId: string) => boolean | Promise<boolean>;
}

export interface Notifications {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  /** A message that was relayed to a computer through a channel address. */
  readonly pushDirectly: PushDirectly;
  /** A browser's pushes end with its sign-in, and continue with the next one of the same person. */
  signInEnded(sessionId: string, replacedBy: string | undefined): Promise<void>;
  /** Removes notifications of events older than the retention, before the events themselves. */
  forgetOld(now: number): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** As long as the events that they announce. */
const retentionMs = 90 * 24 * 60 * 60_000;

export async function createNotifications(deps: NotificationsDeps): Promise<Notifications> {
  const { store, clock, log, events } = deps;
  const keys = await createPushKeys({ ...deps, given: deps.vapid, subject: deps.vapidSubject });
  const pusher = keys === null ? null : createPusher({ ...deps, keys });
  const pushConfigured = keys !== null;
  const openApproval = deps.approvals.open;
  const preferences = createPreferences(store);
  const quiet = createQuiet(deps);
  const devices = createDeviceStore(deps);
  const outcomes = createOutcomes(deps);
  const actions = createPushActions(deps);
  const pace = createPace(deps);
  const feed = createFeed(deps);
  const instance = store.engine === 'sqlite' ? randomBytes(6).toString('hex') : null;
  const pushQueue = createPushQueue({ ...deps, pusher, devices, outcomes, actions, openApproval, instance });
  const claims = createClaims({ clock, outcomes, preferences, quiet, pace, pushQueue, openApproval, pushConfigured });
  const sink = createSink({ ...deps, claims, looked: () => quiet.tellEnded(pushQueue) });
  const offEmit = events.onEmit(() => sink.wake());
  const notConfigured = () =>
    new AppError('refused', 'No push keys are configured here.', 'Ask your administrator.', {
      wireCode: 'push_not_configured',
    });

  return {
    routes: [
      ...preferenceRoutes({ preferences, pushConfigured }),
      ...quietRoutesOf(quiet),
      ...deviceRoutes({ devices, store, clock, pusher, keys, egress: deps.egress, notConfigured }),
      ...actionRoutes({ actions, approvals: deps.approvals, admits: deps.admits }),
      ...feedRoutes({ feed, devices, computers: deps.computers, pushConfigured, sinkWorks: () => sink.working() }),
    ],
    owners: {
      device: async ({ userId }, id) => (await devices.get(id))?.userId === userId,
    },
    pushDirectly: createDirectPush({
      ...deps,
      forwards: events.forwards,
      sinkWorks: () => sink.working(),
      preferences,
      quiet,
      pace,
      pushQueue,
      pushConfigured,
    }),
    signInEnded: (sessionId, replacedBy) => devices.signInEnded(sessionId, replacedBy),
    forgetOld: (now) => feed.forget(now - retentionMs),
    async start() {
      await pushQueue.start();
      await sink.start();
      if (!pushConfigured) log.warn('No push keys are configured: nothing is pushed.');
    },
    async close() {
      offEmit();
      await sink.close();
      await pushQueue.close();
    },
  };
}
