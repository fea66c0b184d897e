/**
 * Sign-in at the OpenID provider: authorization code with PKCE, state, nonce and issuer checks by openid-client. The state of a sign-in under way is
 * in a cookie of the browser that began; nothing is stored. Must not know what people may do.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import * as client from 'openid-client';
import { AppError } from '../../contracts/common/errors.ts';
import * as contract from '../../contracts/identity/routes.ts';
import { pageHeaders } from '../../kit/http/plain-page.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { newToken } from '../../kit/secrets/token-file.ts';
import { cookieNameFor, cookieText, localPath, readCookies } from './model.ts';
import { failedSignInPage } from './pages.ts';
import { type Provider, reasonOf } from './provider.ts';
import type { Identified, User } from './users.ts';

const callbackPath = '/login/callback';
const scope = 'openid profile email';
/** How long somebody may take to sign in at the provider, in seconds. */
const patienceS = 10 * 60;
const maxNameLength = 200;

export function createSignIn(deps: {
  readonly provider: Provider;
  readonly origin: string;
  readonly users: { signIn(who: Identified): Promise<User> };
  /** Begins the session of a browser and answers its `Set-Cookie`. */
  readonly enter: (user: User, request: IncomingMessage) => Promise<string>;
  readonly log: { warn(message: string, fields?: Record<string, unknown>): void };
  readonly random?: (bytes: number) => Buffer;
}): readonly BoundRoute[] {
  const { provider, origin, log } = deps;
  const cookieName = `${cookieNameFor(origin)}_login`;
  /** The cookie of this sign-in: another port of this host may have set one of the same name. */
  function begunCookie({ headers, url }: IncomingMessage): string {
    const all = readCookies(headers.cookie, cookieName);
    const state = new URL(url ?? '/', origin).searchParams.get('state');
    return all.find((one) => begunWith(one.split('.')[0] ?? '').state === state) ?? all[0] ?? '';
  }
  // Not Strict: the redirect back comes from another site, the provider's.
  const cookie = (value: string, maxAgeS: number) =>
    cookieText(origin, { name: cookieName, value, sameSite: 'Lax', maxAgeS });

  function fail(response: ServerResponse, status: number, title: string, sentences: readonly string[]): void {
    response.writeHead(status, { ...pageHeaders, 'set-cookie': cookie('', 0) });
    response.end(failedSignInPage(title, sentences));
  }

  function failWith(response: ServerResponse, error: unknown): void {
    const { status, title, sentences } = explain(error, provider.issuer);
    log.warn('a sign-in failed', { issuer: provider.issuer, why: reasonOf(error) });
    fail(response, status, title, sentences);
  }

  async function identify(config: client.Configuration, url: URL, begun: Begun): Promise<Identified> {
    const tokens = await client.authorizationCodeGrant(config, url, {
      pkceCodeVerifier: begun.verifier,
      expectedState: begun.state,
      expectedNonce: begun.nonce,
      idTokenExpected: true,
    });
    const claims = tokens.claims()!;
    const hasName = typeof claims.name === 'string' || typeof claims.preferred_username === 'string';
    const more =
      hasName || config.serverMetadata().userinfo_endpoint === undefined
        ? {}
        : await client.fetchUserInfo(config, tokens.access_token, claims.sub).catch((error) => {
            log.warn('the OpenID provider tells no name', { why: reasonOf(error) });
            return {};
          });
    const known: Record<string, unknown> = { ...claims, ...more };
    const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value.slice(0, maxNameLength) : null);
    const email = text(known.email);
    const name = text(known.name) ?? text(known.preferred_username) ?? email ?? claims.sub.slice(0, maxNameLength);
    return { issuer: claims.iss, subject: claims.sub, email, name };
  }

  return [
    bind(contract.login, async ({ query, response }) => {
      try {
        const config = await provider.config();
        const secret = newToken(deps.random);
        const begun = begunWith(secret);
        const url = client.buildAuthorizationUrl(config, {
          redirect_uri: `${origin}${callbackPath}`,
          response_type: 'code',
          scope,
          state: begun.state,
          nonce: begun.nonce,
          code_challenge: await client.calculatePKCECodeChallenge(begun.verifier),
          code_challenge_method: 'S256',
        });
        const next = Buffer.from(localPath(query.next)).toString('base64url');
        response.writeHead(303, {
          location: url.href,
          'referrer-policy': 'no-referrer',
          'set-cookie': cookie(`${secret}.${next}`, patienceS),
        });
        response.end();
      } catch (error) {
        failWith(response, error);
      }
    }),
    bind(contract.loginCallback, async ({ request, response }) => {
      const [secret, next = ''] = begunCookie(request).split('.');
      if (secret === undefined || secret === '') {
        fail(response, 400, 'This sign-in was not started here', [
          'It took longer than ten minutes, was started in another browser, or this browser keeps no cookies.',
        ]);
        return;
      }
      try {
        const url = new URL(request.url ?? '/', origin);
        const user = await deps.users.signIn(await identify(await provider.config(), url, begunWith(secret)));
        if (user.disabledAt !== null) {
          fail(response, 403, 'This account is disabled', [
            `${user.name} may not use this Gantry. Ask your administrator.`,
          ]);
          return;
        }
        response.writeHead(303, {
          location: localPath(Buffer.from(next, 'base64url').toString()),
          'referrer-policy': 'no-referrer',
          'set-cookie': [await deps.enter(user, request), cookie('', 0)],
        });
        response.end();
      } catch (error) {
        failWith(response, error);
      }
    }),
  ];
}

interface Begun {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** All three derive from one secret that only the cookie holds; the parts that travel openly reveal nothing of it. */
function begunWith(secret: string): Begun {
  const derive = (purpose: string) => hash('sha256', `${purpose}:${secret}`, 'base64url');
  return { state: derive('state'), nonce: derive('nonce'), verifier: derive('verifier') };
}

function explain(error: unknown, issuer: string): { status: number; title: string; sentences: string[] } {
  if (error instanceof client.AuthorizationResponseError) {
    const said = [error.error, error.error_description].filter((part) => part !== undefined).join(': ');
    return { status: 403, title: 'The provider did not sign you in', sentences: [`${issuer} says: ${said}.`] };
  }
  if (error instanceof AppError) {
    return { status: 502, title: 'The sign-in provider cannot be reached', sentences: [error.fact, error.action] };
  }
  if (error instanceof client.ResponseBodyError) {
    const said = [error.error, error.error_description].filter((part) => part !== undefined).join(': ');
    return {
      status: 502,
      title: 'The provider refused this sign-in',
      sentences: [`${issuer} says: ${said}.`, 'If it happens again, ask your administrator to check the settings.'],
    };
  }
  if (error instanceof client.ClientError && error.code !== undefined && !isUnreachable(error)) {
    return {
      status: 400,
      title: 'The provider’s answer cannot be trusted',
      sentences: [`${reasonOf(error)}.`, 'You were not signed in.'],
    };
  }
  return {
    status: 502,
    title: 'The sign-in provider cannot be reached',
    sentences: [`${issuer} did not finish the sign-in: ${reasonOf(error)}.`],
  };
}

function isUnreachable({ code }: client.ClientError): boolean {
  return code === 'OAUTH_TIMEOUT' || code === 'OAUTH_ABORT' || code === 'OAUTH_RESPONSE_IS_NOT_CONFORM';
}
