/** The parts that only a cloud of many people has: the provider they sign in with, its tokens, and the metadata for clients. Loaded only there. */
import type { IncomingMessage } from 'node:http';
import type { Authenticator, BoundRoute } from '../../kit/http/types.ts';
import { createAccessTokens } from './access-tokens.ts';
import { createIssuerKeys } from './issuer-keys.ts';
import { createProvider, type OidcSettings } from './provider.ts';
import { createResources, type Resources } from './resource.ts';
import { createSignIn } from './sign-in.ts';
import type { User, Users } from './users.ts';

interface PeopleDeps {
  readonly oidc: OidcSettings;
  /** File of the provider's last keys. */
  readonly issuerKeysFile: string;
  readonly origin: string;
  /** The edge's address, if it is not below the origin. */
  readonly edgeUrl?: string;
  readonly users: Users;
  /** Begins the session of a browser and answers its `Set-Cookie`. */
  readonly enter: (user: User, request: IncomingMessage) => Promise<string>;
  readonly clock: { now(): number };
  readonly log: { warn(message: string, fields?: Record<string, unknown>): void };
  readonly fetch?: typeof fetch;
  readonly random?: (bytes: number) => Buffer;
}

export interface People {
  readonly routes: readonly BoundRoute[];
  readonly authenticator: Authenticator;
  readonly resources: Resources;
}

export function createPeople({ oidc, issuerKeysFile, users, enter, ...deps }: PeopleDeps): People {
  const { clock, log, origin, random } = deps;
  const { issuer } = oidc;
  const provider = createProvider({ settings: oidc, clock, log });
  const { edgeUrl } = deps;
  const resources = createResources({ origin, issuer, ...(edgeUrl === undefined ? {} : { edgeUrl }) });
  const keys = createIssuerKeys({
    issuer,
    clock,
    log,
    file: issuerKeysFile,
    fetch: deps.fetch ?? fetch,
    keysUrl: async () => {
      const { jwks_uri: url } = (await provider.config()).serverMetadata();
      if (url === undefined) throw new Error('it names no jwks_uri');
      return url;
    },
  });
  return {
    resources,
    routes: createSignIn({ provider, origin, users, enter, log, random }),
    authenticator: createAccessTokens({ issuer, origin, keys, resources, users, clock }),
  };
}
