/**
 * The areas of a cloud, composed in the order in which they need each other: what everything reports to and asks, what comes from outside for computers,
 * and what reaches computers. Each is added to `closing`. Must not know the listener.
 */

import { createApprovals } from '../cloud-api/approvals/index.ts';
import { createComputerUse } from '../cloud-api/computer-use/index.ts';
import { createConnectorEvents } from '../cloud-api/connector-events/index.ts';
import { createEvents } from '../cloud-api/events/index.ts';
import { createFactoryProxy } from '../cloud-api/factory/index.ts';
import { createToPeers } from '../cloud-api/factory/to-peers.ts';
import {
  createDockerDriver,
  createHostedComputers,
  createKubernetesDriver,
  createNamespaceDriver,
} from '../cloud-api/hosted-computers/index.ts';
import type { Identity } from '../cloud-api/identity/index.ts';
import { createRuntimeCalls } from '../cloud-api/link/call-runtime.ts';
import { createEngines } from '../cloud-api/link/engines.ts';
import { createToolServer } from '../cloud-api/tool-server/index.ts';
import { createTriggerEndpoint } from '../cloud-api/triggers/index.ts';
import { createUsage } from '../cloud-api/usage/index.ts';
import { createWorkQueue } from '../cloud-api/work-queue/index.ts';
import type { AddressOf } from '../kit/http/client-address.ts';
import type { HttpMeter } from '../kit/http/http-meter.ts';
import type { BoundRoute, OwnerLookups } from '../kit/http/types.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import type { SharedStore } from '../kit/store/shared-store.ts';
import type { Closing } from './closing.ts';
import { type CloudBase, openOutbox } from './cloud-base.ts';
import type { cloudMetrics } from './cloud-metrics.ts';
import type { CloudOptions, EmbeddedMode, LinkParts } from './cloud-options.ts';
import type { ComposedComputers } from './computers.ts';
import { createDaily } from './daily.ts';
import { composeEdge } from './edge.ts';
import { composeNotifications } from './notifications.ts';
import { composePhone } from './phone.ts';
import { packageVersion } from './places.ts';
import { defaultPushSettings } from './push-settings.ts';

/** An eighth of them is one person's: a hundred subscriptions that all wait for one computer must not go there by twos. */
const eventLanes = 128;
/** A bot waits for the answer, and the engine of the same process is up within a second. */
const answerBackoffMs = [200, 500, 1000, 1000, 2000, 5000, 10_000, 30_000];

/** What each area gives to the one dispatcher. */
interface Area {
  readonly routes: readonly BoundRoute[];
  readonly owners?: OwnerLookups;
}

/** What a cloud has before its areas. */
export interface CloudParts extends CloudOptions {
  readonly store: SharedStore;
  readonly storeClock: LinkParts['storeClock'];
  readonly identity: Identity;
  readonly composed: ComposedComputers;
  /** The mode, where the runtime is in the same process. */
  readonly local: EmbeddedMode | null;
  readonly origin: string;
  readonly edgeUrl: string;
  readonly addressOf: AddressOf;
  /** What every area receives. */
  readonly base: CloudBase;
  readonly meter: HttpMeter;
  readonly metrics: ReturnType<typeof cloudMetrics>;
  /** Computers that are linked now. */
  readonly linked: Set<string>;
}

export async function composeAreas(parts: CloudParts, closing: Closing) {
  const { base, storeClock: clock, identity, composed, local, origin, log } = parts;
  const { link } = composed.linkEnd;
  const core = await composeCore(parts, closing);
  const engines = createEngines({ link, computers: composed.lookup });
  closing.add('link', () => engines.close());
  const advice =
    local === null ? 'Check that Gantry is running on that computer.' : `Start it with ${parts.gantry} start.`;
  const ownerOf = async (computerId: string) => (await composed.devices.find(computerId))?.userId ?? null;
  const reach = { engines, advice, ownerOf };
  const incoming = await composeIncoming(parts, core, reach, closing);
  const { approvals, events, notifications, usage, hosted, work } = core;
  const { triggers, edge, connectorEvents, phone } = incoming;
  const daily = createDaily({
    ...base,
    clock,
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
      list: (userId) => composed.area.computers.list(userId),
    },
    advice,
    approvals: approvals.service,
    hosted: hosted.devices,
    clock: base.clock,
    timers: base.timers,
  });
  const toPeers = createToPeers({ link, computers: composed.area.computers, tickets: composed.tickets });
  closing.add('ways to other computers', () => toPeers.close());
  const areas: readonly Area[] = [
    identity,
    composed.area,
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
  return {
    ...core,
    ...incoming,
    daily,
    routes: areas.flatMap(({ routes }) => routes),
    owners: Object.assign({}, ...areas.map(({ owners }) => owners)) as OwnerLookups,
  };
}

