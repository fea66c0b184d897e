/**
 * Identity: the one owner of a computer, or the many people of a cloud, by the same tables and code; only the ways to sign in differ. Provides
 * routes, authenticators and the ports of other areas. Must not know the factory.
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { DoctorCheck } from '../../contracts/common/doctor-check.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { cloudHealth } from '../../contracts/identity/health.ts';
import * as keyContract from '../../contracts/identity/keys.ts';
import { protectedResource, protectedResourceOf } from '../../contracts/identity/resource.ts';
import * as contract from '../../contracts/identity/routes.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../kit/clock/timers.ts';
import { pageHeaders } from '../../kit/http/plain-page.ts';
import { type Authenticator, type BoundRoute, bind, type OwnerLookups } from '../../kit/http/types.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { createAdminRoutes, toApiKey } from './admin.ts';
import { createChanges } from './changes.ts';
import { createInternalAuthenticator } from './internal.ts';
import { createKeys, type Keys } from './keys.ts';
import { cookieNameFor, cookieText, localPath, sessionLifeMs } from './model.ts';
import { createOpening, type Opening } from './opening.ts';
import { otherWayPage, spentCodePage } from './pages.ts';
import { createProjects, type Projects } from './projects.ts';
import type { OidcSettings } from './provider.ts';
import type { Resources } from './resource.ts';
import { createSessionStore, type SignInRow } from './session-store.ts';
import { createSessions, type HomeSessions, type Sessions } from './sessions.ts';
import { createUsers, type User, type Users } from './users.ts';

export { identityMigrations } from './migrations.ts';

export type { OidcSettings } from './provider.ts';

/** The one owner of a computer, who gets in by one-time addresses. */
interface OwnerMode {
  readonly kind: 'embedded';
  readonly owner: { readonly userId: string; readonly name: string };
  readonly computer: { readonly id: string; readonly name: string };
  readonly openCommand: string;
}

/** Many people, who get in by their OpenID provider. */
interface PeopleMode {
  readonly kind: 'headless';
  readonly oidc: OidcSettings;
  /** File of the provider's last keys. */
  readonly issuerKeysFile: string;
}

export interface IdentityDeps {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers?: Timers;
  readonly ids: { next(prefix: string): string };
  readonly log: { warn(message: string, fields?: Record<string, unknown>): void };
  readonly mode: OwnerMode | PeopleMode;
  readonly version: string;
  /** The carrier of the phone is simulated. */
  readonly demoPhone?: boolean;
  /** A carrier is set up. */
  readonly phone?: boolean;
  /** Address of the web interface, without a slash at the end. */
  readonly origin: string;
  /** The edge's address, if it is not below the origin. */
  readonly edgeUrl?: string;
  readonly internalToken: string;
  /** The database's state, for a doctor. */
  readonly checks: () => Promise<readonly DoctorCheck[]>;
  readonly fetch?: typeof fetch;
  readonly random?: (bytes: number) => Buffer;
}

/** Sign-ins and keys that end now; nothing that uses them may continue. */
export type Ended =
  | { readonly userId: string }
  /** `replacedBy`: the same person signed in again in the same browser. */
  | { readonly sessionId: string; readonly replacedBy: string | undefined }
  | { readonly keyId: string };

export interface Identity {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  readonly authenticators: readonly Authenticator[];
  /** Whether this person may act at all; checked for every caller. */
  admits(userId: string): boolean | Promise<boolean>;
  readonly users: Pick<Users, 'find'>;
  /** An API key's rights; null: it never existed. */
  keyOf(
    id: string,
  ): Promise<{ readonly name: string; readonly scopes: readonly string[]; readonly lives: boolean } | null>;
  readonly sessions: HomeSessions;
  readonly projects: Pick<Projects, 'get' | 'oldest' | 'prices'>;
  /** Where a client reads who issues tokens for this path; null if nobody does. */
  metadataUrl(path: string): string | null;
  /** Returns a function that unsubscribes. */
  onEnded(listener: (ended: Ended) => void): () => void;
  /** A fresh one-time address and when it ends (RFC 3339). */
  createOpenUrl(next?: string): Promise<{ url: string; expiresAt: string }>;
  close(): void;
}

