/**
 * The authenticators of one computer: the owner's token and the link of the cloud API. Bots' tokens are in
 * `bot-tokens.ts`; cookies belong to the cloud API. Must not know routes.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import { type Scope, scopes } from '../../contracts/common/route.ts';
import type { Authenticator, Principal } from './types.ts';

/** The one owner of a computer that is paired with no cloud. */
export const localUserId = 'user_local';
export const everyScope: ReadonlySet<Scope> = new Set(scopes);

/** Shorter tokens could be guessed, and an empty one must never let anybody in (CVE-2026-10281). */
const shortestToken = 32;

const readBearer = Symbol('bearer');
interface ReadRequest extends IncomingMessage {
  [readBearer]?: string | null;
}

/** Read once per request, as every kind of credential needs it. */
export function bearerOf(request: ReadRequest): string | null {
  const known = request[readBearer];
  if (known !== undefined) return known;
  const header = request.headers.authorization;
  const match = header === undefined ? null : /^Bearer ([A-Za-z0-9._~+/=-]{1,4096})$/i.exec(header);
  const bearer = match === null ? null : match[1]!;
  request[readBearer] = bearer;
  return bearer;
}

function keyOf(token: string, what: string): Buffer {
  if (token.length < shortestToken) {
    throw new AppError(
      'internal',
      `The ${what} is shorter than ${shortestToken} characters.`,
      'Remove its file: Gantry then makes a new one.',
    );
  }
  return Buffer.from(token);
}

/** In constant time for bearers of the token's length, which is no secret: both tokens lie in this process as they are, so nothing is hashed. */
const isKey = (key: Buffer, bearer: string): boolean =>
  bearer.length === key.length && timingSafeEqual(key, Buffer.from(bearer));

/** The token file's bearer: the person of this computer, through the CLI or another own program. */
export function createOwnerAuthenticator(token: string, userId: string = localUserId): Authenticator {
  const key = keyOf(token, 'owner token');
  const owner: Principal = { kind: 'owner', userId, scopes: everyScope, via: 'file-token' };
  return {
    name: 'owner-token',
    authenticate(request) {
      const bearer = bearerOf(request);
      return bearer !== null && isKey(key, bearer) ? owner : null;
    },
  };
}

/** Headers that only the link carries: the user, the surface they came through, and the client. */
export const linkHeaders = {
  user: 'x-platform-user-id',
  surface: 'x-gantry-surface',
  client: 'x-gantry-client',
} as const;
export const surfaceName = /^[a-z]{1,16}$/;
const clientName = /^[\x21-\x7e]{1,600}$/;

/** The cloud API on the runtime's socket, acting for a user whom it has authenticated. Each start makes a new token. */
export function createLinkAuthenticator(token: string): Authenticator {
  const key = keyOf(token, 'link token');
  return {
    name: 'link',
    authenticate(request) {
      const bearer = bearerOf(request);
      if (bearer === null || !isKey(key, bearer)) return null;
      const user = request.headers[linkHeaders.user];
      const surface = request.headers[linkHeaders.surface];
      if (typeof user !== 'string' || typeof surface !== 'string' || !surfaceName.test(surface)) {
        throw new AppError('refused', 'The link names no user.', 'This is a fault of Gantry.', { status: 401 });
      }
      return { kind: 'link', userId: user, scopes: everyScope, via: `link:${surface}`, ...passedClient(request) };
    },
  };
}

/** The surface that a caller used, as ledger and approvals record it: `cli`, `browser`, `bot`, `key`, … */
export function surfaceOf(principal: Principal): string {
  if (principal.kind === 'link') return principal.via.slice('link:'.length);
  if (principal.via.startsWith('home:')) return principal.via.slice('home:'.length);
  if (principal.via === 'oidc') return 'oidc';
  if (principal.via === 'cookie') return 'browser';
  if (principal.via === 'file-token') return 'cli';
  return principal.kind;
}

/**
 * Which of a person's clients this is, for permissions that belong to one client only: `cli`, `browser`, `key:<id>`, `oidc:<client id>`, `bot:<agent
 * id>`. The same behind the link as before it.
 */
export function clientOf(principal: Principal): string {
  if (principal.client !== undefined) return principal.client;
  if (principal.keyId !== undefined) return `key:${principal.keyId}`;
  if (principal.agentId !== undefined) return `bot:${principal.agentId}`;
  return surfaceOf(principal);
}

/** What the cloud API says about the client on its link. */
export function passedClient(request: IncomingMessage): Pick<Principal, 'client'> {
  const client = request.headers[linkHeaders.client];
  return typeof client === 'string' && clientName.test(client) ? { client } : {};
}

/** Whether this is the owner in person, directly or through the link: not a key, not a bot. */
export function isOwnerInPerson(principal: Principal): boolean {
  const surface = surfaceOf(principal);
  return (principal.kind === 'owner' || principal.kind === 'link') && (surface === 'cli' || surface === 'browser');
}

/** The response to a challenge by a server that knows the token, so that a client can verify it before it sends anything. */
export function proofOf(token: string, challenge: string): string {
  return createHmac('sha256', token).update(challenge).digest('hex');
}