export type CloudAreas = Awaited<ReturnType<typeof composeAreas>>;

/** What other areas report to and ask: calls to computers, events, approvals, notifications, usage; and those that need only these. */
async function composeCore(parts: CloudParts, closing: Closing) {
  const { base, storeClock, identity, composed } = parts;
  const { clock, telemetry } = base;
  const runtimes = createRuntimeCalls({
    link: composed.linkEnd.link,
    devices: composed.devices,
    clock,
    trace: telemetry?.carry,
  });
  closing.add('calls to computers', () => runtimes.close());
  const events = createEvents({ store: base.store, clock, ids: base.ids });
  const approvals = createApprovals({
    ...base,
    events: events.backbone,
    call: (computerId, request) => runtimes.call(computerId, request),
    openLanes: (send) =>
      openOutbox(base, {
        name: 'answers',
        send,
        backoffMs: answerBackoffMs,
        failed: 'An answer to an approval could not be sent.',
      }),
  });
  closing.add('approvals', () => approvals.close());
  const notifications = await composeNotifications({
    ...base,
    push: parts.push ?? defaultPushSettings,
    events: events.backbone,
    approvals: approvals.service,
    admits: (userId) => identity.admits(userId),
    computers: (userId) => composed.area.computers.list(userId),
  });
  closing.add('notifications', () => notifications.close());
  const usage = createUsage({ ...base, events: events.backbone });
  const hosted = createHostedComputers({
    ...base,
    clock: storeClock,
    usage,
    driver: parts.hostedDriver ?? openDriver(parts),
    bounds: parts.computerBounds,
    hosted: composed.hosted.link,
    credentials: composed.hosted.credentials,
    projects: identity.projects,
  });
  closing.add('hosted computers', () => hosted.close());
  const work = createWorkQueue({ ...base, clock: storeClock, trace: telemetry?.carry, images: parts.taskImages });
  closing.add('work queue', () => work.close());
  return { runtimes, events, approvals, notifications, usage, hosted, work };
}

function openDriver({ computersFolder: folder, computersEngine, computersCluster, origin, base }: CloudParts) {
  const { clock, timers, log, masterKey } = base;
  if (computersCluster != null) {
    // All replicas have the key, and another Gantry in the same cluster has another one.
    const sealer = createSealer({ masterKey, purpose: 'hosted computer' });
    const installation = sealer.derive('installation in a cluster').toString('hex').slice(0, 10);
    return createKubernetesDriver({ settings: computersCluster, installation, origin, clock, timers, log });
  }
  if (computersEngine == null) return { joined: createNamespaceDriver({ folder, timers }) };
  const cloudHost = new URL(origin).hostname;
  return createDockerDriver({ settings: computersEngine, folder, cloudHost, clock, timers, log });
}

/** What comes from outside for a computer's bots: triggers, calls of clients at the edge, events of connectors, texts and calls. */
async function composeIncoming(
  parts: CloudParts,
  { runtimes, events, approvals, notifications, usage, hosted }: Awaited<ReturnType<typeof composeCore>>,
  reach: {
    readonly engines: ReturnType<typeof createEngines>;
    readonly advice: string;
    readonly ownerOf: (computerId: string) => Promise<string | null>;
  },
  closing: Closing,
) {
  const { base, identity, composed, edgeUrl, addressOf } = parts;
  const { engines, advice, ownerOf } = reach;
  const { link } = composed.linkEnd;
  const triggers = createTriggerEndpoint({
    ...base,
    ownerOf,
    call: (computerId, request) => runtimes.call(computerId, request),
    openLanes: (send) =>
      openOutbox(base, { name: 'triggers', send, failed: 'A trigger event could not be delivered.' }),
  });
  closing.add('triggers', () => triggers.close());
  const edge = composeEdge({
    ...base,
    identity,
    engines,
    link,
    advice,
    edgeUrl,
    events: events.backbone,
    allow: (parts.push ?? defaultPushSettings).allow,
  });
  closing.add('edge', () => edge.close());
  const connectorEvents = createConnectorEvents({
    ...base,
    link,
    engines,
    advice,
    ownerOf,
    sealer: createSealer({ masterKey: base.masterKey, purpose: 'connector events' }),
    call: (computerId, request) => runtimes.call(computerId, request),
    openLanes: (how) =>
      openOutbox(base, {
        name: 'connector-events',
        ...how,
        parallel: eventLanes,
        failed: 'A connector event could not be delivered.',
      }),
  });
  closing.add('events of connectors', () => connectorEvents.close());
  const phone = await composePhone({
    ...base,
    addressOf,
    hosted,
    ownerOf,
    recordUsage: usage.record,
    settings: parts.phone ?? null,
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
  return { triggers, edge, connectorEvents, phone };
}
