/**
 * Composition root of the cloud API (architecture.md, "Processes and ports"): identity, the factory proxy and the web
 * interface. Embedded in one process with a runtime on 127.0.0.1:3010, or headless for many people; what differs is passed in.
 * It reaches a runtime only over the link.
 */
import { approvalMigrations, createApprovals } from '../cloud-api/approvals/index.ts';
import { createComputerUse } from '../cloud-api/computer-use/index.ts';
import { createEvents, eventMigrations } from '../cloud-api/events/index.ts';
import { createFactoryProxy } from '../cloud-api/factory/index.ts';
import { createToPeers } from '../cloud-api/factory/to-peers.ts';
import type { HomeDoor } from '../cloud-api/home/index.ts';
import {
  createIdentity,
  type Ended,
  type IdentityDeps,
  identityMigrations,
  type OidcSettings,
} from '../cloud-api/identity/index.ts';
import { createRuntimeCalls } from '../cloud-api/link/call-runtime.ts';
import type { Devices } from '../cloud-api/link/devices.ts';
import { createEngines } from '../cloud-api/link/engines.ts';
import type { Link } from '../cloud-api/link/link.ts';
import { linkMigrations } from '../cloud-api/link/migrations.ts';
import { pipeMount } from '../cloud-api/link/replica-proof.ts';
import { notificationMigrations } from '../cloud-api/notifications/index.ts';
import { createToolServer } from '../cloud-api/tool-server/index.ts';
import { createTriggerDoor } from '../cloud-api/triggers/index.ts';
import { createUsage, usageMigrations } from '../cloud-api/usage/index.ts';
import {
  createStoreClock,
  createWorkQueue,
  type StoreClock,
  workQueueMigrations,
} from '../cloud-api/work-queue/index.ts';
import type { Route } from '../contracts/common/route.ts';
import { linkPath } from '../contracts/link/dial-in.ts';
import { unbuiltRoutes } from '../contracts/unbuilt.ts';
import type { Clock } from '../kit/clock/clock.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import { createAddressOf } from '../kit/http/client-address.ts';
import { createDispatcher, type DispatcherOptions, type HttpLog } from '../kit/http/dispatcher.ts';
import { createGuard, type Door } from '../kit/http/guard.ts';
import { createIdempotency, idempotencyMigrations } from '../kit/http/idempotency.ts';
import { createOwnerAuthenticator, localUserId } from '../kit/http/principals.ts';
import { createSharedCount, sharedCountMigrations } from '../kit/http/shared-count.ts';
import type { Authenticator, BoundRoute, OwnerLookups, Principal } from '../kit/http/types.ts';
import { bindUnbuilt } from '../kit/http/unbuilt.ts';
import type { Ids } from '../kit/ids/ids.ts';
import { laneMigrations } from '../kit/lane/migrations.ts';
import { createSharedLanes } from '../kit/lane/shared-lanes.ts';
import { signingMigrations } from '../kit/signing/authenticator.ts';
import { openSharedStore } from '../kit/store/open-shared-store.ts';
import type { SharedStore } from '../kit/store/shared-store.ts';
import { createClosing } from './closing.ts';
import { composeComputers, noComputerHere } from './computers.ts';
import { createDaily, dailyMigrations } from './daily.ts';
import type { OpenDoor, UpgradeListener } from './doors.ts';
import { stopReason } from './engine-server.ts';
import { createHomeDispatcher } from './home-dispatcher.ts';
import { composeNotifications } from './notifications.ts';
import { packageVersion } from './places.ts';
import { type PushSettings, usualPushSettings } from './push-settings.ts';
import { checkSharedSecrets, sharedSecretsMigrations } from './shared-secrets.ts';
import { createUpgradeListener, createWebListener, isPage, isWayBack } from './web-door.ts';

/** One person, whose runtime lives in the same process and needs no pairing. */
export interface EmbeddedMode {
  readonly kind: 'embedded';
  readonly ownerToken: string;
  readonly userName: string;
  readonly computer: { readonly id: string; readonly name: string };
  readonly device: { readonly computerId: string; readonly userId: string; readonly token: string };
  /** The pairing of this computer with another cloud; absent where nothing pairs. */
  readonly pairing?: readonly BoundRoute[];
  /** The cloud that this computer is at home in while it is paired; absent where nothing pairs. */
  readonly home?: HomeDoor;
}

