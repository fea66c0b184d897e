/**
 * Cookie sessions: who a browser is. Held in memory as well, since every request asks; `cloud.db` is what survives.
 * Must not know pages or routes.
 */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import { everyScope } from '../../kit/http/principals.ts';
import type { Authenticator, Principal } from '../../kit/http/types.ts';
import { newToken } from '../../kit/secrets/token-file.ts';
import { cookieName, csrfOf, digestOf, readCookie, sessionIdleMs, sessionLifeMs, sessionTouchMs } from './model.ts';
import type { IdentityStore } from './store.ts';

export interface SessionsDeps {
  readonly store: IdentityStore;
  readonly clock: { now(): number };
  readonly log: { warn(message: string, fields?: Record<string, unknown>): void };
  /** How a person gets a new address, such as `npx gantry open`. */
  readonly openCommand: string;
  readonly random?: (bytes: number) => Buffer;
}

export interface Sessions {
  /** Makes a session and answers its secret: the cookie's value. */
  begin(userId: string): Promise<string>;
  end(principal: Principal): Promise<void>;
  /** The valid session's secret in this request, or null. */
  secretOf(request: IncomingMessage): string | null;
  readonly authenticator: Authenticator;
}

interface Live {
  readonly principal: Principal;
  readonly createdAt: number;
  usedAt: number;
}

export async function createSessions({ store, clock, log, openCommand, random }: SessionsDeps): Promise<Sessions> {
  const live = new Map<string, Live>();
  const know = (digest: string, userId: string, createdAt: number, usedAt: number) => {
    const principal: Principal = { kind: 'owner', userId, scopes: everyScope, via: 'cookie', sessionId: digest };
    live.set(digest, { principal, createdAt, usedAt });
  };
  const start = clock.now();
  for (const row of await store.liveSessions(start - sessionIdleMs, start - sessionLifeMs)) {
    know(row.digest, row.user_id, row.created_at, row.used_at);
  }

  const find = (secret: string): Live | null => {
    const digest = digestOf(secret);
    const session = live.get(digest);
    if (session === undefined) return null;
    const now = clock.now();
    if (session.usedAt < now - sessionIdleMs || session.createdAt < now - sessionLifeMs) {
      live.delete(digest);
      return null;
    }
    if (session.usedAt < now - sessionTouchMs) {
      session.usedAt = now;
      store.touchSession(digest, now).catch((error) => log.warn('session use not kept', { error: String(error) }));
    }
    return session;
  };
  const cookieOf = (request: IncomingMessage) =>
    readCookie(request.headers.cookie, cookieName(request.socket.localPort ?? 0));

  return {
    async begin(userId) {
      const secret = newToken(random);
      const digest = digestOf(secret);
      const now = clock.now();
      await store.addSession({ digest, user_id: userId, created_at: now, used_at: now });
      know(digest, userId, now, now);
      return secret;
    },
    async end(principal) {
      if (principal.sessionId === undefined) return;
      live.delete(principal.sessionId);
      await store.removeSession(principal.sessionId);
    },
    secretOf(request) {
      const secret = cookieOf(request);
      return secret !== null && find(secret) !== null ? secret : null;
    },
    authenticator: {
      name: 'cookie',
      authenticate(request) {
        const secret = cookieOf(request);
        if (secret === null) return null;
        const session = find(secret);
        if (session === null) {
          throw new AppError(
            'refused',
            'This browser is no longer signed in.',
            `Press Enter in the terminal where Gantry runs, or run ${openCommand}, and open the new address.`,
            { status: 401, wireCode: 'unauthorized' },
          );
        }
        // A page of another port shares the cookie but cannot read it, so it cannot know this header's value.
        if (request.method !== 'GET' && request.headers['x-platform-csrf'] !== csrfOf(secret)) {
          throw new AppError('refused', 'The header x-platform-csrf is missing or wrong.', 'Reload the page.', {
            wireCode: 'csrf',
          });
        }
        return session.principal;
      },
    },
  };
}
