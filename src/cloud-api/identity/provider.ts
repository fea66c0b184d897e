/**
 * The OpenID provider as this cloud knows it: its metadata, fetched when first needed and refreshed now and then. While the provider is away, the
 * last metadata applies. Must not know routes or people.
 */
import * as client from 'openid-client';
import { AppError } from '../../contracts/common/errors.ts';

export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  /** null: a public client, only with PKCE. */
  readonly clientSecret: string | null;
}

export interface Provider {
  readonly issuer: string;
  /** Throws `transport` if the provider cannot be reached and nothing is known of it yet. */
  config(): Promise<client.Configuration>;
}

/** Providers change their endpoints rarely. */
const freshMs = 60 * 60_000;
/** After a failure, the last metadata is used for this long before asking again. */
const pauseMs = 30_000;
const timeoutS = 5;

export function createProvider({
  settings,
  clock,
  log,
}: {
  readonly settings: OidcSettings;
  readonly clock: { now(): number };
  readonly log: { warn(message: string, fields?: Record<string, unknown>): void };
}): Provider {
  let known: client.Configuration | null = null;
  let askAgainAt = 0;
  let asking: Promise<client.Configuration> | null = null;

  async function discover(): Promise<client.Configuration> {
    const server = new URL(settings.issuer);
    try {
      known = await client.discovery(server, settings.clientId, {}, authenticationOf(settings.clientSecret), {
        timeout: timeoutS,
        // The settings allow http only on this machine.
        execute: server.protocol === 'http:' ? [client.allowInsecureRequests] : [],
      });
      askAgainAt = clock.now() + freshMs;
      return known;
    } catch (cause) {
      askAgainAt = clock.now() + pauseMs;
      const why = reasonOf(cause);
      log.warn('the OpenID provider does not describe itself', { issuer: settings.issuer, why });
      if (known !== null) return known;
      throw new AppError(
        'transport',
        `The OpenID provider ${settings.issuer} cannot be reached: ${why}.`,
        'Try again in a minute, or ask your administrator to check the provider.',
        { cause, wireCode: 'unavailable' },
      );
    } finally {
      asking = null;
    }
  }

  return {
    issuer: settings.issuer,
    config() {
      if (known !== null && clock.now() < askAgainAt) return Promise.resolve(known);
      asking ??= discover();
      return asking;
    },
  };
}

/** The method that the provider asks for; Basic is the default of the standard (RFC 8414, 2). */
function authenticationOf(secret: string | null): client.ClientAuth {
  if (secret === null) return client.None();
  const [basic, post] = [client.ClientSecretBasic(secret), client.ClientSecretPost(secret)];
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported;
    const usesBasic = methods === undefined || methods.includes('client_secret_basic');
    return (usesBasic ? basic : post)(server, ...rest);
  };
}

/** One sentence without a stack: causes of failed fetches are nested. */
export function reasonOf(cause: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = cause; at instanceof Error && parts.length < 3; at = at.cause) {
    if (at.message !== '' && !parts.includes(at.message)) parts.push(at.message);
  }
  return parts.join(': ') || String(cause);
}
