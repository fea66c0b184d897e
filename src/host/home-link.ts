/**
 * Connects a runtime to its home cloud: the pairing, what is sent home, the link that the runtime dials while it is paired, and who may use it. Owns
 * that these change together.
 */

import type { HomeConnection } from '../cloud-api/home/index.ts';
import type { DoctorCheck } from '../contracts/common/doctor-check.ts';
import { skewWords } from '../contracts/link/knows.ts';
import type { Clock } from '../kit/clock/clock.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import { createLinkTokens, createPairedLinkAuthenticator } from '../kit/http/paired-link.ts';
import { localUserId } from '../kit/http/principals.ts';
import type { Authenticator, BoundRoute } from '../kit/http/types.ts';
import type { Ids } from '../kit/ids/ids.ts';
import type { Log } from '../kit/log/log.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { createDeviceAuthenticator } from '../kit/signing/authenticator.ts';
import { shareStore } from '../kit/store/share-store.ts';
import type { Store } from '../kit/store/store.ts';
import { createAskCloud } from '../runtime-server/link/ask-cloud.ts';
import { createDialer } from '../runtime-server/link/dialer.ts';
import { createHome, type Home, type HomeNow, type PairedHome } from '../runtime-server/link/home.ts';
import { createHomeSecrets } from '../runtime-server/link/home-secrets.ts';
import { createPairing, type Pairing, type PairingDeps } from '../runtime-server/link/pairing.ts';
import { localPairingRoutes } from '../runtime-server/link/routes.ts';
import type { DataFolder } from './data-folder.ts';
import { packageVersion } from './places.ts';
import { userName } from './user-name.ts';

export interface HomeLink {
  readonly home: Home;
  readonly pairing: Pairing;
  readonly routes: readonly BoundRoute[];
  /** Clouds by their signature: the home, and the one of the same process. */
  readonly device: Authenticator;
  /** The person of the pairing, only over the link. */
  readonly paired: Authenticator;
  /** How the server of the same process goes home. */
  readonly connection: HomeConnection;
  /** What peers check tickets with. */
  readonly tickets: {
    current(): {
      keys: PairedHome['ticketKeys'];
      computerId: string;
      issuer: string;
      user: string;
      aheadMs: number;
    } | null;
    onChange(listener: () => void): () => void;
  };
  /** Names the cloud and the person there; null while this computer is not paired. */
  pairedWith(): string | null;
  checks(): DoctorCheck[];
  /** Reads the pairing file: from here on home is what it will be. */
  load(): Promise<void>;
  /** Begins to dial while this computer is paired. */
  dial(serve: Parameters<typeof createDialer>[0]['serve']): void;
  /** The computer goes to sleep (the link is let go of, so that its cloud knows) or is back (it is dialled at once). */
  rest(asleep: boolean): void;
  /** The home is another one; told at most once for each. */
  onHome(listener: (home: HomeNow) => void): void;
  /** The link came up: whatever waits for home can go. */
  onLinked(listener: () => void): void;
  close(): Promise<void>;
}

