/**
 * Composes the runtime's half of the tool server: the registry, documents, attached servers and signing in to them. Must not know what a tool does.
 */
import { createEgress, type Egress } from '../kit/egress/egress.ts';
import type { EgressMeter } from '../kit/egress/egress-metrics.ts';
import { localUserId } from '../kit/http/principals.ts';
import { createGrants } from '../kit/oauth/grants.ts';
import { createOAuthClient, type OAuthClient } from '../kit/oauth/oauth-client.ts';
import { programCommand } from '../kit/process/programs.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import type { Approvals } from '../runtime-server/approvals/index.ts';
import type { Policy } from '../runtime-server/policy/index.ts';
import { createConverter } from '../runtime-server/tool-server/documents/index.ts';
import { createToolServer, type ToolServer, type ToolWire } from '../runtime-server/tool-server/index.ts';
import {
  type AttachedServers,
  createAttachedServers,
  ownAddress,
} from '../runtime-server/tool-server/servers/index.ts';
import { signInRoutes } from '../runtime-server/tool-server/servers/sign-in-routes.ts';
import type { Factory } from './factory/factory.ts';
import { packageVersion, placesIn } from './places.ts';
import { readEgressAllow } from './push-settings.ts';
import type { RuntimeCore } from './runtime-core.ts';

export interface RuntimeTools {
  readonly registry: ToolServer['registry'];
  readonly sandbox: ToolServer['sandbox'];
  /** What connectors are made of. */
  readonly attached: Pick<AttachedServers, 'servers' | 'signInAt'>;
  readonly oauth: OAuthClient;
  /** What clients reach; started once bots can be asked for. */
  wire(factory: Pick<Factory, 'toolBots' | 'library'>): Pick<ToolWire, 'routes' | 'start'>;
  start(): Promise<void>;
}

export function createRuntimeTools({
  policy,
  approvals,
  webOrigin,
  port,
  egress,
  ...core
}: RuntimeCore & {
  readonly policy: Policy;
  readonly approvals: Approvals;
  /** Where the person's browser finds Gantry. */
  readonly webOrigin: () => string;
  /** Port of the engine's own listener, on the loopback address. */
  readonly port: number;
  readonly egress: EgressMeter;
}): RuntimeTools {
  const { store, clock, timers, ids, env, masterKey, computerId, home, closing } = core;
  const version = packageVersion();
  const egressAllow = readEgressAllow(env);

  const ways = new Map<string, Egress>();
  const oauth = createOAuthClient({
    grants: createGrants({ store, sealer: createSealer({ masterKey, purpose: 'oauth' }), clock }),
    // A person who attaches a server of their own network means it, and the provider beside it.
    egress({ url }) {
      const { host } = new URL(url);
      const way = ways.get(host) ?? createEgress({ allow: [...egressAllow, ...ownAddress(url)] });
      ways.set(host, way);
      return way;
    },
    clock,
    origin: webOrigin,
    computerId,
  });
  closing.add('sign-ins at servers', async () => {
    await Promise.all([...ways.values()].map((way) => way.close()));
  });
  const attached = createAttachedServers({
    ...core,
    sealer: createSealer({ masterKey, purpose: 'attached-servers' }),
    ownerId: localUserId,
    random: Math.random,
    version,
    auth: oauth,
    egressAllow,
    isOwn: (url) => isOwnToolServer(url, computerId, [webOrigin(), `http://127.0.0.1:${port}`]),
  });
  closing.add('attached servers', () => attached.close());
  const converter = createConverter({
    command: programCommand('converter'),
    after: timers.after,
    ocr: env.GANTRY_OCR === 'on',
  });
  closing.add('converter', () => converter.close());
  const tools = createToolServer({
    ...core,
    policy,
    approvals,
    freshName: () => ids.next('tmp'),
    hidden: [home],
    commandNotes: placesIn(home).commandNotes,
    converter,
    foreign: attached.tools,
    egress,
  });
  closing.add('tools', () => tools.close());

  return {
    registry: tools.registry,
    sandbox: tools.sandbox,
    attached,
    oauth,
    start: () => attached.start(),
    wire({ toolBots, library }) {
      const wire = tools.wire({
        ...core,
        ...toolBots,
        library,
        ownerId: localUserId,
        info: { name: 'gantry', title: 'Gantry', version },
        inboxUrl: () => `${webOrigin()}/inbox`,
      });
      closing.add('calls that became tasks', () => wire.close());
      const signIns = signInRoutes({ oauth, find: (id) => attached.signInAt(id) });
      return { routes: [...wire.routes, ...attached.routes, ...signIns], start: () => wire.start() };
    },
  };
}

/** `origins`: where `computerId` is reached; the names of the loopback address are one. Another computer may be named in the query. */
export function isOwnToolServer(url: URL, computerId: string, origins: readonly string[]): boolean {
  const near = new Set(['localhost', '127.0.0.1', '[::1]']);
  const addressOf = ({ protocol, hostname, port }: URL) =>
    `${protocol}//${near.has(hostname) ? 'here' : hostname}:${port}`;
  const ours = origins.flatMap((origin) => (URL.canParse(origin) ? [addressOf(new URL(origin))] : []));
  if (!/^\/mcp\/server\/?$/.test(url.pathname) || !ours.includes(addressOf(url))) return false;
  return (url.searchParams.get('computer') ?? computerId) === computerId;
}
