/**
 * Which resource a request is for, and what a client may know about it (RFC 9728; security.md 1.5). A token's audience is the
 * resource: this cloud as a whole, or one MCP endpoint alone. Pure.
 */
import { scopes } from '../../contracts/common/route.ts';

/** Endpoints that are resources of their own: a token for one is none for another, nor for the rest. */
const endpoints = [/^\/mcp\/server$/, /^\/edge\/mcp$/, /^\/edge\/mcp\/bots\/[A-Za-z0-9._~@-]{1,200}$/];
const wellKnown = '/.well-known/oauth-protected-resource';

export interface Resources {
  /** The audience that a token needs for this path. */
  audienceOf(path: string): string;
  /** Where a client reads about the resource of this path. */
  metadataUrl(path: string): string;
  /** `suffix`: what follows `/.well-known/oauth-protected-resource`. Null when that is no resource. */
  describe(suffix: string): ResourceDescription | null;
}

interface ResourceDescription {
  readonly resource: string;
  readonly resource_name: string;
  readonly authorization_servers: string[];
  readonly scopes_supported: (typeof scopes)[number][];
  readonly bearer_methods_supported: 'header'[];
}

export function createResources({ origin, issuer }: { origin: string; issuer: string }): Resources {
  const endpointOf = (path: string) => (endpoints.some((endpoint) => endpoint.test(path)) ? path : '');
  return {
    audienceOf: (path) => `${origin}${endpointOf(path)}`,
    metadataUrl: (path) => `${origin}${wellKnown}${endpointOf(path)}`,
    describe(suffix) {
      if (suffix !== '' && endpointOf(suffix) === '') return null;
      return {
        resource: `${origin}${suffix}`,
        resource_name: 'Gantry',
        authorization_servers: [issuer],
        scopes_supported: scopes.filter((scope) => scope !== 'admin'),
        bearer_methods_supported: ['header'],
      };
    },
  };
}