export function createHomeLink(deps: {
  readonly folder: DataFolder;
  readonly store: Store;
  /** Signs towards the embedded cloud. */
  readonly deviceToken: string;
  /** Address of the embedded cloud; null without one. */
  readonly embedded: () => { readonly host: string; readonly port: number } | null;
  readonly waiting: PairingDeps['waiting'];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}): HomeLink {
  const { folder, store, clock, ids, log } = deps;
  const { computer, places, masterKey } = folder;
  const home = createHome({
    clock,
    computerId: computer.id,
    user: { id: localUserId, name: userName() },
    token: deps.deviceToken,
    embedded: deps.embedded,
    onFault: (fault) => log.error('A change of the home cloud could not be applied.', { fault }),
  });
  const tokens = createLinkTokens();
  let serve: Parameters<typeof createDialer>[0]['serve'] | null = null;
  const dialer = createDialer({
    home: () => pairedOf(home.current()),
    serve: {
      engine: (connection) => (serve === null ? connection.destroy() : serve.engine(connection)),
      peer: (connection) => (serve === null ? connection.destroy() : serve.peer(connection)),
    },
    linkToken: () => tokens.next(),
    clock,
    timers: systemTimers,
    random: Math.random,
    log,
  });
  const pairing = createPairing({
    home,
    secrets: createHomeSecrets({ store, sealer: createSealer({ masterKey, purpose: 'device' }) }),
    cloud: createAskCloud({ fetch: (url, init) => fetch(url, init), now: () => clock.now() }),
    file: places.pairing,
    computer,
    version: packageVersion(),
    waiting: deps.waiting,
    link: () => (home.current().kind === 'paired' ? dialer.state() : null),
    clock,
    timers: systemTimers,
    ids,
    log,
  });

  /** One change of the link at a time: the one of the home before must be down before the next is dialled. */
  let changing: Promise<void> = Promise.resolve();
  let asleep = false;
  const follow = () => {
    changing = changing
      .then(() => dialer.stop())
      .then(() => {
        if (serve !== null && !asleep && home.current().kind === 'paired') dialer.start();
      })
      .catch((fault: unknown) => log.error('The link could not follow the pairing.', { fault }));
  };
  home.onChange(follow);
  dialer.onChange((linked) => (linked ? pairing.linked() : undefined));

  return {
    home,
    pairing,
    routes: localPairingRoutes(pairing),
    connection: {
      current() {
        const now = pairedOf(home.current());
        if (now === null) return null;
        return { cloudUrl: now.cloudUrl, credential: now.credential, computerId: now.computerId };
      },
      onChange: (listener) => home.onChange(() => listener()),
      link: { state: () => dialer.state(), onChange: (listener) => dialer.onChange(() => listener()) },
    },
    device: createDeviceAuthenticator({
      store: shareStore(store),
      clock,
      find: (id) => {
        const keys = home.keysOf(id);
        return keys.length === 0 ? null : { userId: localUserId, keys };
      },
    }),
    paired: createPairedLinkAuthenticator({ tokens, user: () => pairedOf(home.current())?.user.id ?? null }),
    tickets: {
      current() {
        const now = pairedOf(home.current());
        if (now === null) return null;
        return {
          keys: now.ticketKeys,
          computerId: now.computerId,
          issuer: now.cloudUrl,
          user: now.user.id,
          aheadMs: home.aheadMs() ?? 0,
        };
      },
      onChange: (listener) => home.onChange(() => listener()),
    },
    pairedWith() {
      const now = pairedOf(home.current());
      return now === null ? null : `${now.cloudUrl} ${now.user.id}`;
    },
    checks: () => [pairingCheck(pairing, home.current()), ...clockChecks(pairing)],
    load: () => pairing.start(),
    onHome: (listener) => void home.onChange(listener),
    onLinked: (listener) => void dialer.onChange((linked) => (linked ? listener() : undefined)),
    dial(given) {
      serve = given;
      if (home.current().kind === 'paired') dialer.start();
    },
    rest(sleeps) {
      asleep = sleeps;
      follow();
    },
    async close() {
      pairing.close();
      serve = null;
      await changing;
      await dialer.stop();
    },
  };
}

function pairedOf(home: HomeNow): PairedHome | null {
  return home.kind === 'paired' ? home : null;
}

/** A clock that is off is worked around, and told: times that it writes and shows are wrong all the same. */
function clockChecks(pairing: Pairing): DoctorCheck[] {
  const { clockBehindMs, cloudUrl } = pairing.status();
  if (clockBehindMs === undefined) return [];
  const common = { name: 'Clock', group: 'workspace', version: null } as const;
  const skew = skewWords(-clockBehindMs);
  if (skew === null)
    return [{ ...common, state: 'ok', detail: `This computer’s clock agrees with ${cloudUrl}.`, fix: null }];
  const detail = `This computer’s clock is ${skew} ${cloudUrl}.`;
  return [{ ...common, state: 'warn', detail, fix: 'Correct this computer’s time, or turn on automatic time (NTP)' }];
}

function pairingCheck(pairing: Pairing, home: HomeNow): DoctorCheck {
  const problem = pairing.problem();
  const common = { name: 'Pairing', group: 'workspace', version: null } as const;
  if (problem !== null) {
    return { ...common, state: 'warn', detail: problem, fix: 'Pair this computer again: gantry pair <address>' };
  }
  if (home.kind === 'embedded') {
    return { ...common, state: 'ok', detail: 'Not paired: this computer is its own home.', fix: null };
  }
  const { link, problem: why } = pairing.status();
  const away = link?.linked === false ? ` Its link is down since ${link.since}. ${why ?? ''}`.trimEnd() : '';
  const detail = `Paired with ${home.cloudUrl} as ${home.user.name}.${away}`;
  return {
    ...common,
    state: away === '' ? 'ok' : 'warn',
    detail,
    fix: away === '' ? null : `Check that ${home.cloudUrl} can be reached from here and still lists this computer`,
  };
}
