/** Notifications over a real database, with a push service of this machine, a clock of the test and as many people as it names. */
import { createEvents, type EventBackbone, eventMigrations } from '../../../src/cloud-api/events/index.ts';
import {
  createNotifications,
  type Notifications,
  type NotificationsDeps,
  notificationMigrations,
} from '../../../src/cloud-api/notifications/index.ts';
import type { EventData, NotifiableEvent } from '../../../src/contracts/events/registry.ts';
import type { PushPayload } from '../../../src/contracts/notifications/push.ts';
import type { Notification } from '../../../src/contracts/notifications/routes.ts';
import { createEgress } from '../../../src/kit/egress/egress.ts';
import { createIdempotency, idempotencyMigrations } from '../../../src/kit/http/idempotency.ts';
import type { Authenticator } from '../../../src/kit/http/types.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { createSharedLanes } from '../../../src/kit/lane/shared-lanes.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { answered } from '../../../src/kit/store/answered.ts';
import { type Call, onEnd, serve } from '../../kit/http/support.ts';
import { type Place, sqliteIn } from '../../support/engines.ts';
import { type PushService, startPushService } from '../../support/push-service.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock, type TestClock } from '../../support/test-clock.ts';

export const person = 'user_1';
/** A machine with much else to do needs this long; a test, that of all its waits. */
const settleMs = 60_000;

export interface WorldOptions extends Partial<Pick<NotificationsDeps, 'vapid' | 'approvals' | 'computers' | 'admits'>> {
  /** Default: SQLite in `folder`. */
  readonly place?: Place;
  readonly folder?: string;
  readonly clock?: TestClock;
  readonly service?: PushService;
  readonly masterKey?: string;
  /** Beside the push service of the test. */
  readonly allow?: readonly string[];
  readonly started?: boolean;
  /** False: no other process wakes this one. */
  readonly listen?: boolean;
}

export interface World {
  readonly folder: string;
  readonly clock: TestClock;
  readonly service: PushService;
  readonly notifications: Notifications;
  readonly backbone: EventBackbone;
  readonly store: NotificationsDeps['store'];
  readonly errors: readonly string[];
  /** As this person, by default the one. */
  as(userId: string): Call;
  readonly call: Call;
  emit<T extends NotifiableEvent>(
    type: T,
    sourceId: string,
    data: EventData<T>,
    more?: { userId?: string; occurredAt?: number },
  ): Promise<boolean>;
  /** A device of this person, registered. */
  device(userId?: string): Promise<{ readonly id: string; pushes(): PushPayload[]; expire(): void; endpoint: string }>;
  /** What became of each event, the newest first: `type outcome`. */
  outcomes(userId?: string): Promise<string[]>;
  feed(userId?: string): Promise<Notification[]>;
  /** Lets what is under way over HTTP come to its end, without moving the clock. */
  settled(holds: () => boolean | Promise<boolean>): Promise<void>;
  close(): Promise<void>;
}

const bearer: Authenticator = {
  name: 'person of a test',
  authenticate(request) {
    const user = /^Bearer (user_\w+)$/.exec(request.headers.authorization ?? '')?.[1];
    return user === undefined
      ? null
      : { kind: 'user', userId: user, via: 'cookie', scopes: new Set(['compute' as const]) };
  },
};

export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const folder = options.folder ?? scratchFolder();
  const clock = options.clock ?? createTestClock();
  const service = options.service ?? (await startPushService());
  if (options.service === undefined) onEnd(() => service.close());
  const migrations = [...laneMigrations, ...idempotencyMigrations, ...eventMigrations, ...notificationMigrations];
  const store = await (options.place ?? sqliteIn(folder)).open(migrations, clock, { listen: options.listen ?? true });
  const ids = createIds(clock);
  const errors: string[] = [];
  const { backbone } = createEvents({ store, clock, ids });
  const egress = createEgress({ allow: [`127.0.0.1:${service.port}`, ...(options.allow ?? [])] });
  const notifications = await createNotifications({
    store,
    clock,
    timers: clock,
    ids,
    log: { warn: (message) => void errors.push(message), error: (message) => void errors.push(message) },
    sealer: createSealer({ masterKey: options.masterKey ?? 'master-key-of-tests-0123456789abcdef', purpose: 'push' }),
    vapid: options.vapid ?? null,
    vapidSubject: 'mailto:operator@example.com',
    egress,
    openLanes: (worker) =>
      createSharedLanes({
        store,
        clock,
        timers: clock,
        random: () => 0.5,
        name: 'pushes',
        ...worker,
        backoffMs: [5000],
      }),
    events: backbone,
    approvals: options.approvals ?? {
      open: () => answered('unknown' as const),
      resolve: () => Promise.reject(new Error('There is no approval here.')),
    },
    computers: options.computers ?? (async () => []),
    ...(options.admits === undefined ? {} : { admits: options.admits }),
  });
  if (options.started !== false) await notifications.start();
  const { call } = await serve({
    routes: notifications.routes,
    owners: notifications.owners,
    authenticators: [bearer],
    idempotency: createIdempotency(store, clock),
  });
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await notifications.close();
    await egress.close();
    await store.close();
  };
  onEnd(close);

  const as =
    (userId: string): Call =>
    (method, path, more) =>
      call(method, path, { token: userId, ...more });
  const feed = async (userId = person) => {
    const reply = await as(userId)('GET', '/api/v1/notifications?limit=200');
    return (reply.json as unknown as { notifications: Notification[] }).notifications;
  };

  return {
    folder,
    clock,
    service,
    notifications,
    backbone,
    store,
    errors,
    as,
    call: as(person),
    emit: (type, sourceId, data, { userId = person, occurredAt = clock.now() } = {}) =>
      store.write((tx) => backbone.emit(tx, { userId, type, sourceId, occurredAt, data })),
    async device(userId = person) {
      const device = service.device();
      const { endpoint } = device.subscription;
      const reply = await as(userId)('POST', '/api/v1/push/subscriptions', { body: device.subscription });
      if (reply.status !== 201) throw new Error(`No device: ${reply.text}`);
      return {
        id: reply.json.id as unknown as string,
        endpoint,
        pushes: () => device.received.map((text) => JSON.parse(text) as PushPayload),
        expire: () => device.expire(),
      };
    },
    feed,
    outcomes: async (userId) => (await feed(userId)).map(({ event, outcome }) => `${event} ${outcome}`),
    async settled(holds) {
      const end = performance.now() + settleMs;
      while (!(await holds())) {
        if (performance.now() > end) throw new Error('It did not come so far.');
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    close,
  };
}
