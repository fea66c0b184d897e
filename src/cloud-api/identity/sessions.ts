/**
 * Sign-ins: browsers by a cookie, paired computers by the credential of their own server (`home`). Opaque, stored by hash; browsers have idle and
 * absolute ends. Must not know pages, providers or routes.
 */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import type { PrincipalKind } from '../../contracts/common/route.ts';
import { bearerOf, everyScope, linkHeaders, surfaceName } from '../../kit/http/principals.ts';
import type { Authenticator, Principal } from '../../kit/http/types.ts';
import { newToken } from '../../kit/secrets/token-file.ts';
import { type CacheOptions, createRowCache } from '../../kit/store/row-cache.ts';
import { csrfOf, digestOf, homePrefix, readCookies, sessionIdleMs, sessionLifeMs, sessionTouchMs } from './model.ts';
import type { SessionStore, SignInRow } from './session-store.ts';

/** How pairing a computer makes and ends its credential. */
export interface HomeSessions {
  /** For that computer's own server, acting for its person; the previous one ends. */
  beginHome(userId: string, computerId: string, device?: string): Promise<string>;
  endHome(computerId: string): Promise<void>;
}

export interface Sessions extends HomeSessions {
  /** Signs a browser in and returns the cookie's value. The browser's previous sign-in ends: no id outlives a sign-in. */
  begin(userId: string, request: IncomingMessage): Promise<string>;
  end(principal: Principal): Promise<void>;
  /** `refused` for a computer's credential: that one ends with its pairing. */
  revoke(id: string): Promise<void>;
  owns(userId: string, id: string): Promise<boolean>;
  list(userId: string): Promise<SignInRow[]>;
  /** The value that this browser's page must send with writes; null if the request carries no valid cookie. */
  pageToken(request: IncomingMessage): Promise<string | null>;
  /** It was ended in another process. */
  ended(id: string, digest: string, replacedBy?: string): void;
  readonly authenticators: readonly Authenticator[];
}

/** The cached part of a sign-in, with its principal. */
interface Live {
  readonly row: SignInRow;
  readonly principal: Principal;
  usedAt: number;
  /** Derived from the cookie; computed once. */
  pageToken?: string;
}

