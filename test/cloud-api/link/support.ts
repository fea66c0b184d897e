/** The area of computers on a real server, store and dispatcher; only who is signed in comes from a plain bearer. */
import { createDevices } from '../../../src/cloud-api/link/devices.ts';
import { createLinkArea } from '../../../src/cloud-api/link/index.ts';
import { linkMigrations } from '../../../src/cloud-api/link/migrations.ts';
import { createTickets } from '../../../src/cloud-api/link/tickets.ts';
import type { PairingGrant } from '../../../src/contracts/link/pairings.ts';
import type { BoundRoute, Principal } from '../../../src/kit/http/types.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { newToken } from '../../../src/kit/secrets/token-file.ts';
import { createDeviceAuthenticator, signingMigrations } from '../../../src/kit/signing/authenticator.ts';
import { signedHeaders, signingKey } from '../../../src/kit/signing/signature.ts';
import { type CallOptions, onEnd, serve } from '../../kit/http/support.ts';
import { type Engine, engines } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';

export const idOf = (letter: string) => `computer_${letter.repeat(26)}`;
export const issuer = 'https://cloud.example';

export interface CloudOptions {
  readonly routes?: readonly BoundRoute[];
  readonly open?: boolean;
  readonly codes?: string[];
  /** Default: SQLite. */
  readonly engine?: Engine;
}

/** Bearers `ada` and `bob` are signed in by cookie, `oidc ada` by a token of the provider, `home ada` at their computer. */
function people(request: { headers: { authorization?: string } }): Principal | null {
  const [, way = '', name] = /^Bearer (?:(oidc|home)-)?(ada|bob)$/.exec(request.headers.authorization ?? '') ?? [];
  if (name === undefined) return null;
  const via = way === 'home' ? 'home:browser' : way === 'oidc' ? 'oidc' : 'cookie';
  return { kind: 'user', userId: `user_${name}`, scopes: new Set(['agents:read', 'bots:act']), via };
}

export async function startLinkArea({ routes = [], open = true, codes, engine = engines[0]! }: CloudOptions = {}) {
  const clock = createTestClock();
  const ids = createIds(clock);
  const masterKey = newToken();
  const store = await (await engine.place()).open([...signingMigrations, ...linkMigrations], clock);
  const devices = createDevices({ store, sealer: createSealer({ masterKey, purpose: 'device' }), clock });
  const ticketDeps = { store, sealer: createSealer({ masterKey, purpose: 'ticket' }), clock, ids, issuer };
  const tickets = await createTickets(ticketDeps);
  const links = new Map<string, number>();
  const listeners = new Set<(id: string, linked: boolean) => void>();
  const ended: string[] = [];
  const homes = new Map<string, string>();
  const area = createLinkArea({
    store,
    devices,
    tickets,
    link: {
      state: (id) => ({ linked: links.has(id), since: links.get(id) ?? 0 }),
      onChange(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    endLink(id, reason, except) {
      // As dial-ins do: a link of the pairing that is named stays. On PostgreSQL this comes after the pairing, whenever its notice is read.
      if (except !== undefined && (links.get(id) ?? 0) >= except) return;
      ended.push(`${id}: ${reason}`);
      setLink(id, false);
    },
    home: {
      async begin({ userId, computerId }) {
        homes.set(computerId, userId);
        return `home-of-${computerId}`;
      },
      async end(computerId) {
        homes.delete(computerId);
      },
    },
    users: {
      find: async (id) => (id.startsWith('user_') ? { id, name: id === 'user_ada' ? 'Ada' : 'Bob' } : null),
    },
    origin: issuer,
    open,
    addressOf: (request) => String(request.headers['x-test-address'] ?? '192.0.2.7'),
    limit: async () => {},
    newCode: codes === undefined ? undefined : () => codes.shift() ?? 'ZZZZZZZZ',
    clock,
    ids,
    log: { warn() {} },
  });
  onEnd(async () => area.computers.close());

  function setLink(id: string, linked: boolean): void {
    if (linked) links.set(id, clock.now());
    else if (!links.delete(id)) return;
    for (const listener of listeners) listener(id, linked);
  }

  const { call, port } = await serve({
    authenticators: [
      { name: 'people', authenticate: people },
      area.authenticator,
      createDeviceAuthenticator({
        store,
        clock,
        find: (id) => devices.find(id),
        used: (id, key) => devices.used(id, key),
      }),
    ],
    routes: [...area.routes, ...routes],
    owners: area.owners,
  });

  const as =
    (name: string) =>
    (method: string, path: string, options: CallOptions = {}) =>
      call(method, path, { token: name, ...options });
  const ada = as('ada');

  /** A code as a computer gets it. */
  async function begin(letter: string, name = `computer ${letter}`) {
    const body = { computerId: idOf(letter), name, version: '1.0.0' };
    const reply = await call('POST', '/api/v1/pairings', { token: null, body });
    return reply.json as never as { deviceCode: string; userCode: string; expiresAt: string };
  }
  const poll = (deviceCode: string) => call('POST', '/api/v1/pairings/token', { token: null, body: { deviceCode } });

  /** A computer of Ada, or of who is named, as it is after pairing; `called`: its host name. */
  async function pair(letter: string, name = 'ada', called?: string): Promise<PairingGrant> {
    const { deviceCode, userCode } = await begin(letter, called);
    await as(name)('POST', `/api/v1/pairings/${userCode}/approve`);
    return (await poll(deviceCode)).json as never as PairingGrant;
  }

  /** As that computer, signed with this token. */
  function signed(
    computerId: string,
    token: string,
    { now = () => clock.now(), ...options }: CallOptions & { now?: () => number } = {},
  ) {
    return (method: string, path: string, body?: unknown) => {
      const raw = body === undefined ? '' : JSON.stringify(body);
      const signer = { runtimeId: computerId, key: signingKey(token), now };
      const headers = signedHeaders(signer, { method, path, body: raw });
      return call(method, path, {
        token: null,
        headers: { ...headers, ...options.headers },
        ...(raw === '' ? {} : { raw }),
      });
    };
  }

  return {
    clock,
    store,
    area,
    tickets,
    devices,
    call,
    port,
    as,
    ada,
    begin,
    poll,
    pair,
    signed,
    setLink,
    ended,
    homes,
  };
}
