/** A cloud whose users sign in by their names, and computers with tools that are reached over a real link. */
import type { EdgeEvents } from '../../../src/cloud-api/edge/events.ts';
import { createEdge } from '../../../src/cloud-api/edge/index.ts';
import { createToolServer } from '../../../src/cloud-api/tool-server/index.ts';
import { mcpMeta, mcpServer, modernVersion } from '../../../src/contracts/tool-server/mcp.ts';
import { toolServerRoutes } from '../../../src/contracts/tool-server/routes.ts';
import { clientOf, everyScope, surfaceOf } from '../../../src/kit/http/principals.ts';
import { type BoundRoute, bind, type OwnerLookups, type Principal } from '../../../src/kit/http/types.ts';
import { createMcpService } from '../../../src/kit/mcp/create-service.ts';
import { createMcpEndpoint } from '../../../src/kit/mcp/endpoint.ts';
import type { McpRequest, TaskProvider, ToolProvider } from '../../../src/kit/mcp/service.ts';
import { type Reply, serve } from '../../kit/http/support.ts';
import type { TestCloud } from '../../support/link.ts';
import { computers, startPairedCloud, startPairedComputer } from '../../support/paired-computers.ts';

export const origin = 'https://gantry.example';

/** By name of the bearer. */
const people: Readonly<Record<string, Principal>> = Object.fromEntries(
  ['ada', 'bob', 'eve'].flatMap((userId) => {
    const principal = { kind: 'user', userId, scopes: everyScope, via: 'cookie' } as const;
    const key = { ...principal, kind: 'key', via: 'key', keyId: 'key_1' } as const;
    return [
      [userId, principal],
      [`${userId}-key`, key],
      [`${userId}-some`, { ...key, tools: { names: ['file.*', 'time.now'] } }],
      [`${userId}-search`, { ...key, tools: { names: ['file.*', 'time.now'], search: true } }],
      [`${userId}-oidc`, { ...principal, via: 'oidc', client: 'oidc:https%3A%2F%2Fclient.example' }],
      [`for-${userId}`, { ...principal, kind: 'internal', via: 'internal' }],
    ];
  }),
);

/** `alone`: of one person, on their own computer. */
export async function startToolCloud({ alone = false } = {}) {
  const { cloud, engines } = await startPairedCloud();
  const tools = createToolServer({
    engines,
    link: cloud.dialIns,
    advice: 'See that it runs.',
    origin,
    version: '1.0.0',
    log: { error() {} },
    ...(alone ? {} : { ownerOf: async (id: string) => computers.find((one) => one.id === id)?.user ?? null }),
  });
  const edge = createEdge({
    engines,
    link: cloud.dialIns,
    advice: 'See that it runs.',
    edgeUrl: `${origin}/edge`,
    version: '1.0.0',
    events: { methods: () => ({}), capabilities: {}, routes: [], owners: {} } as unknown as EdgeEvents,
    apps: { admit: async () => {}, list: async () => [] },
    log: { error() {} },
  });
  const web = await serve({
    routes: [...tools.routes, ...edge.routes],
    authenticators: [
      {
        name: 'by name',
        authenticate({ headers }) {
          const name = headers.authorization?.slice('Bearer '.length) ?? '';
          if (name === 'for-nobody') return { ...people['for-ada']!, userId: '' };
          return people[name] ?? null;
        },
      },
    ],
  });
  /** One request of MCP; modern unless another version is named, null: none at all. */
  const rpc = (method: string, params: object = {}, options: RpcOptions = {}): Promise<Reply> => {
    const {
      token = 'ada',
      search = '',
      path = mcpServer.path,
      version = modernVersion,
      headers = {},
      id = 1,
      can = {},
    } = options;
    const modern = version === modernVersion;
    const meta = { _meta: { [mcpMeta.version]: version, [mcpMeta.clientCapabilities]: can } };
    return web.call('POST', `${path}${search}`, {
      token,
      body: { jsonrpc: '2.0', id, method, params: modern ? { ...params, ...meta } : params },
      headers: { ...(version === null ? {} : { 'mcp-protocol-version': version }), ...headers },
    });
  };
  return { cloud, web, rpc };
}

export interface RpcOptions {
  readonly token?: string | null;
  readonly search?: string;
  readonly path?: string;
  readonly version?: string | null;
  readonly headers?: Record<string, string>;
  readonly id?: string | number;
  /** Capabilities of a client of 2026-07-28. */
  readonly can?: object;
}

export interface Seen {
  readonly computer: string;
  readonly client: string;
  readonly surface: string;
  readonly url: string;
  readonly body: string;
  readonly headers: McpRequest['request']['headers'];
}

export interface ToolComputerOptions {
  readonly seen?: Seen[];
  readonly tools?: readonly string[];
  readonly call?: ToolProvider['call'];
  readonly routes?: readonly BoundRoute[];
  readonly owners?: OwnerLookups;
  readonly tasks?: TaskProvider;
}

/** A computer whose tools repeat what they are given, behind the real protocol, dispatcher and link. */
export async function startToolComputer(cloud: TestCloud, at: number, options: ToolComputerOptions = {}) {
  const { seen = [], tools = ['echo.text'], routes = [], owners = {}, tasks } = options;
  const { id } = computers[at]!;
  const note = (request: McpRequest) =>
    seen.push({
      computer: id,
      client: clientOf(request.principal),
      surface: surfaceOf(request.principal),
      url: request.request.url ?? '',
      body: request.raw.toString(),
      headers: request.request.headers,
    });
  const service = createMcpService({
    info: { name: 'engine', version: '1.0.0' },
    tools: {
      list() {
        const execution = { taskSupport: 'optional' } as const;
        const items = tools.map((name) => ({ name, inputSchema: { type: 'object' }, execution }));
        return { items, revision: tools.join() };
      },
      call(name, args, request, wish) {
        note(request);
        const text = JSON.stringify({ name, args });
        return options.call?.(name, args, request, wish) ?? { content: [{ type: 'text', text }], isError: false };
      },
    },
    tasks,
  });
  const endpoint = createMcpEndpoint({ service, log: { error() {} } });
  const given = new Set(routes.map(({ route }) => route.op));
  return startPairedComputer(cloud, at, {
    routes: [...(given.has(mcpServer.op) ? [] : [bind(mcpServer, endpoint)]), ...routes],
    owners,
    shape: 'factory',
  });
}

/** Of the one answer of each route that says by itself that it was reached. */
export const restRoutes = toolServerRoutes.filter(({ op }) => op !== mcpServer.op);