export async function createSessions(deps: {
  readonly store: SessionStore;
  readonly clock: { now(): number };
  readonly ids: { next(prefix: string): string };
  readonly log: { warn(message: string, fields?: Record<string, unknown>): void };
  /** A person's role here: the owner of a computer, or one user of many. */
  readonly kind: Extract<PrincipalKind, 'owner' | 'user'>;
  readonly cookieName: string;
  /** One sentence: what to do after a sign-in has ended. */
  readonly signInAgain: string;
  /** `replacedBy`: the other sign-in that the same browser now uses. */
  readonly onEnded: (sessionId: string, replacedBy?: string) => void;
  /** How long cached entries may be out of date. */
  readonly age?: CacheOptions['age'];
  readonly random?: (bytes: number) => Buffer;
}): Promise<Sessions> {
  const { store, clock, ids, log, kind, cookieName, random } = deps;
  const live = createRowCache<Live>(
    async (digest) => {
      const row = await store.find(digest);
      return row === null ? null : toLive(row);
    },
    { age: deps.age ?? null },
  );
  await store.removeOld(clock.now() - sessionIdleMs, clock.now() - sessionLifeMs);

  function toLive(row: SignInRow): Live {
    const via = row.kind === 'home' ? 'home' : 'cookie';
    const principal: Principal = { kind, userId: row.user_id, scopes: everyScope, via, sessionId: row.id };
    return { row, usedAt: row.used_at, principal };
  }

  /** Null when it is over. */
  function use(session: Live | null): Live | null {
    if (session === null) return null;
    const { row } = session;
    const now = clock.now();
    if (isOver(row.kind, session.usedAt, row.created_at, now)) return null;
    if (session.usedAt < now - sessionTouchMs) {
      session.usedAt = now;
      store.touch(row.digest, now).catch((error) => log.warn('session use not kept', { error: String(error) }));
    }
    return session;
  }

  async function find(secret: string): Promise<Live | null> {
    const digest = digestOf(secret);
    return use(live.peek(digest) ?? (await live.load(digest)));
  }

  /** Tries each cookie: one that another port set must not lock the person out. Returns the first if none has a session. */
  function cookieOf(request: IncomingMessage): string | null | Promise<string | null> {
    const secrets = readCookies(request.headers.cookie, cookieName);
    const [first = null] = secrets;
    if (secrets.length < 2) return first;
    const kept = secrets.find((secret) => use(live.peek(digestOf(secret)) ?? null) !== null);
    return kept ?? firstLive(secrets);
  }

  async function firstLive(secrets: readonly string[]): Promise<string | null> {
    for (const secret of secrets) if ((await find(secret)) !== null) return secret;
    return secrets[0] ?? null;
  }

  async function begin(
    row: Omit<SignInRow, 'digest' | 'id' | 'created_at' | 'used_at'>,
    { prefix = '', id = ids.next('session') } = {},
  ): Promise<string> {
    const secret = `${prefix}${newToken(random)}`;
    const now = clock.now();
    const digest = digestOf(secret);
    const full: SignInRow = { ...row, digest, id, created_at: now, used_at: now };
    const replaced = await store.add(full);
    if (replaced !== null) live.forget(replaced);
    live.put(digest, toLive(full));
    return secret;
  }

  async function remove(row: SignInRow, replacedBy?: string): Promise<void> {
    await store.remove(row, replacedBy);
    live.forget(row.digest);
    deps.onEnded(row.id, replacedBy);
  }

  return {
    async begin(userId, request) {
      const before = await cookieOf(request);
      const old = before === null ? null : await find(before);
      const id = ids.next('session');
      const isSame = old?.row.user_id === userId;
      if (old !== null && old.row.kind === 'browser') await remove(old.row, isSame ? id : undefined);
      await store.removeOld(clock.now() - sessionIdleMs, clock.now() - sessionLifeMs);
      const device = deviceOf(request.headers['user-agent']);
      return begin({ user_id: userId, kind: 'browser', device, computer_id: null }, { id });
    },
    beginHome: (userId, computerId, device = 'Computer') =>
      begin({ user_id: userId, kind: 'home', device, computer_id: computerId }, { prefix: homePrefix }),
    async endHome(computerId) {
      const row = await store.removeHome(computerId);
      if (row === null) return;
      live.forget(row.digest);
      deps.onEnded(row.id);
    },
    async end({ sessionId }) {
      const row = sessionId === undefined ? null : await store.byId(sessionId);
      if (row !== null && row.kind === 'browser') await remove(row);
    },
    async revoke(id) {
      const row = await store.byId(id);
      if (row === null) return;
      if (row.kind === 'home') {
        throw new AppError('refused', `${row.device} is signed in by its pairing.`, 'Remove the computer instead.', {
          status: 409,
          wireCode: 'ends_with_pairing',
        });
      }
      await remove(row);
    },
    async owns(userId, id) {
      return (await store.byId(id))?.user_id === userId;
    },
    async list(userId) {
      const now = clock.now();
      const rows = await store.ofUser(userId);
      return rows.filter((row) => !isOver(row.kind, row.used_at, row.created_at, now));
    },
    async pageToken(request) {
      const secret = await cookieOf(request);
      const session = secret === null ? null : await find(secret);
      return secret === null || session?.row.kind !== 'browser' ? null : pageTokenOf(session, secret);
    },
    ended(id, digest, replacedBy) {
      live.forget(digest);
      deps.onEnded(id, replacedBy);
    },
    authenticators: sessionAuthenticators({ live, use, cookieOf, signInAgain: deps.signInAgain }),
  };
}