/** Many people, who sign in with an OpenID provider and whose computers dial in. */
export interface HeadlessMode {
  readonly kind: 'headless';
  /** The address that people use, `https://gantry.example`: no other Host or Origin is served. */
  readonly baseUrl: string;
  /** Proxies in front, whose X-Forwarded-For counts. */
  readonly trustedProxies: readonly string[];
  readonly oidc: OidcSettings;
  /** Keeps the provider's last keys for when it is away. */
  readonly issuerKeysFile: string;
}

/** What the way to the computers may be made of. */
export interface LinkParts {
  readonly store: SharedStore;
  /** The store's clock, which replicas share. */
  readonly storeClock: StoreClock;
  readonly devices: Devices;
  /** Knows a computer by its signature, and takes each signature once. */
  readonly authenticator: Authenticator;
}

export interface LinkEnd {
  readonly link: Link;
  /** Takes what computers dial at {@link linkPath}; absent where none can. Host and Origin are checked before. */
  readonly upgrade?: UpgradeListener;
  /** Takes what other replicas open below {@link pipeMount}; absent where there are none. */
  readonly between?: UpgradeListener;
  /** Cuts a computer off here, but for what it dialled under the pairing that is named; absent where none is paired. */
  end?(computerId: string, reason: string, except?: number): void;
  close(): Promise<void> | void;
}

export interface CloudOptions {
  readonly mode: EmbeddedMode | HeadlessMode;
  readonly databaseFile: string;
  /** A PostgreSQL that replicas share, in place of the file. */
  readonly databaseUrl?: string | null;
  /** The port of the web interface, taken but not yet served. */
  readonly door: OpenDoor;
  readonly openLink: (parts: LinkParts) => LinkEnd | Promise<LinkEnd>;
  /** Seals what signs for the computers. */
  readonly masterKey: string;
  /** Of the internal service token. */
  readonly internalToken: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: HttpLog;
  /** How a person calls Gantry from where they read this, such as `npx gantry`. */
  readonly gantry: string;
  /** Folder of the built web interface; default `out/renderer`. */
  readonly rendererFolder?: string;
  readonly limits?: DispatcherOptions['limits'];
  readonly answers?: DispatcherOptions['answers'];
  /** Default: keys of its own, public addresses alone. */
  readonly push?: PushSettings;
}

export interface Cloud {
  /** `http://127.0.0.1:<port>`, or the public address. */
  readonly origin: string;
  readonly notices: readonly string[];
  readonly routes: readonly Route[];
  /** A fresh one-time address. */
  openUrl(next?: string): Promise<{ url: string; expiresAt: string }>;
  close(): Promise<void>;
}

const closeLimitMs = 2_000;
const minuteMs = 60_000;
/** A bot waits for the answer, and the engine of the same process is up within a second. */
const answerBackoffMs = [200, 500, 1000, 1000, 2000, 5000, 10_000, 30_000];

/** What each area gives to the one dispatcher. */
interface Area {
  readonly routes: readonly BoundRoute[];
  readonly owners?: OwnerLookups;
}

