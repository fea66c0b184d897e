/** A cloud of many people with a real OpenID provider, as `gantry cloud` starts it. */
import type { CloudSettings } from '../../../src/host/cloud-settings.ts';
import { type Headless, type HeadlessOptions, startHeadless } from '../../../src/host/headless.ts';
import { placesIn } from '../../../src/host/places.ts';
import { defaultPushSettings } from '../../../src/host/push-settings.ts';
import { readTokenFile } from '../../../src/kit/secrets/token-file.ts';
import { type MovableClock, movableClock, scratchHome } from '../../host/support.ts';
import { type Call, caller, onEnd } from '../../kit/http/support.ts';
import { freePort } from '../../support/free-port.ts';
import { type OidcProvider, startOidcProvider } from '../../support/oidc-provider.ts';

export interface PeopleOptions {
  readonly home?: string;
  readonly clock?: MovableClock;
  readonly provider?: OidcProvider;
  readonly port?: number;
  /** Another address than the one it listens on, as behind a proxy. */
  readonly baseUrl?: string;
  readonly settings?: Partial<CloudSettings>;
  readonly openStore?: HeadlessOptions['openStore'];
}

export interface People {
  readonly cloud: Headless;
  readonly provider: OidcProvider;
  readonly clock: MovableClock;
  readonly origin: string;
  readonly port: number;
  readonly home: string;
  readonly internalToken: string;
  /** Without a credential unless told. */
  readonly call: Call;
}

export async function startPeople(options: PeopleOptions = {}): Promise<People> {
  const { home = scratchHome(), clock = movableClock() } = options;
  const port = options.port ?? (await freePort());
  const origin = options.baseUrl ?? `http://127.0.0.1:${port}`;
  const provider = options.provider ?? (await startOidcProvider({ origins: [origin] }));
  if (options.provider === undefined) onEnd(() => provider.close());
  const cloud = await startHeadless({
    gantry: 'gantry',
    clock,
    answers: 'throw',
    openStore: options.openStore,
    settings: {
      home,
      baseUrl: origin,
      listen: { host: '127.0.0.1', port },
      oidc: { issuer: provider.issuer, clientId: provider.clientId, clientSecret: provider.clientSecret },
      trustedProxies: [],
      push: defaultPushSettings,
      replicaUrl: null,
      databaseUrl: null,
      ...options.settings,
    },
  });
  onEnd(() => cloud.close());
  const internalToken = readTokenFile(placesIn(home).internalToken);
  return { cloud, provider, clock, origin, port, home, internalToken, call: caller(port, null) };
}

export interface Person {
  readonly id: string;
  readonly cookie: string;
  /** With the cookie, and with the page's own header. */
  readonly call: Call;
}

/** Somebody whose cookie this is, as their browser's page calls. */
export async function personWith(people: Pick<People, 'call'>, cookie: string): Promise<Person> {
  const me = await people.call('GET', '/api/v1/session', { headers: { cookie } });
  const csrf = String(me.json.csrf);
  return {
    id: String(me.json.user),
    cookie,
    call: (method, path, options = {}) =>
      people.call(method, path, { ...options, headers: { cookie, 'x-platform-csrf': csrf, ...options.headers } }),
  };
}
