/**
 * Connectors: servers of other services with the credential for them. Each is an attached tool server on HTTP, so this area keeps no separate row.
 * Must not know subscriptions: their own part counts and removes them.
 */
import { AppError } from '../../contracts/common/errors.ts';
import * as table from '../../contracts/connectors/connector.ts';
import { twinOf } from '../../contracts/connectors/mount.ts';
import type { Transport } from '../../contracts/tool-server/servers.ts';
import { iso } from '../../kit/clock/clock.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Log } from '../../kit/log/log.ts';
import type { AttachedPort, SignInPort } from './attached.ts';
import { authOf, transportOf, withUrl } from './auth.ts';
import type { ConnectorServers } from './ports.ts';
import { createConnectorServers, type HttpServer, isConnector } from './servers.ts';

interface ConnectorsDeps {
  readonly attached: AttachedPort;
  readonly signIns: SignInPort;
  readonly log: Pick<Log, 'info' | 'warn'>;
}

interface Connectors {
  readonly servers: ConnectorServers;
  /** `counts`: live subscriptions by connector. */
  routes(counts: () => Promise<ReadonlyMap<string, number>>): readonly BoundRoute[];
}

export function createConnectors(deps: ConnectorsDeps): Connectors {
  return {
    servers: createConnectorServers(deps.attached),
    routes: (counts) => routesOf(deps, counts),
  };
}

function routesOf(
  { attached, signIns, log }: ConnectorsDeps,
  counts: () => Promise<ReadonlyMap<string, number>>,
): BoundRoute[] {
  function find(id: string): HttpServer {
    const server = attached.all().find((one) => one.id === id);
    if (server !== undefined && isConnector(server)) return server;
    throw noConnector(id);
  }

  const show = async (server: HttpServer) => connectorOf(server, (await counts()).get(server.id) ?? 0);

  async function signInOf(server: HttpServer): Promise<table.ConnectorSignIn> {
    const { signedIn, issuer, scopes, expiresAt, authorizeUrl } = await signIns.about(server.id);
    const needed = server.status === 'needs_reauth' || (!signedIn && authorizeUrl !== null);
    return {
      status: needed ? 'needs_reauth' : signedIn ? 'signed_in' : 'not_asked',
      authorizeUrl: server.authorizeUrl ?? authorizeUrl,
      issuer,
      scopes: [...scopes],
      expiresAt: expiresAt === null ? null : iso(expiresAt),
    };
  }

  async function revoke(id: string, name: string): Promise<void> {
    const why = await signIns.revoke(id);
    if (why !== null) log.warn('A sign-in was removed here but not revoked at its provider.', { connector: name, why });
  }

  const bound = [
    bind(table.listConnectors, async () => {
      const subscribed = await counts();
      const connectors = attached.all().filter(isConnector);
      return { body: { connectors: connectors.map((one) => connectorOf(one, subscribed.get(one.id) ?? 0)) } };
    }),
    bind(table.createConnector, async ({ body }) => {
      const { name, url, auth = { type: 'none' }, enabled } = body;
      const transport = transportOf(url, auth);
      const made = await attached.attach({ name, transport, ...(enabled === undefined ? {} : { enabled }) });
      return { body: await show(made as HttpServer) };
    }),
    bind(table.readConnector, async ({ params }) => ({ body: await show(find(params.id)) })),
    bind(table.changeConnector, async ({ params, body }) => {
      const before = find(params.id);
      const { name, url = before.transport.url, auth, enabled } = body;
      let transport: Transport | undefined;
      if (auth !== undefined) transport = transportOf(url, auth);
      else if (url !== before.transport.url) transport = withUrl(before.transport, url);
      const change = {
        ...(name === undefined ? {} : { name }),
        ...(transport === undefined ? {} : { transport }),
        ...(enabled === undefined ? {} : { enabled }),
      };
      // Tokens of the sign-in would be sent beside the key.
      const changed = await attached.change(before.id, change, { signedOut: auth?.type === 'api_key' });
      return { body: await show(changed as HttpServer) };
    }),
    bind(table.removeConnector, async ({ params }) => {
      const { id, name } = find(params.id);
      await Promise.all([revoke(id, name), attached.detach(id)]);
      return { body: undefined };
    }),
    bind(table.readSignIn, async ({ params }) => ({ body: await signInOf(find(params.id)) })),
    bind(table.beginSignIn, async ({ params }) => {
      const server = find(params.id);
      if (authOf(server.transport).type === 'api_key') {
        throw new AppError(
          'refused',
          `"${server.name}" is reached with a key.`,
          'Change its credential to oauth first.',
          {
            status: 409,
            wireCode: 'sign_in_refused',
          },
        );
      }
      const { authorizeUrl } = await signIns.begin(server.id);
      return { body: { ...(await signInOf(server)), status: 'needs_reauth' as const, authorizeUrl } };
    }),
    bind(table.revokeSignIn, async ({ params }) => {
      const { id, name } = find(params.id);
      await revoke(id, name);
      await attached.upstreams.signedOut(id);
      return { body: undefined };
    }),
  ];
  return bound.flatMap(({ route, ...rest }) => [
    { route, ...rest },
    { ...rest, route: twinOf(route) },
  ]);
}

function connectorOf(server: HttpServer, subscriptionCount: number): table.Connector {
  const { id, name, transport, enabled, status, error, authorizeUrl, toolCount, createdAt, updatedAt } = server;
  return {
    id,
    name,
    url: transport.url,
    auth: authOf(transport),
    enabled,
    status,
    error,
    authorizeUrl,
    toolCount,
    subscriptionCount,
    createdAt,
    updatedAt,
  };
}

function noConnector(id: string): AppError {
  const shown = JSON.stringify(id.slice(0, 80));
  return new AppError('not_found', `There is no connector ${shown}.`, 'List them: GET /api/v1/mcp/connectors', {
    wireCode: 'connector_not_found',
  });
}