export async function createCloud(options: CloudOptions): Promise<Cloud> {
  const { mode, clock, ids, log, gantry } = options;
  const closing = createClosing({
    limitMs: closeLimitMs,
    onFault: (step, fault) => log.error('cloud did not close cleanly', { step, fault: String(fault) }),
  });
  try {
    const store = await openSharedStore({
      databaseUrl: options.databaseUrl ?? null,
      file: options.databaseFile,
      migrations: [
        ...identityMigrations,
        ...idempotencyMigrations,
        ...laneMigrations,
        ...signingMigrations,
        ...linkMigrations,
        ...approvalMigrations,
        ...eventMigrations,
        ...notificationMigrations,
        ...usageMigrations,
        ...sharedSecretsMigrations,
        ...workQueueMigrations,
        ...sharedCountMigrations,
        ...dailyMigrations,
      ],
      clock,
      tell: (sentence) => log.warn('database', { said: sentence }),
    });
    closing.add('database', () => store.close());
    await checkSharedSecrets(store, options);
    const origin = mode.kind === 'embedded' ? `http://127.0.0.1:${options.door.port}` : mode.baseUrl;
    const local = mode.kind === 'embedded' ? mode : null;
    const identity = await createIdentity({
      store,
      clock,
      ids,
      log,
      mode: waysIn(mode, `${gantry} open`),
      version: packageVersion(),
      origin,
      internalToken: options.internalToken,
    });
    closing.add('identity', () => identity.close());
    const addressOf = createAddressOf(mode.kind === 'headless' ? mode.trustedProxies : []);
    const storeClock = createStoreClock(store, clock);
    const given = { ...options, store, storeClock, identity, local, origin, addressOf };
    const composed = await composeComputers(given, closing);
    const { area: computers, devices, linkEnd, tickets } = composed;
    const { link, upgrade, between } = linkEnd;
    const runtimes = createRuntimeCalls({ link, devices, clock });
    closing.add('calls to computers', () => runtimes.close());
    const events = createEvents({ store, clock, ids });
    const approvals = createApprovals({
      store,
      clock,
      log,
      events: events.backbone,
      call: (computerId, request) => runtimes.call(computerId, request),
      openLanes: (send) =>
        createSharedLanes({
          store,
          clock,
          name: 'answers',
          send,
          backoffMs: answerBackoffMs,
          onFault: (fault) => log.error('An answer to an approval could not be sent.', { fault: String(fault) }),
        }),
    });
    closing.add('approvals', () => approvals.close());
    const notifications = await composeNotifications({
      store,
      clock,
      ids,
      log,
      masterKey: options.masterKey,
      push: options.push ?? usualPushSettings,
      origin,
      events: events.backbone,
      approvals: approvals.service,
      admits: (userId) => identity.admits(userId),
      computers: (userId) => computers.computers.list(userId),
    });
    closing.add('notifications', () => notifications.close());
    const usage = createUsage({ store, clock, events: events.backbone });
    const work = createWorkQueue({ store, clock: storeClock, timers: systemTimers, ids, log });
    closing.add('work queue', () => work.close());
    const ownerOf = async (computerId: string) => (await devices.find(computerId))?.userId ?? null;
    const triggers = createTriggerDoor({
      store,
      clock,
      ids,
      log,
      ownerOf,
      call: (computerId, request) => runtimes.call(computerId, request),
      openLanes: (send) =>
        createSharedLanes({
          store,
          clock,
          name: 'triggers',
          send,
          onFault: (fault) => log.error('What was posted to a trigger could not be brought.', { fault: String(fault) }),
        }),
    });
    closing.add('triggers', () => triggers.close());
    const daily = createDaily({
      ...{ store, clock: storeClock, timers: systemTimers },
      areas: [notifications, approvals, events, work],
      onFault: (fault) => log.warn('What is older than it is kept could not be removed.', { fault: String(fault) }),
    });
    closing.add('removal of what is old', () => daily.close());
    const engines = createEngines({ link, computers: composed.lookup });
    closing.add('link', () => engines.close());
    const advice = local === null ? 'See that Gantry runs on that computer.' : `Start it with ${gantry} start.`;
    const proxy = createFactoryProxy({ engines, advice, approvals: approvals.service });
    const tools = createToolServer({
      ...{ engines, link, advice, origin, version: packageVersion(), log },
      ...(local === null ? { ownerOf } : {}),
    });
    const computerUse = createComputerUse({
      engines,
      computers: {
        resolve: (userId, named) => composed.lookup.resolve(userId, named),
        list: (userId) => computers.computers.list(userId),
      },
      advice,
      approvals: approvals.service,
      hosted: null,
      clock,
      timers: systemTimers,
    });
    const toPeers = createToPeers({ link, computers: computers.computers, tickets });
    closing.add('ways to other computers', () => toPeers.close());
    const areas: readonly Area[] = [
      identity,
      computers,
      approvals,
      events,
      notifications,
      usage,
      work,
      proxy,
      tools,
      computerUse,
      toPeers,
      triggers,
    ];
    const door: Door =
      mode.kind === 'embedded'
        ? { kind: 'tcp', origins: 'own', navigable: isWayBack }
        : { kind: 'public', origin, navigable: isPage };
    const serving: DispatcherOptions = {
      door,
      authenticators: [
        ...(local === null ? [] : [createOwnerAuthenticator(local.ownerToken)]),
        computers.authenticator,
        ...identity.authenticators,
        composed.authenticator,
      ],
      routes: [
        ...areas.flatMap(({ routes }) => routes),
        ...(local?.pairing ?? noComputerHere),
        ...unbuiltRoutes.filter((route) => route.server !== 'engine').map(bindUnbuilt),
      ],
      owners: Object.assign({}, ...areas.map(({ owners }) => owners)),
      ids,
      log,
      idempotency: createIdempotency(store, clock),
      admits: (userId) => identity.admits(userId),
      expiry: { clock, timers: systemTimers },
      metadataUrl: (path) => identity.metadataUrl(path),
      limits: options.limits,
      addressOf,
      failures: store.engine === 'sqlite' ? undefined : createSharedCount({ store, clock, windowMs: minuteMs }),
      answers: options.answers,
      unclaimed: 'pass',
    };
    const dispatcher =
      local?.home === undefined
        ? createDispatcher(serving)
        : createHomeDispatcher(serving, {
            home: local.home,
            computerId: local.computer.id,
            link,
            timers: systemTimers,
          });

    const stopEnding = identity.onEnded((ended) => {
      dispatcher.cut((principal) => isOf(principal, ended));
      if ('sessionId' in ended) {
        notifications
          .signInEnded(ended.sessionId, ended.replacedBy)
          .catch((fault) => log.error('The pushes of a sign-in could not be ended.', { fault: String(fault) }));
      }
      if (!('userId' in ended)) return;
      computers.computers
        .list(ended.userId)
        .then((list) => {
          for (const { id } of list) linkEnd.end?.(id, 'its person is shut out');
        })
        .catch((fault) => log.error('The links of a person could not be ended.', { fault: String(fault) }));
    });
    closing.add('sign-ins', stopEnding);
    const stopCutting = composed.onEnded((id) => dispatcher.cut(({ computerId }) => computerId === id));
    closing.add('pairings that end', stopCutting);
    options.door.serve(
      createWebListener({ dispatcher, log, folder: options.rendererFolder }),
      upgrade === undefined
        ? undefined
        : createUpgradeListener({
            guard: createGuard(door),
            dialled: { path: linkPath, take: upgrade },
            between: between === undefined ? undefined : { mount: pipeMount, take: between },
          }),
    );
    await notifications.start();
    await approvals.start();
    await triggers.start();
    await work.start();
    daily.start();
    const stopWaking = link.onChange((computerId, linked) => {
      if (!linked) return;
      approvals.wake(computerId);
      triggers.wake(computerId);
    });
    closing.add('waking', stopWaking);
    closing.add('web requests', async () => {
      dispatcher.close(stopReason);
      // Together: the connections that computers dialled are open at this door.
      await Promise.all([options.door.close(), linkEnd.close()]);
    });
    return {
      origin,
      notices: store.notices,
      routes: dispatcher.routes,
      openUrl: (next) => identity.createOpenUrl(next),
      close: () => closing.close(),
    };
  } catch (error) {
    await closing.close();
    throw error;
  }
}

function waysIn(mode: CloudOptions['mode'], openCommand: string): IdentityDeps['mode'] {
  if (mode.kind === 'headless') return mode;
  const owner = { userId: localUserId, name: mode.userName };
  return { kind: mode.kind, owner, computer: mode.computer, openCommand };
}

function isOf(principal: Principal, ended: Ended): boolean {
  if ('userId' in ended) return principal.userId === ended.userId;
  if ('keyId' in ended) return principal.keyId === ended.keyId;
  return principal.sessionId === ended.sessionId;
}
