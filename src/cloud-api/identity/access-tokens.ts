/**
 * Access tokens of the OpenID provider as credentials (RFC 9068): for this resource, from this issuer, signed by one of
 * its keys with an algorithm that we list. A subject that never signed in here is refused. Must not know routes.
 */
import { errors, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { AppError } from '../../contracts/common/errors.ts';
import { type Scope, scopes } from '../../contracts/common/route.ts';
import { bearerOf } from '../../kit/http/principals.ts';
import type { Authenticator, Principal } from '../../kit/http/types.ts';
import { digestOf } from './model.ts';
import { type Resources, writtenPath } from './resource.ts';
import type { Users } from './users.ts';

/** Public keys only: with no HS… in the list, nobody can pass a public key off as a secret. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Allowed difference between two machines' clocks. */
const toleranceS = 5;
/** A verified token is trusted this long without another check. */
const trustedMs = 60_000;
const maxTrusted = 10_000;
const maxPerClient = 500;
/** Not open to tokens: administration has its own keys. */
const grantable: readonly string[] = scopes.filter((scope) => scope !== 'admin');

interface Trusted {
  readonly principal: Principal;
  readonly until: number;
}

export function createAccessTokens(deps: {
  readonly issuer: string;
  readonly origin: string;
  readonly keys: JWTVerifyGetKey;
  readonly resources: Pick<Resources, 'audienceOf'>;
  readonly users: Pick<Users, 'of'>;
  readonly clock: { now(): number };
}): Authenticator {
  const { clock, users } = deps;
  // By the hash of audience and token; the oldest entry is evicted first.
  const trusted = new Map<string, Trusted>();
  // The provider decides whether the issuer ends with a slash, so settings may have it either way.
  const bare = deps.issuer.replace(/\/$/, '');
  const issuer = [bare, `${bare}/`];

  async function verify(token: string, audience: string): Promise<{ principal: Principal; endsAt: number }> {
    const { payload } = await jwtVerify(token, deps.keys, {
      issuer,
      audience,
      algorithms,
      typ: 'at+jwt',
      requiredClaims: ['exp', 'iat', 'sub'],
      clockTolerance: toleranceS,
      currentDate: new Date(clock.now()),
    });
    const subject = payload.sub!;
    const user = await users.of(payload.iss!, subject);
    if (user === null) {
      throw new AppError('refused', 'The person of this token has never signed in here.', `Open ${deps.origin} once.`, {
        wireCode: 'unknown_user',
      });
    }
    const endsAt = payload.exp! * 1000;
    const expiresAt = endsAt + toleranceS * 1000;
    const principal: Principal = {
      kind: 'user',
      userId: user.id,
      scopes: scopesOf(payload),
      via: 'oidc',
      client: clientOf(payload),
      expiresAt,
    };
    return { principal, endsAt };
  }

  return {
    name: 'oidc',
    authenticate(request) {
      const token = bearerOf(request);
      if (token === null || token.split('.').length !== 3) return null;
      const audience = deps.resources.audienceOf(writtenPath(request.url));
      const place = digestOf(`${audience} ${token}`);
      const found = trusted.get(place);
      const now = clock.now();
      if (found !== undefined && found.until > now) return found.principal;
      trusted.delete(place);
      return verify(token, audience).then(
        ({ principal, endsAt }) => {
          if (trusted.size >= maxTrusted) trusted.delete(trusted.keys().next().value!);
          trusted.set(place, { principal, until: Math.min(now + trustedMs, endsAt) });
          return principal;
        },
        (error: unknown) => {
          throw refusalOf(error, audience);
        },
      );
    },
  };
}

/** In visible ASCII and of bounded length, whatever the provider calls its clients (RFC 9068, 2.2). */
function clientOf({ client_id: id, sub }: JWTPayload): string {
  const name = encodeURIComponent(typeof id === 'string' ? id : `sub:${sub}`);
  return `oidc:${name.length > maxPerClient ? digestOf(name) : name}`;
}

function scopesOf({ scope }: JWTPayload): ReadonlySet<Scope> {
  const given = typeof scope === 'string' ? scope.split(' ') : [];
  return new Set(given.filter((name) => grantable.includes(name)) as Scope[]);
}

/** Turns a fault of the token into words, and rethrows a fault of ours unchanged. */
function refusalOf(error: unknown, audience: string): unknown {
  if (error instanceof AppError || !(error instanceof errors.JOSEError)) return error;
  const refused = (fact: string, action: string) =>
    new AppError('refused', fact, action, { status: 401, wireCode: 'invalid_token', cause: error });
  if (error instanceof errors.JWTExpired) return refused('The access token has expired.', 'Get a new one.');
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'aud') return refused('The access token is for another audience.', `Get one for ${audience}.`);
    if (error.claim === 'iss')
      return refused('The access token is from another issuer.', 'Use the issuer of this server.');
    if (error.claim === 'typ')
      return refused('This is not an access token.', 'Send the access token, not the id token.');
    return refused(`The claim ${error.claim} of the access token is not valid.`, 'Get a new one.');
  }
  return refused('The access token is not valid here.', 'Get a new one.');
}
