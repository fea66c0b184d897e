/**
 * Composition root of the cloud API: identity, the factory proxy and the web interface. Embedded in one process with a
 * runtime on 127.0.0.1:3010, or headless for many people; what differs is passed in. It reaches a runtime only over the
 * link.
 */
import { createIdentity, type IdentityDeps } from '../cloud-api/identity/index.ts';
import { createStoreClock } from '../cloud-api/work-queue/index.ts';
import { edgeBase } from '../contracts/edge/routes.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import { createEgressMeter } from '../kit/egress/egress-metrics.ts';
import { createAddressOf } from '../kit/http/client-address.ts';
import { createHttpMeter } from '../kit/http/http-meter.ts';
import { localUserId } from '../kit/http/principals.ts';
import { createLaneMetrics } from '../kit/lane/lane-metrics.ts';
import { openSharedStore } from '../kit/store/open-shared-store.ts';
import { measureWrites } from '../kit/store/store-metrics.ts';
import { type Closing, createClosing } from './closing.ts';
import { type CloudAreas, type CloudParts, composeAreas } from './cloud-areas.ts';
import { followEndings } from './cloud-endings.ts';
import { cloudMetrics } from './cloud-metrics.ts';
import { cloudMigrations } from './cloud-migrations.ts';
import type { Cloud, CloudOptions } from './cloud-options.ts';
import { composeComputers } from './computers.ts';
import { stopReason } from './engine-server.ts';
import { packageVersion } from './places.ts';
import { databaseCheck } from './runtime-checks.ts';
import { ownEdgeOf, serveCloud } from './serve-cloud.ts';
import { serveCluster } from './serve-cluster.ts';
import { checkSharedSecrets } from './shared-secrets.ts';
import { cloudRows, watchRows } from './watched-rows.ts';

const closeLimitMs = 2_000;

export async function createCloud(options: CloudOptions): Promise<Cloud> {
  const { log } = options;
  const closing = createClosing({
    limitMs: closeLimitMs,
    onFault: (step, fault) => log.error('cloud did not close cleanly', { step, fault: String(fault) }),
  });
  try {
    const opened = await openStore(options, closing);
    const { store, rows, checks } = opened;
    const parts = await composeParts(options, opened, closing);
    const areas = await composeAreas(parts, closing);
    const dispatcher = serveCloud(parts, areas);
    serveCluster(parts, areas, closing);
    // In the same turn as serving, before any computer can dial in: what is held until then would not be woken.
    followEndings(parts, areas, dispatcher, closing);
    await startAreas(areas);
    rows.start();
    const { linkEnd } = parts.composed;
    closing.add('web requests', async () => {
      dispatcher.close(stopReason);
      // Closed together, because computers' connections are open at this listener.
      await Promise.all([options.listener.close(), linkEnd.close()]);
    });
    return {
      origin: parts.origin,
      notices: store.notices,
      routes: dispatcher.routes,
      checks,
      openUrl: (next) => parts.identity.createOpenUrl(next),
      close: () => closing.close(),
    };
  } catch (error) {
    await closing.close();
    throw error;
  }
}

async function openStore(options: CloudOptions, closing: Closing) {
  const { clock, log } = options;
  const { store, metrics } = measureWrites(
    await (options.openStore ?? openSharedStore)({
      databaseUrl: options.databaseUrl ?? null,
      file: options.databaseFile,
      migrations: cloudMigrations,
      clock,
      remember: options.telemetry?.remember,
      tell: (sentence) => log.warn('database', { said: sentence }),
    }),
  );
  closing.add('database', () => store.close());
  const rows = watchRows({ store, tables: cloudRows, file: options.databaseFile, clock, log });
  closing.add('checks of rows', () => rows.close());
  const database = store.engine === 'sqlite' ? options.databaseFile : 'The PostgreSQL database';
  const checks = async () => [
    { ...databaseCheck(database, store.trouble()), name: 'Database of the cloud' },
    ...(await rows.checks()),
  ];
  await checkSharedSecrets(store, options);
  return { store, metrics, rows, checks };
}

/** Who may call, and the computers that are reached: what every area needs. */
async function composeParts(
  options: CloudOptions,
  { store, metrics: ofStore, checks }: Awaited<ReturnType<typeof openStore>>,
  closing: Closing,
): Promise<CloudParts> {
  const { mode, clock, ids, log, gantry } = options;
  const origin = mode.kind === 'embedded' ? `http://127.0.0.1:${options.listener.port}` : mode.baseUrl;
  const local = mode.kind === 'embedded' ? mode : null;
  const edgeUrl = ownEdgeOf(mode) ?? `${origin}${edgeBase}`;
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
  const outboxes = createLaneMetrics(clock);
  const meter = createHttpMeter();
  const egress = createEgressMeter(['pushes', 'edge']);
  const linked = new Set(local === null ? [] : [local.computer.id]);
  const metrics = cloudMetrics({
    store,
    clock,
    linked: () => linked.size,
    parts: [options.telemetry?.metrics ?? [], meter.metrics, ofStore, outboxes.metrics, egress.metrics],
  });
  const { masterKey, telemetry } = options;
  const base = { store, clock, timers: systemTimers, ids, log, masterKey, origin, egress, outboxes, telemetry };
  return { ...given, base, edgeUrl, composed, meter, metrics, linked };
}

async function startAreas(areas: CloudAreas): Promise<void> {
  await areas.notifications.start();
  await areas.approvals.start();
  await areas.triggers.start();
  await areas.connectorEvents.start();
  await areas.phone.start();
  await areas.edge.start();
  await areas.work.start();
  await areas.hosted.start();
  areas.daily.start();
}

function waysIn(mode: CloudOptions['mode'], openCommand: string): IdentityDeps['mode'] {
  if (mode.kind === 'headless') return mode;
  const owner = { userId: localUserId, name: mode.userName };
  return { kind: mode.kind, owner, computer: mode.computer, openCommand };
}