/** Lets a browser in by its cookie and a paired computer by its bearer, with what each has to send besides. */
function sessionAuthenticators({
  live,
  use,
  cookieOf,
  signInAgain,
}: {
  readonly live: Pick<ReturnType<typeof createRowCache<Live>>, 'peek' | 'load'>;
  /** Null when it is over. */
  readonly use: (session: Live | null) => Live | null;
  readonly cookieOf: (request: IncomingMessage) => string | null | Promise<string | null>;
  readonly signInAgain: string;
}): Sessions['authenticators'] {
  function admitCookie(request: IncomingMessage, secret: string, found: Live | null): Principal {
    const session = use(found);
    if (session === null || session.row.kind !== 'browser') {
      throw new AppError('refused', 'This browser is no longer signed in.', signInAgain, {
        status: 401,
        wireCode: 'unauthorized',
      });
    }
    // A page of another port shares the cookie but cannot read it, so it cannot know this header's value.
    if (request.method !== 'GET' && request.headers['x-platform-csrf'] !== pageTokenOf(session, secret)) {
      throw new AppError('refused', 'The header x-platform-csrf is missing or wrong.', 'Reload the page.', {
        wireCode: 'csrf',
      });
    }
    return session.principal;
  }

  function admitHome(request: IncomingMessage, found: Live | null): Principal {
    const session = use(found);
    const surface = request.headers[linkHeaders.surface];
    if (session === null || session.row.kind !== 'home') {
      throw new AppError('refused', 'This computer is no longer signed in here.', 'Pair it again.', {
        status: 401,
        wireCode: 'unauthorized',
      });
    }
    if (typeof surface !== 'string' || !surfaceName.test(surface)) {
      throw new AppError(
        'refused',
        `The header ${linkHeaders.surface} is missing.`,
        'Name the surface: cli, browser.',
        {
          status: 401,
          wireCode: 'unauthorized',
        },
      );
    }
    return { ...session.principal, via: `home:${surface}` };
  }

  /** At once where the session is known. */
  function admit(secret: string, judge: (found: Live | null) => Principal): Principal | Promise<Principal> {
    const digest = digestOf(secret);
    const known = live.peek(digest);
    return known === undefined ? live.load(digest).then(judge) : judge(known);
  }

  return [
    {
      name: 'cookie',
      authenticate(request) {
        const admitted = (secret: string | null): Principal | null | Promise<Principal> => {
          if (secret === null) return null;
          return admit(secret, (found) => admitCookie(request, secret, found));
        };
        const secret = cookieOf(request);
        return secret instanceof Promise ? secret.then(admitted) : admitted(secret);
      },
    },
    {
      name: 'home',
      authenticate(request) {
        const bearer = bearerOf(request);
        if (bearer === null || !bearer.startsWith(homePrefix)) return null;
        return admit(bearer, (found) => admitHome(request, found));
      },
    },
  ];
}

function pageTokenOf(session: Live, secret: string): string {
  session.pageToken ??= csrfOf(secret);
  return session.pageToken;
}

/** A computer's credential does not expire. */
function isOver(kind: SignInRow['kind'], usedAt: number, createdAt: number, now: number): boolean {
  return kind === 'browser' && (usedAt < now - sessionIdleMs || createdAt < now - sessionLifeMs);
}

const browsers: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\bGantry\b|\bElectron\//, 'Gantry'],
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(HeadlessChrome|Chrome|Chromium|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const systems: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\b(iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];

/** `Firefox on Linux`: enough to tell one's own sign-ins apart. The browser claims this header, so it decides nothing. */
export function deviceOf(userAgent: string | undefined): string {
  const text = userAgent ?? '';
  const browser = browsers.find(([mark]) => mark.test(text))?.[1] ?? 'Browser';
  const system = systems.find(([mark]) => mark.test(text))?.[1];
  return system === undefined ? browser : `${browser} on ${system}`;
}
