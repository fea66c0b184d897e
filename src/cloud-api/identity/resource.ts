/**
 * The resource that a request is for, and the metadata that a client may read (RFC 9728). A token's audience is the resource: this cloud as a whole,
 * or a single MCP endpoint. Pure.
 */
import { type Scope, scopes } from '../../contracts/common/route.ts';
import { edgeAgents, edgeBase } from '../../contracts/edge/routes.ts';
import { mcpServer } from '../../contracts/tool-server/mcp.ts';

const wellKnown = '/.well-known/oauth-protected-resource';
const everyScope: readonly Scope[] = scopes.filter((scope) => scope !== 'admin');

/** Endpoints that are resources of their own: a token for one works neither for another nor for the rest. */
const endpoints: readonly { readonly path: RegExp; readonly name: string; readonly scopes: readonly Scope[] }[] = [
  { path: /^\/mcp\/server$/, name: 'Gantry', scopes: everyScope },
  { path: /^\/edge\/mcp$/, name: 'Gantry: all bots', scopes: ['agents:read'] },
  { path: /^\/edge\/mcp\/bots\/[A-Za-z0-9._:~@-]{1,200}$/, name: 'Gantry: one bot', scopes: ['bots:act'] },
];

export interface Resources {
  /** The audience that a token needs for this path. */
  audienceOf(path: string): string;
  /** Where a client reads about the resource of this path. */
  metadataUrl(path: string): string;
  /** `suffix`: what follows `/.well-known/oauth-protected-resource`. Null if that is no resource. */
  describe(suffix: string): ResourceDescription | null;
}

interface ResourceDescription {
  readonly resource: string;
  readonly resource_name: string;
  readonly authorization_servers: string[];
  readonly scopes_supported: Scope[];
  readonly bearer_methods_supported: 'header'[];
}

export function createResources({
  origin,
  issuer,
  edgeUrl = `${origin}${edgeBase}`,
}: {
  readonly origin: string;
  readonly issuer: string;
  /** The edge's address, if it is not below the origin. */
  readonly edgeUrl?: string;
}): Resources {
  /** Matches every path that begins like an endpoint: however it is written, a token for the whole cloud opens none of them. */
  function resourceOf(written: string): string {
    const path = decoded(written);
    if (path === mcpServer.path) return `${origin}${path}`;
    if (path === edgeAgents.path || path.startsWith(`${edgeAgents.path}/`)) return atEdge(path);
    return origin;
  }
  const atEdge = (path: string) => `${edgeUrl}${path.slice(edgeBase.length)}`;

  return {
    audienceOf: resourceOf,
    metadataUrl(path) {
      const { origin: at, pathname } = new URL(resourceOf(path));
      return `${at}${wellKnown}${pathname === '/' ? '' : pathname}`;
    },
    describe(suffix) {
      const endpoint = endpoints.find(({ path }) => path.test(suffix));
      if (suffix !== '' && endpoint === undefined) return null;
      return {
        resource: resourceOf(suffix),
        resource_name: endpoint?.name ?? 'Gantry',
        authorization_servers: [issuer],
        scopes_supported: [...(endpoint?.scopes ?? everyScope)],
        bearer_methods_supported: ['header'],
      };
    },
  };
}

/** The path of a request as it was sent. */
export const writtenPath = (url: string | undefined): string => (url ?? '/').split(/[?#]/, 1)[0]!;

/** As the router reads it: decoded before matching. */
export function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
