/** Attached tool servers: MCP servers of others, over a child's streams or HTTP, whose tools are listed beside Gantry's own. */

import * as table from '../../../contracts/tool-server/servers.ts';
import { type BoundRoute, bind } from '../../../kit/http/types.ts';
import type { Log } from '../../../kit/log/log.ts';
import type { Sealer } from '../../../kit/secrets/sealer.ts';
import type { Base } from '../../base/base.ts';
import type { ForeignTools } from '../foreign-tools.ts';
import type { AuthServer, ServerAuth } from './auth.ts';
import type { ConnectionWaits } from './connection.ts';
import { createServerRecords } from './records.ts';
import { createServers, type Servers } from './servers.ts';
import type { UpstreamLimits } from './upstream-deps.ts';

export type { ServerAuth } from './auth.ts';
export { ownAddress } from './http-connection.ts';
export { attachedServerMigrations } from './migrations.ts';

export interface AttachedServersDeps extends Pick<Base, 'store' | 'clock' | 'timers' | 'ids'> {
  /** Its purpose: `attached-servers`. */
  readonly sealer: Sealer;
  readonly ownerId: string;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Gantry's version, sent to servers. */
  readonly version: string;
  /** Signs in at servers on HTTP; null: only headers. */
  readonly auth: ServerAuth | null;
  /** Of GANTRY_EGRESS_ALLOW: private addresses beside the attached one. */
  readonly egressAllow: readonly string[];
  /** Whether an address is Gantry's own tool server on this computer, which cannot be attached to itself. */
  readonly isOwn?: (url: URL) => boolean;
  readonly limits?: Partial<UpstreamLimits>;
  readonly waits?: Partial<ConnectionWaits>;
}

export interface AttachedServers {
  readonly routes: readonly BoundRoute[];
  readonly tools: ForeignTools;
  /** The server's identity for sign-ins; null for an unknown one, or one that is not on HTTP. */
  signInAt(id: string): AuthServer | null;
  /** For connectors, which are these servers seen from their accounts. */
  readonly servers: Omit<Servers, 'tools' | 'start' | 'close' | 'signInAt'>;
  /** Call it before listing: the last good lists are loaded once it resolves. Waits for no server. */
  start(): Promise<void>;
  /** Ends every connection, and every child with all that it started. */
  close(): Promise<void>;
}

const defaultLimits: UpstreamLimits = {
  connectMs: 60_000,
  probeMs: 5_000,
  listMs: 10_000,
  largestMessage: 8 * 1024 * 1024,
};
const defaultWaits: ConnectionWaits = {
  backoffMs: [1_000, 2_000, 5_000, 15_000, 60_000, 300_000],
  refreshMs: 5 * 60_000,
  minPollMs: 1_000,
};

export function createAttachedServers(deps: AttachedServersDeps): AttachedServers {
  const { clock, timers, auth } = deps;
  const limits = { ...defaultLimits, ...deps.limits };
  const servers = createServers({
    ...deps,
    isOwn: deps.isOwn ?? (() => false),
    records: createServerRecords(deps),
    upstream: { clock, timers, auth, version: deps.version, egressAllow: deps.egressAllow, limits },
    waits: { ...defaultWaits, ...deps.waits },
  });
  const { tools, signInAt, start, close } = servers;
  return { routes: routesOf(servers), tools, signInAt, servers, start, close };
}

function routesOf(servers: Servers): BoundRoute[] {
  return [
    bind(table.listServers, () => ({ body: { servers: [...servers.all()] } })),
    bind(table.attachServer, async ({ body }) => ({ body: await servers.attach(body) })),
    bind(table.readServer, ({ params }) => ({ body: servers.one(params.id) })),
    bind(table.changeServer, async ({ params, body }) => ({ body: await servers.change(params.id, body) })),
    bind(table.detachServer, async ({ params }) => {
      await servers.detach(params.id);
      return { body: undefined };
    }),
    bind(table.reconnectServer, async ({ params }) => ({ body: await servers.reconnect(params.id) })),
  ];
}
