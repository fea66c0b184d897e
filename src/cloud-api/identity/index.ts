/**
 * Identity for one computer (issue 2; security.md 1.4): one-time code → HttpOnly cookie; who this browser is; signing out.
 * Gives routes, the cookie authenticator and migrations. Must not know the factory.
 */
import type { ServerResponse } from 'node:http';
import * as contract from '../../contracts/identity/routes.ts';
import { iso } from '../../kit/clock/clock.ts';
import { type Authenticator, type BoundRoute, bind } from '../../kit/http/types.ts';
import { newToken } from '../../kit/secrets/token-file.ts';
import type { Store } from '../../kit/store/store.ts';
import { pageHeaders } from '../pages/plain-page.ts';
import { codeLifeMs, cookieName, csrfOf, digestOf, localPath, sessionLifeMs } from './model.ts';
import { spentCodePage } from './pages.ts';
import { createSessions } from './sessions.ts';
import { createIdentityStore } from './store.ts';

export { identityMigrations } from './store.ts';

export interface IdentityDeps {
  readonly store: Store;
  readonly clock: { now(): number };
  readonly log: { warn(message: string, fields?: Record<string, unknown>): void };
  /** The one local owner and their computer; null where many people sign in. */
  readonly local: {
    readonly userId: string;
    readonly name: string;
    readonly computer: { readonly id: string; readonly name: string };
  } | null;
  readonly version: string;
  /** Address of the web interface, without a slash at the end. */
  readonly origin: string;
  readonly openCommand: string;
  readonly random?: (bytes: number) => Buffer;
}

export interface Identity {
  readonly routes: readonly BoundRoute[];
  readonly authenticators: readonly Authenticator[];
  /** A fresh one-time address and when it ends (RFC 3339). */
  createOpenUrl(next?: string): Promise<{ url: string; expiresAt: string }>;
}

export async function createIdentity(deps: IdentityDeps): Promise<Identity> {
  const { clock, random } = deps;
  const store = createIdentityStore(deps.store);
  const sessions = await createSessions({ store, clock, log: deps.log, openCommand: deps.openCommand, random });

  const createOpenUrl = async (next?: string) => {
    const code = newToken(random);
    const now = clock.now();
    const expiresAt = now + codeLifeMs;
    await store.addCode(digestOf(code), expiresAt, now);
    const path = localPath(next);
    const after = path === '/' ? '' : `&next=${encodeURIComponent(path)}`;
    return { url: `${deps.origin}/open?t=${code}${after}`, expiresAt: iso(expiresAt) };
  };

  const enter = (response: ServerResponse, path: string, cookie?: string) => {
    response.writeHead(303, {
      location: path,
      'referrer-policy': 'no-referrer',
      ...(cookie === undefined ? {} : { 'set-cookie': cookie }),
    });
    response.end();
  };
  const cookieFor = (port: number, value: string, maxAge: number) =>
    `${cookieName(port)}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAge}`;

  return {
    authenticators: [sessions.authenticator],
    createOpenUrl,
    routes: [
      bind(contract.openWithCode, async ({ query, request, response }) => {
        const path = localPath(query.next);
        if (query.t !== undefined && (await store.takeCode(digestOf(query.t), clock.now()))) {
          const secret = await sessions.begin(deps.local?.userId ?? '');
          enter(response, path, cookieFor(request.socket.localPort ?? 0, secret, sessionLifeMs / 1000));
        } else if (sessions.secretOf(request) !== null) {
          // The address was opened again, from history or by a reload: this browser is in already.
          enter(response, path);
        } else {
          response.writeHead(410, pageHeaders);
          response.end(spentCodePage(deps.openCommand));
        }
      }),
      bind(contract.createOpenCode, async ({ body }) => ({ body: await createOpenUrl(body.next) })),
      bind(contract.getSession, ({ principal, request }) => {
        const secret = sessions.secretOf(request);
        return {
          body: {
            user: principal.userId,
            name: deps.local?.name ?? '',
            plan: 'ultra' as const,
            mode: deps.local === null ? ('headless' as const) : ('embedded' as const),
            via: principal.via,
            computer: deps.local?.computer ?? null,
            version: deps.version,
            csrf: secret === null ? '' : csrfOf(secret),
          },
        };
      }),
      bind(contract.endSession, async ({ principal, request }) => {
        await sessions.end(principal);
        const cookie = cookieFor(request.socket.localPort ?? 0, '', 0);
        return { body: undefined, headers: { 'set-cookie': cookie } };
      }),
    ],
  };
}
