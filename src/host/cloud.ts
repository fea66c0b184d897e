/**
 * Composition root of the cloud API: identity, the factory proxy and the web interface. Embedded in one process with a
 * runtime on 127.0.0.1:3010, or headless for many people; what differs is passed in. It reaches a runtime only over the
 * link.
 */
import { createApprovals } from '../cloud-api/approvals/index.ts';
import { createComputerUse } from '../cloud-api/computer-use/index.ts';
import { createConnectorEvents } from '../cloud-api/connector-events/index.ts';
import { createEvents } from '../cloud-api/events/index.ts';
import { createFactoryProxy } from '../cloud-api/factory/index.ts';
import { createToPeers } from '../cloud-api/factory/to-peers.ts';
import { createHostedComputers, createLocalDriver } from '../cloud-api/hosted-computers/index.ts';
import { createIdentity, type Ended, type IdentityDeps } from '../cloud-api/identity/index.ts';
import { createRuntimeCalls } from '../cloud-api/link/call-runtime.ts';
import { createEngines } from '../cloud-api/link/engines.ts';
import { pipeMount } from '../cloud-api/link/replica-proof.ts';
import { createToolServer } from '../cloud-api/tool-server/index.ts';
import { createTriggerEndpoint } from '../cloud-api/triggers/index.ts';
import { createUsage } from '../cloud-api/usage/index.ts';
import { createStoreClock, createWorkQueue } from '../cloud-api/work-queue/index.ts';
import { edgeBase } from '../contracts/edge/routes.ts';
import { linkPath } from '../contracts/link/dial-in.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import { createAddressOf } from '../kit/http/client-address.ts';
import { createDispatcher, type DispatcherOptions } from '../kit/http/dispatcher.ts';
import { createGuard, type Listener } from '../kit/http/guard.ts';
import { createHttpMeter } from '../kit/http/http-meter.ts';
import { createIdempotency } from '../kit/http/idempotency.ts';
import { createOwnerAuthenticator, localUserId } from '../kit/http/principals.ts';
import { createSharedCount } from '../kit/http/shared-count.ts';
import type { BoundRoute, OwnerLookups, Principal } from '../kit/http/types.ts';
import { createLaneMetrics } from '../kit/lane/lane-metrics.ts';
import { createSharedLanes } from '../kit/lane/shared-lanes.ts';
import { metricsRoute } from '../kit/metrics/route.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { openSharedStore } from '../kit/store/open-shared-store.ts';
import { measureWrites } from '../kit/store/store-metrics.ts';
import { createClosing } from './closing.ts';
import { cloudMetrics } from './cloud-metrics.ts';
import { cloudMigrations } from './cloud-migrations.ts';
import type { Cloud, CloudOptions } from './cloud-options.ts';
import { composeComputers, noComputerHere } from './computers.ts';
import { createDaily } from './daily.ts';
import { composeEdge } from './edge.ts';
import { stopReason } from './engine-server.ts';
import { createHomeDispatcher } from './home-dispatcher.ts';
import { composeNotifications } from './notifications.ts';
import { composePhone } from './phone.ts';
import { packageVersion } from './places.ts';
import { defaultPushSettings } from './push-settings.ts';
import { databaseCheck } from './runtime-checks.ts';
import { checkSharedSecrets } from './shared-secrets.ts';
import { cloudRows, watchRows } from './watched-rows.ts';
import { createUpgradeListener, createWebListener, isPage, isWayBack } from './web-listener.ts';

