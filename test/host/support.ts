/** Engine and cloud API as one pair in a scratch folder, with the routes of a test in place of the factory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Link } from '../../src/cloud-api/link/link.ts';
import { createLocalLink } from '../../src/cloud-api/link/local-link.ts';
import { capabilities } from '../../src/contracts/link/knows.ts';
import { localPairingRoutes } from '../../src/contracts/link/local-pairing.ts';
import { createClosing } from '../../src/host/closing.ts';
import { createCloud } from '../../src/host/cloud.ts';
import type { CloudOptions } from '../../src/host/cloud-options.ts';
import { openDataFolder } from '../../src/host/data-folder.ts';
import { openEngineListeners } from '../../src/host/engine-server.ts';
import { openPort } from '../../src/host/listeners.ts';
import { placesIn } from '../../src/host/places.ts';
import { runtimeMigrations } from '../../src/host/runtime-migrations.ts';
import { type Clock, systemClock } from '../../src/kit/clock/clock.ts';
import { systemTimers } from '../../src/kit/clock/timers.ts';
import { createBotTokens } from '../../src/kit/http/bot-tokens.ts';
import { createIdempotency } from '../../src/kit/http/idempotency.ts';
import { createLinkAuthenticator, createOwnerAuthenticator, localUserId } from '../../src/kit/http/principals.ts';
import type { BoundRoute, OwnerLookups } from '../../src/kit/http/types.ts';
import { createIds } from '../../src/kit/ids/ids.ts';
import { createLanes } from '../../src/kit/lane/create-lanes.ts';
import { createLedger } from '../../src/kit/ledger/create-ledger.ts';
import { newToken } from '../../src/kit/secrets/token-file.ts';
import { createDeviceAuthenticator } from '../../src/kit/signing/authenticator.ts';
import { signingKey } from '../../src/kit/signing/signature.ts';
import { createSignedCaller } from '../../src/kit/signing/signed-call.ts';
import { openStore } from '../../src/kit/store/open-store.ts';
import { shareStore } from '../../src/kit/store/share-store.ts';
import {
  type CallHome,
  createHeldApprovals,
  type HeldApprovalsDeps,
} from '../../src/runtime-server/approvals/index.ts';
import { caller, type LogLine, onEnd } from '../kit/http/support.ts';

export function scratchHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'gantry-'));
  onEnd(async () => rmSync(home, { recursive: true, force: true }));
  return home;
}

export interface MovableClock extends Clock {
  move(ms: number): void;
}

export function movableClock(): MovableClock {
  let ahead = 0;
  return {
    now: () => systemClock.now() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
    move: (ms) => {
      ahead += ms;
    },
  };
}

/** The pairing of a computer that never is. */
const unpaired: readonly BoundRoute[] = localPairingRoutes.map((route) => ({
  route,
  handler: () => ({ body: { state: 'unpaired' as const } }),
}));

export interface PairOptions {
  readonly routes?: readonly BoundRoute[];
  readonly owners?: OwnerLookups;
  readonly home?: string;
  readonly clock?: Clock;
  readonly cloud?: Partial<CloudOptions>;
  readonly wrapLink?: (link: Link) => Link;
  /** What else the computer's desk is given, such as another way to its cloud. */
  readonly held?: (call: CallHome) => Partial<HeldApprovalsDeps>;
}

