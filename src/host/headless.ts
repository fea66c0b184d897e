/** The multi-user cloud API without a runtime, as `gantry cloud` runs it. Computers dial in. */
import { hostname } from 'node:os';
import type { Clock } from '../kit/clock/clock.ts';
import type { DispatcherOptions } from '../kit/http/dispatcher.ts';
import { createCloud } from './cloud.ts';
import type { CloudOptions } from './cloud-options.ts';
import type { CloudSettings } from './cloud-settings.ts';
import { openClusterPort } from './cluster-listener.ts';
import { type CloudFolder, openCloudFolder } from './data-folder.ts';
import { openDialIns } from './dial-ins.ts';
import { openAddress } from './listeners.ts';
import { checkRoomForStreams, maxOpenFiles } from './open-files.ts';
import { openProgram } from './opening.ts';
import { hasPages } from './web-listener.ts';

export interface HeadlessOptions {
  readonly settings: CloudSettings;
  /** How a person calls Gantry from where they read its messages, such as `npx gantry`. */
  readonly gantry: string;
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`; absent: nothing is traced. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
  readonly rendererFolder?: string;
  readonly openStore?: CloudOptions['openStore'];
  readonly limits?: DispatcherOptions['limits'];
  readonly answers?: DispatcherOptions['answers'];
}

export interface Headless {
  /** The public address. */
  readonly origin: string;
  /** Where it listens: `127.0.0.1:3010`. */
  readonly listens: string;
  readonly home: string;
  readonly notices: readonly string[];
  /** Everything in reverse order of start, within 5 s. Idempotent. */
  close(): Promise<void>;
}

/** Fails with `refused` while another instance runs, and with `transport` when the address is taken; nothing is left behind. */
export function startHeadless(options: HeadlessOptions): Promise<Headless> {
  const { settings, gantry } = options;
  const program = { home: settings.home, gantry, env: options.env ?? {}, clock: options.clock };
  const secrets = ({ internalToken }: CloudFolder) => [
    internalToken,
    settings.oidc.clientSecret ?? '',
    settings.databaseUrl ?? '',
    settings.phone?.apiKey ?? '',
  ];
  return openProgram(program, openCloudFolder, { name: 'cloud', secrets }, async (opened) => {
    const { places, folder, clock, ids, log, telemetry, closing } = opened;
    const { host } = settings.listen;
    const { eventStreams } = settings;
    if (eventStreams != null) checkRoomForStreams(eventStreams, maxOpenFiles());
    const listener = await openAddress(settings.listen, 'Choose another with `gantry cloud --listen <host:port>`.');
    closing.add('web port', () => listener.close());
    const { cluster } = settings;
    const clusterListener = cluster == null ? null : await openClusterPort(cluster);
    closing.add('cluster port', () => clusterListener?.close());
    const cloud = await createCloud({
      mode: {
        kind: 'headless',
        baseUrl: settings.baseUrl,
        eventsEdgeUrl: settings.eventsEdgeUrl,
        trustedProxies: settings.trustedProxies,
        oidc: settings.oidc,
        issuerKeysFile: places.issuerKeys,
      },
      databaseFile: places.cloudDb,
      databaseUrl: settings.databaseUrl,
      openStore: options.openStore,
      listener,
      cluster: clusterListener === null ? null : { listener: clusterListener, names: cluster?.names ?? [] },
      openLink: (parts) =>
        openDialIns(parts, {
          address: settings.replicaUrl ?? addressOf(host, listener.port),
          internalToken: folder.internalToken,
          masterKey: folder.masterKey,
          clock,
          ids,
          log,
        }),
      masterKey: folder.masterKey,
      internalToken: folder.internalToken,
      clock,
      ids,
      log,
      telemetry,
      gantry,
      rendererFolder: options.rendererFolder,
      computersFolder: settings.computersFolder,
      computersEngine: settings.computersEngine,
      computersCluster: settings.computersCluster,
      computerBounds: settings.computerBounds,
      push: settings.push,
      taskImages: settings.taskImages,
      phone: settings.phone,
      limits: { ...options.limits, ...(eventStreams == null ? {} : { eventStreams }) },
      answers: options.answers,
    });
    closing.add('cloud', () => cloud.close());
    closing.add('announcement', () => log.info('Gantry is stopping.'));
    const listens = `${host.includes(':') ? `[${host}]` : host}:${listener.port}`;
    folder.announce(cloud.origin, listens);
    log.info('Gantry started.', { origin: cloud.origin, listens });
    return {
      origin: cloud.origin,
      listens,
      home: places.home,
      notices: [...cloud.notices, ...missingPages(options.rendererFolder)],
      close: () => closing.close(),
    };
  });
}

/** Who listens on every address is reached by the name of its machine. */
function addressOf(host: string, port: number): string {
  const name = host === '0.0.0.0' || host === '::' ? hostname() : host;
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

/** On a server nothing but this program was ever started, so nothing has built the pages. */
function missingPages(folder: string | undefined): string[] {
  if (hasPages(folder)) return [];
  return ["The web interface is not built. Run `npm run build` in Gantry's folder."];
}
