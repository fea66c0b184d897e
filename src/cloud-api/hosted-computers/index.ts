/**
 * Hosted computers: computers of a project that programs make, drive and pay for. Calls are relayed to the executor inside each. Provides the routes,
 * the port of computer use, and the periodic work. Must not know how a computer is made.
 */
import type { Timers } from '../../kit/clock/timers.ts';
import type { BoundRoute, OwnerLookups } from '../../kit/http/types.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Metric } from '../../kit/metrics/metric.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import type { RecordUsage } from '../usage/index.ts';
import { createHostedApprovals } from './approvals.ts';
import type { ComputerBounds } from './bounds.ts';
import { createCalls } from './calls.ts';
import { createCaps } from './caps.ts';
import type { Credentials } from './credentials.ts';
import { createDevices, type Devices } from './devices.ts';
import type { HostedDriver, OfferingDriver } from './driver.ts';
import { createEventStream } from './event-stream.ts';
import { hostedMetrics } from './figures.ts';
import { createHostRoutes, createJoinedDriver } from './hosts.ts';
import { createHostsDriver } from './hosts-driver.ts';
import { createHostStore } from './hosts-store.ts';
import { createLifecycle } from './lifecycle.ts';
import { createMeters, pricesIn } from './meters.ts';
import { createPool } from './pool.ts';
import { createAskedProjects, type ProjectsOf } from './projects.ts';
import { createHostedRoutes } from './routes.ts';
import { createHostedSettings } from './settings.ts';
import { createComputerStore } from './store.ts';
import { createTurns } from './turns.ts';
import { createWatch } from './watch.ts';
import { createWays, type HostedLink } from './ways.ts';

export type { ComputerBounds } from './bounds.ts';
export { type Credentials, createCredentials, isHosted } from './credentials.ts';
export { createDockerDriver } from './docker.ts';
export type { HostedDriver, OfferingDriver } from './driver.ts';
export { createKubernetesDriver } from './kubernetes.ts';
export type { KubernetesSettings } from './kubernetes-spec.ts';
export { hostedComputerMigrations } from './migrations.ts';
export { createNamespaceDriver } from './namespace.ts';
export { createTakeOffered } from './offered.ts';
export type { HostedLink } from './ways.ts';

export interface HostedComputers {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  readonly devices: Devices;
  readonly metrics: readonly Metric[];
  /** Compares with the driver, and starts the periodic work. */
  start(): Promise<void>;
  /** Removes computers that were deleted longer ago than the retention. */
  forgetOld(now: number): Promise<void>;
  close(): Promise<void>;
}

/** As long as approvals. */
const retentionMs = 90 * 24 * 3600_000;

export function createHostedComputers(deps: {
  readonly store: SharedStore;
  /** The store's, which replicas share. */
  readonly clock: { now(): number };
  readonly timers: Timers;
  readonly ids: Ids;
  /** `joined`: it also makes computers on further machines, whose computer hosts join. */
  readonly driver: HostedDriver | { readonly joined: OfferingDriver };
  /** What computers may ask for. Default: what the driver allows. */
  readonly bounds?: ComputerBounds | undefined;
  /** How computers dial in. */
  readonly hosted: HostedLink;
  readonly credentials: Pick<Credentials, 'keyOf' | 'tokenOfHost'>;
  readonly projects: ProjectsOf & {
    prices(): Promise<readonly { readonly name: string; readonly cents: number }[]>;
  };
  readonly usage: { readonly record: RecordUsage };
  /** Address of the API, without a slash at the end. */
  readonly origin: string;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): HostedComputers {
  const { store, clock, timers, ids, projects, log } = deps;
  const now = () => clock.now();
  const hosts = createHostStore(store, now);
  const { link, end } = deps.hosted;
  const driver =
    'joined' in deps.driver
      ? createHostsDriver({
          local: deps.driver.joined,
          hosts,
          open: (host) => createJoinedDriver(host, link, timers),
        })
      : deps.driver;
  const bounds = deps.bounds ?? { images: null, lifetime: null };
  const prices = async () => pricesIn(await projects.prices());
  const meters = createMeters(deps.usage.record);
  const computers = createComputerStore({ store, now, meters });
  const settings = createHostedSettings(store);
  const caps = createCaps(settings, now);
  const turns = createTurns({ store, now, ids });
  const ways = createWays({ driver, hosted: deps.hosted, keyOf: deps.credentials.keyOf, now, timers });
  const approvals = createHostedApprovals({ store, now, computers });
  const lifecycle = createLifecycle({ store, computers, turns, driver, ways, prices, log });
  // Its page in the web interface: approvals are below its screen.
  const approveUrl = (computerId: string) => `${deps.origin}/computers?hosted=${computerId}`;
  const calls = createCalls({
    store,
    now,
    ids,
    computers,
    lifecycle,
    ways,
    meters,
    approvals,
    settings,
    caps,
    prices,
    approveUrl,
  });
  const onFault = (fault: unknown) => log.warn('Events of a computer could not be read.', { fault: String(fault) });
  const watch = createWatch({
    store,
    now,
    timers,
    computers,
    lifecycle,
    meters,
    settings,
    projects,
    driver,
    ways,
    prices,
    log,
  });
  return {
    devices: createDevices({ store, timers, computers, projects, settings, calls, ways }),
    owners: {
      'hosted-computer': async ({ userId }, id) => {
        const row = await computers.get(id);
        return row !== null && row.userId === userId && row.phase !== 'deleted';
      },
    },
    routes: [
      ...createHostRoutes({
        hosts,
        ids,
        onlyDriver: 'joined' in deps.driver ? null : deps.driver.name,
        tokenOf: deps.credentials.tokenOfHost,
        link,
        end,
        lost: (computer) => lifecycle.check(computer, now()),
      }),
      ...createHostedRoutes({
        store,
        ids,
        computers,
        lifecycle,
        calls,
        approvals,
        settings,
        caps,
        ways,
        pool: createPool({ settings, computers, driver, bounds }),
        bounds,
        asked: createAskedProjects(projects, computers),
        events: createEventStream(store, computers, onFault),
      }),
    ],
    metrics: hostedMetrics({ computers, driver }),
    async start() {
      await turns.begin();
      watch.start();
    },
    forgetOld: (at) => computers.forget(at - retentionMs),
    async close() {
      await watch.close();
      ways.close();
      driver.close();
    },
  };
}