export async function startPair({
  routes = [],
  owners = {},
  home = scratchHome(),
  clock = systemClock,
  cloud,
  wrapLink = (link) => link,
  held = () => ({}),
}: PairOptions) {
  const lines: LogLine[] = [];
  const push = (message: string, fields?: Record<string, unknown>) => void lines.push({ message, fields });
  const log = { warn: push, error: push };
  const ids = createIds(clock);
  const places = placesIn(home);
  const folder = openDataFolder({ places, clock, ids, gantry: 'gantry' });
  const closing = createClosing({ limitMs: 5000, onFault: (name, fault) => push(`closing ${name}: ${fault}`) });
  closing.add('folder', () => folder.release());
  const store = await openStore({
    file: places.runtimeDb,
    migrations: runtimeMigrations,
    clock,
  });
  closing.add('store', () => store.close());
  const bots = await createBotTokens({ store, clock, userId: localUserId });
  const linkToken = newToken();
  const deviceToken = newToken();
  const listeners = await openEngineListeners(places, 0, closing);
  const deviceKey = signingKey(deviceToken);
  const ledger = await createLedger({ store, clock, ids });
  const homeCloud = { host: '127.0.0.1', port: 0 };
  const call = createSignedCaller({
    runtimeId: folder.computer.id,
    key: deviceKey,
    clock,
    target: () => homeCloud,
  });
  const { approvals, routes: heldRoutes } = createHeldApprovals({
    knows: () => Promise.resolve(new Set(capabilities)),
    cloudAheadMs: () => 0,
    store,
    ledger,
    clock,
    timers: systemTimers,
    ids,
    log,
    ownerId: localUserId,
    openLanes: (send) => createLanes({ store, clock, name: 'cloud', send, backoffMs: [100] }),
    call,
    ...held(call),
  });
  closing.add('desk', () => approvals.close());
  const engine = listeners.serve({
    routes: [
      ...routes,
      ...[...heldRoutes, ...unpaired].filter(({ route }) => !routes.some((given) => given.route.op === route.op)),
    ],
    owners,
    authenticators: [
      createOwnerAuthenticator(folder.ownerToken),
      bots.authenticator,
      createDeviceAuthenticator({
        store: shareStore(store),
        clock,
        find: (id) => (id === folder.computer.id ? { userId: localUserId, keys: [deviceKey] } : null),
      }),
    ],
    linkAuthenticator: createLinkAuthenticator(linkToken),
    ids,
    log,
    idempotency: createIdempotency(shareStore(store), clock),
    answers: 'throw',
  });
  const listener = await openPort(0, '--port');
  homeCloud.port = listener.port;
  const web = await createCloud({
    databaseFile: places.cloudDb,
    listener,
    openLink: () => ({
      link: wrapLink(
        createLocalLink({
          computerId: folder.computer.id,
          path: places.engineSocket,
          token: linkToken,
          since: clock.now(),
        }),
      ),
      close() {},
    }),
    masterKey: folder.masterKey,
    internalToken: folder.internalToken,
    mode: {
      kind: 'embedded',
      ownerToken: folder.ownerToken,
      device: { computerId: folder.computer.id, userId: localUserId, token: deviceToken },
      computer: folder.computer,
      userName: 'Ada',
    },
    clock,
    ids,
    log,
    gantry: 'gantry',
    answers: 'throw',
    ...cloud,
  });
  await approvals.start();
  let closed = false;
  const stopEngine = () => closing.close();
  const close = async () => {
    if (closed) return;
    closed = true;
    await web.close();
    await listener.close();
    await stopEngine();
  };
  onEnd(close);
  return {
    places,
    lines,
    bots,
    approvals,
    ledger,
    /** Where the computer looks for its cloud. */
    homeCloud,
    store,
    device: { runtimeId: folder.computer.id, key: deviceKey, token: deviceToken },
    engine,
    web,
    webPort: listener.port,
    enginePort: listeners.port,
    linkToken,
    ownerToken: folder.ownerToken,
    computer: folder.computer,
    callWeb: caller(listener.port, folder.ownerToken),
    callEngine: caller(listeners.port, folder.ownerToken),
    stopEngine,
    close,
  };
}

/** Opens the one-time address as a browser would and answers the cookie. */
export async function signIn(pair: Awaited<ReturnType<typeof startPair>>): Promise<string> {
  const { url } = await pair.web.openUrl();
  const reply = await pair.callWeb('GET', url.slice(pair.web.origin.length), { token: null });
  return String(reply.headers['set-cookie']?.[0]).split(';')[0]!;
}