const closeLimitMs = 2_000;
const minuteMs = 60_000;
/** An eighth of them is one person's: a hundred subscriptions that all wait for one computer must not go there by twos. */
const eventLanes = 128;
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
    const { store, metrics: storeMetrics } = measureWrites(
      await (options.openStore ?? openSharedStore)({
        databaseUrl: options.databaseUrl ?? null,
        file: options.databaseFile,
        migrations: cloudMigrations,
        clock,
        tell: (sentence) => log.warn('database', { said: sentence }),
      }),
    );
    const outboxes = createLaneMetrics(clock);
    const meter = createHttpMeter();
    closing.add('database', () => store.close());
    const rows = watchRows({ store, tables: cloudRows, file: options.databaseFile, clock, log });
    closing.add('checks of rows', () => rows.close());
    const database = store.engine === 'sqlite' ? options.databaseFile : 'The PostgreSQL database';
    const checks = async () => [
      { ...databaseCheck(database, store.trouble()), name: 'Database of the cloud' },
      ...(await rows.checks()),
    ];
    await checkSharedSecrets(store, options);
    const origin = mode.kind === 'embedded' ? `http://127.0.0.1:${options.listener.port}` : mode.baseUrl;
    const local = mode.kind === 'embedded' ? mode : null;
    const ownEdge = (mode.kind === 'headless' && mode.eventsEdgeUrl) || undefined;
    const edgeUrl = ownEdge ?? `${origin}${edgeBase}`;
    const identity = await createIdentity({
      store,
      clock,
      ids,
      log,
      mode: waysIn(mode, `${gantry} open`),
      version: packageVersion(),
      demoPhone: options.phone?.carrier === 'simulator',
      phone: options.phone != null,
      origin,
      edgeUrl,
      internalToken: options.internalToken,
      checks,
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
      timers: systemTimers,
      log,
      events: events.backbone,
      call: (computerId, request) => runtimes.call(computerId, request),
      openLanes: (send) =>
        outboxes.watch(
          'answers',
          createSharedLanes({
            store,
            clock,
            name: 'answers',
            send,
            backoffMs: answerBackoffMs,
            onFault: (fault) => log.error('An answer to an approval could not be sent.', { fault: String(fault) }),
          }),
        ),
    });
    closing.add('approvals', () => approvals.close());
    const notifications = await composeNotifications({
      store,
      clock,
      ids,
      log,
      masterKey: options.masterKey,
      push: options.push ?? defaultPushSettings,
      origin,
      events: events.backbone,
      approvals: approvals.service,
      admits: (userId) => identity.admits(userId),
      computers: (userId) => computers.computers.list(userId),
    });
    closing.add('notifications', () => notifications.close());
    const usage = createUsage({ store, clock, events: events.backbone });
    const hosted = createHostedComputers({
      store,
      clock: storeClock,
      timers: systemTimers,
      ids,
      usage,
      origin,
      log,
      driver: options.hostedDriver ?? createLocalDriver({ folder: options.computersFolder, timers: systemTimers }),
      projects: identity.projects,
    });
    closing.add('hosted computers', () => hosted.close());
    const work = createWorkQueue({ store, clock: storeClock, timers: systemTimers, ids, log });
    closing.add('work queue', () => work.close());
    const ownerOf = async (computerId: string) => (await devices.find(computerId))?.userId ?? null;
    const triggers = createTriggerEndpoint({
      store,
      clock,
      ids,
      log,
      ownerOf,
      call: (computerId, request) => runtimes.call(computerId, request),
      openLanes: (send) =>
        outboxes.watch(
          'triggers',
          createSharedLanes({
            store,
            clock,
            name: 'triggers',
            send,
            onFault: (fault) => log.error('A trigger event could not be delivered.', { fault: String(fault) }),
          }),
        ),
    });
    closing.add('triggers', () => triggers.close());
    const engines = createEngines({ link, computers: composed.lookup });
    closing.add('link', () => engines.close());
    const advice = local === null ? 'Check that Gantry is running on that computer.' : `Start it with ${gantry} start.`;
    const edge = composeEdge({
      store,
      clock,
      ids,
      log,
      identity,
      engines,
      link,
      advice,
      edgeUrl,
      masterKey: options.masterKey,
      events: events.backbone,
      allow: (options.push ?? defaultPushSettings).allow,
    });
    closing.add('edge', () => edge.close());
    const connectorEvents = createConnectorEvents({
      store,
      clock,
      log,
      link,
      engines,
      advice,
      origin,
      ownerOf,
      sealer: createSealer({ masterKey: options.masterKey, purpose: 'connector events' }),
      call: (computerId, request) => runtimes.call(computerId, request),
      openLanes: (how) =>
        outboxes.watch(
          'connector-events',
          createSharedLanes({
            store,
            clock,
            name: 'connector-events',
            ...how,
            parallel: eventLanes,
            onFault: (fault) => log.error('A connector event could not be delivered.', { fault: String(fault) }),
          }),
        ),
    });
    closing.add('events of connectors', () => connectorEvents.close());
    const phone = await composePhone({
      store,
      clock,
      ids,
      log,
      origin,
      addressOf,
      hosted,
      ownerOf,
      recordUsage: usage.record,
      masterKey: options.masterKey,
      settings: options.phone ?? null,
      users: identity.users,
      resolve: (userId, named) => composed.area.computers.resolve(userId, named),
      call: (computerId, request) => runtimes.call(computerId, request),
      events: events.backbone,
      pushDirectly: notifications.pushDirectly,
      isLinked: async (computerId) => (await link.state(computerId)).linked,
      approvals: approvals.service,
      admits: (userId) => identity.admits(userId),
    });
    closing.add('phone', () => phone.close());
    const daily = createDaily({
      store,
      clock: storeClock,
      timers: systemTimers,
      areas: [notifications, approvals, events, hosted, work, edge, connectorEvents, phone],
      onFault: (fault) => log.warn('Expired records could not be removed.', { fault: String(fault) }),
    });
    closing.add('removal of what is old', () => daily.close());
    const proxy = createFactoryProxy({ engines, advice, approvals: approvals.service });
    const tools = createToolServer({
      engines,
      link,
      advice,
      origin,
      version: packageVersion(),
      log,
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
      hosted: hosted.devices,
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
      hosted,
      work,
      proxy,
      tools,
      computerUse,
      toPeers,
      triggers,
      edge,
      connectorEvents,
      phone,
    ];
    const linked = new Set(local === null ? [] : [local.computer.id]);
    const metrics = cloudMetrics({
      store,
      clock,
      linked: () => linked.size,
      parts: [meter.metrics, storeMetrics, outboxes.metrics],
    });
    const listener: Listener =
      mode.kind === 'embedded'
        ? { kind: 'tcp', origins: 'own', navigable: isWayBack }
        : { kind: 'public', origin, navigable: isPage };
    const serving: DispatcherOptions = {
      // Nothing is dialled at the edge's own origin.
      listener: listener.kind === 'public' && ownEdge !== undefined ? { ...listener, beside: ownEdge } : listener,
      authenticators: [
        ...(local === null ? [] : [createOwnerAuthenticator(local.ownerToken)]),
        computers.authenticator,
        ...identity.authenticators,
        composed.authenticator,
      ],
      routes: [
        ...areas.flatMap(({ routes }) => routes),
        ...(local?.pairing ?? noComputerHere),
        metricsRoute(metrics, log),
      ],
      meter,
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
          .catch((fault) =>
            log.error('The push subscriptions of an ended session could not be removed.', { fault: String(fault) }),
          );
      }
      if (!('userId' in ended)) return;
      computers.computers
        .list(ended.userId)
        .then((list) => {
          for (const { id } of list) linkEnd.end?.(id, 'its person is disabled');
        })
        .catch((fault) => log.error('The links of a person could not be ended.', { fault: String(fault) }));
    });
    closing.add('sign-ins', stopEnding);
    const stopCutting = composed.onEnded((id) => {
      dispatcher.cut(({ computerId }) => computerId === id);
      connectorEvents
        .pairingEnded(id)
        .catch((fault) =>
          log.error('The connector subscriptions of a removed computer could not be ended.', { fault: String(fault) }),
        );
      phone
        .pairingEnded(id)
        .catch((fault) =>
          log.error('The phone assignments of a removed computer could not be ended.', { fault: String(fault) }),
        );
    });
    closing.add('pairings that end', stopCutting);
    // Before any computer can dial in: what is held until then would not be woken.
    const stopWaking = link.onChange((computerId, isLinked) => {
      if (!isLinked) {
        linked.delete(computerId);
        return;
      }
      linked.add(computerId);
      approvals.wake(computerId);
      triggers.wake(computerId);
      connectorEvents.wake(computerId);
      phone.wake(computerId);
    });
    closing.add('waking', stopWaking);
    options.listener.serve(
      createWebListener({ dispatcher, log, folder: options.rendererFolder, edgeUrl: ownEdge }),
      upgrade === undefined
        ? undefined
        : createUpgradeListener({
            guard: createGuard(listener),
            dialled: { path: linkPath, take: upgrade },
            between: between === undefined ? undefined : { mount: pipeMount, take: between },
          }),
    );
    await notifications.start();
    await approvals.start();
    await triggers.start();
    await connectorEvents.start();
    await phone.start();
    await edge.start();
    await work.start();
    await hosted.start();
    daily.start();
    rows.start();
    closing.add('web requests', async () => {
      dispatcher.close(stopReason);
      // Closed together, because computers' connections are open at this listener.
      await Promise.all([options.listener.close(), linkEnd.close()]);
    });
    return {
      origin,
      notices: store.notices,
      routes: dispatcher.routes,
      checks,
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