export async function createIdentity(deps: IdentityDeps): Promise<Identity> {
  const { clock, ids, log, mode, origin, random } = deps;
  const listeners = new Set<(ended: Ended) => void>();
  const tell = (ended: Ended) => {
    for (const listener of listeners) listener(ended);
  };
  const changes = createChanges({ store: deps.store, clock, timers: deps.timers ?? systemTimers, log });
  const users = createUsers({ store: deps.store, clock, ids, changes, onShutOut: (userId) => tell({ userId }) });
  if (mode.kind === 'embedded') await users.ensureOwner(mode.owner.userId, mode.owner.name);
  const cookieName = cookieNameFor(origin);
  const sessions = await createSessions({
    store: createSessionStore(deps.store, changes),
    age: changes.age,
    clock,
    ids,
    log,
    random,
    kind: mode.kind === 'embedded' ? 'owner' : 'user',
    cookieName,
    signInAgain:
      mode.kind === 'embedded'
        ? `Press Enter in the terminal where Gantry runs, or run ${mode.openCommand}, and open the new link.`
        : `Sign in at ${origin}/login.`,
    onEnded: (sessionId, replacedBy) => tell({ sessionId, replacedBy }),
  });
  const keys = createKeys({ store: deps.store, clock, ids, log, changes, random, onEnded: (keyId) => tell({ keyId }) });
  changes.start((change) => {
    if (change.kind === 'user') users.changed(change.id, change.over);
    else if (change.kind === 'session') sessions.ended(change.id, change.digest, change.replacedBy);
    else keys.ended(change.id, change.digest);
  });
  const projects = createProjects(deps.store);
  const opening = createOpening({ store: deps.store, clock, origin, random });
  const cookie = (value: string, maxAgeS: number) =>
    cookieText(origin, { name: cookieName, value, sameSite: 'Strict', maxAgeS });
  const enter = async (user: Pick<User, 'id'>, request: IncomingMessage) =>
    cookie(await sessions.begin(user.id, request), sessionLifeMs / 1000);

  // Loaded only with a provider: signing in and checking tokens takes much code, which one's own computer does not need.
  const people =
    mode.kind === 'headless' ? (await import('./people.ts')).createPeople({ ...deps, ...mode, users, enter }) : null;
  const owner = mode.kind === 'embedded' ? createOwnerRoutes(mode, opening, sessions, enter) : null;

  return {
    users,
    sessions,
    projects,
    admits: (userId) => users.admits(userId),
    async keyOf(id) {
      const row = await keys.get(id);
      if (row === null) return null;
      const { name, scopes, revoked_at: revokedAt, expires_at: expiresAt } = row;
      return { name, scopes: scopes.split(' '), lives: revokedAt === null && (expiresAt ?? Infinity) > clock.now() };
    },
    metadataUrl: (path) => people?.resources.metadataUrl(path) ?? null,
    onEnded(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close: () => changes.close(),
    createOpenUrl: (next) => opening.create(next),
    authenticators: [
      ...sessions.authenticators,
      keys.authenticator,
      createInternalAuthenticator(deps.internalToken, users),
      ...(people === null ? [] : [people.authenticator]),
    ],
    owners: {
      session: ({ userId }, id) => sessions.owns(userId, id),
      key: async ({ userId }, id) => {
        const row = await keys.get(id);
        return row !== null && row.user_id === userId && row.revoked_at === null;
      },
    },
    routes: [
      ...(owner ?? otherWay(mode.kind, [contract.openWithCode])),
      ...(people?.routes ?? otherWay(mode.kind, [contract.login, contract.loginCallback])),
      bind(contract.createOpenCode, async ({ body }) => ({ body: await opening.create(body.next) })),
      bind(contract.getSession, async ({ principal, request }) => {
        const [user, csrf] = await Promise.all([users.find(principal.userId), sessions.pageToken(request)]);
        return {
          body: {
            user: principal.userId,
            name: user?.name ?? '',
            plan: user?.plan ?? 'free',
            mode: mode.kind,
            via: principal.via,
            computer: mode.kind === 'embedded' ? mode.computer : null,
            version: deps.version,
            ...(deps.demoPhone === true ? { demoPhone: true as const } : {}),
            ...(deps.phone === true ? { phone: true as const } : {}),
            csrf: csrf ?? '',
          },
        };
      }),
      bind(contract.endSession, async ({ principal }) => {
        await sessions.end(principal);
        return { body: undefined, headers: { 'set-cookie': cookie('', 0) } };
      }),
      bind(contract.listSessions, async ({ principal }) => ({
        body: { sessions: (await sessions.list(principal.userId)).map((row) => toSignIn(row, principal.sessionId)) },
      })),
      bind(contract.revokeSession, async ({ params }) => {
        await sessions.revoke(params.id);
        return { body: undefined };
      }),
      ...createKeyRoutes(keys),
      createHealthRoute(deps.store),
      bind(protectedResource, () => ({ body: describe(people?.resources ?? null, '') })),
      bind(protectedResourceOf, ({ request }) => {
        const suffix = (request.url ?? '').split(/[?#]/, 1)[0]!.slice(protectedResource.path.length);
        return { body: describe(people?.resources ?? null, suffix) };
      }),
      ...createAdminRoutes({ users, sessions, keys, projects, clock, checks: deps.checks }),
    ],
  };
}

function createOwnerRoutes(
  { owner, openCommand }: OwnerMode,
  opening: Opening,
  sessions: Sessions,
  enter: (user: { id: string }, request: IncomingMessage) => Promise<string>,
): readonly BoundRoute[] {
  const lead = (response: ServerResponse, path: string, setCookie?: string) => {
    response.writeHead(303, {
      location: path,
      'referrer-policy': 'no-referrer',
      ...(setCookie === undefined ? {} : { 'set-cookie': setCookie }),
    });
    response.end();
  };
  return [
    bind(contract.openWithCode, async ({ query, request, response }) => {
      const path = localPath(query.next);
      if (query.t !== undefined && (await opening.take(query.t))) {
        lead(response, path, await enter({ id: owner.userId }, request));
      } else if ((await sessions.pageToken(request)) !== null) {
        // The address was opened again, from history or by a reload: this browser is signed in already.
        lead(response, path);
      } else {
        response.writeHead(410, pageHeaders);
        response.end(spentCodePage(openCommand));
      }
    }),
  ];
}

/** Sign-in routes of the other mode: a page says which ones this mode has. */
function otherWay(
  kind: 'embedded' | 'headless',
  routes: readonly (typeof contract.openWithCode | typeof contract.login | typeof contract.loginCallback)[],
): readonly BoundRoute[] {
  return routes.map((route) =>
    bind(route as typeof contract.login, ({ response }) => {
      response.writeHead(404, pageHeaders);
      response.end(otherWayPage(kind));
    }),
  );
}

function createKeyRoutes(keys: Keys): readonly BoundRoute[] {
  return [
    bind(keyContract.listKeys, async ({ principal }) => ({
      body: { keys: (await keys.list(principal.userId)).map(toApiKey) },
    })),
    bind(keyContract.createKey, async ({ principal, body }) => {
      if (body.scopes.includes('admin') && principal.kind !== 'owner') {
        throw new AppError('refused', 'Nobody can give themselves the scope admin.', 'Ask your administrator.', {
          wireCode: 'insufficient_scope',
        });
      }
      const { row, secret } = await keys.create(principal.userId, body);
      return { body: { key: toApiKey(row), secret } };
    }),
    bind(keyContract.revokeKey, async ({ params }) => {
      await keys.revoke(params.id);
      return { body: undefined };
    }),
  ];
}

function describe(resources: Resources | null, suffix: string) {
  const found = resources?.describe(suffix) ?? null;
  if (found !== null) return found;
  throw new AppError(
    'not_found',
    resources === null ? 'This Gantry accepts no tokens from a provider.' : `${suffix} is not a protected resource.`,
    resources === null ? 'Use an API key.' : 'Leave out the path for the whole server.',
  );
}

function toSignIn(row: SignInRow, current: string | undefined) {
  const { id, kind, device } = row;
  return { id, kind, device, createdAt: iso(row.created_at), usedAt: iso(row.used_at), current: id === current };
}

/** The caller has its own deadline of a few seconds. */
const healthPatienceMs = 2_000;

/** Whether the database answers, on request. Discloses neither its place nor the cause of a failure: anybody may ask. */
export function createHealthRoute(store: Pick<SharedStore, 'get' | 'trouble'>): BoundRoute {
  return bind(cloudHealth, async () => {
    const told = await answers(store);
    if (told && store.trouble() === null) return { body: { ok: true as const } };
    const fact = told ? 'The database of this cloud cannot be written.' : 'The database of this cloud does not answer.';
    throw new AppError('transport', fact, 'See its log for the reason; it recovers automatically.', {
      wireCode: 'unavailable',
    });
  });
}

async function answers(store: Pick<SharedStore, 'get'>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), healthPatienceMs);
  });
  const asked = store.get('SELECT 1 AS one').then(
    () => true,
    () => false,
  );
  return Promise.race([asked, late]).finally(() => clearTimeout(timer));
}
