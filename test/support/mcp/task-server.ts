/** The tool server with approvals and a database of its own behind the real dispatcher, for tests of tasks; each bearer is a key of the owner, or `botId`. */
import { join } from 'node:path';
import { capabilities } from '../../../src/contracts/link/knows.ts';
import { runtimeMigrations } from '../../../src/host/runtime-migrations.ts';
import type { Clock } from '../../../src/kit/clock/clock.ts';
import type { Timers } from '../../../src/kit/clock/timers.ts';
import { createDispatcher } from '../../../src/kit/http/dispatcher.ts';
import { bearerOf, everyScope, localUserId } from '../../../src/kit/http/principals.ts';
import { closeServer, createHttpServer, listenOnLoopback } from '../../../src/kit/http/server.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLanes } from '../../../src/kit/lane/create-lanes.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { createHeldApprovals } from '../../../src/runtime-server/approvals/index.ts';
import { createProgressBook } from '../../../src/runtime-server/base/progress.ts';
import { createPolicy } from '../../../src/runtime-server/policy/index.ts';
import { createToolServer, type Tool } from '../../../src/runtime-server/tool-server/index.ts';
import { createAttachedServers } from '../../../src/runtime-server/tool-server/servers/index.ts';
import { everythingAgreed } from '../trust.ts';

export const inboxUrl = 'http://127.0.0.1:3010/inbox';
export const botId = 'agent_web';

/** `tools`: beside Gantry's own. */
export async function openTaskServer({
  root,
  clock,
  timers,
  tools = [],
  asksAll = false,
}: {
  readonly root: string;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly tools?: readonly Tool[];
  /** The policy asks about every call. */
  readonly asksAll?: boolean;
}) {
  const ids = createIds(clock);
  const log = { warn() {}, error: console.error };
  const store = await openStore({ file: join(root, 'db', 'runtime.db'), migrations: runtimeMigrations, clock });
  const ledger = await createLedger({ store, clock, ids });
  const { approvals } = createHeldApprovals({
    knows: () => Promise.resolve(new Set(capabilities)),
    cloudAheadMs: () => 0,
    store,
    ledger,
    clock,
    timers,
    ids,
    log,
    ownerId: localUserId,
    openLanes: (send) => createLanes({ store, clock, name: 'cloud', send }),
    call: async () => ({ status: 200, body: {} }),
  });
  await approvals.start();
  const attached = createAttachedServers({
    store,
    sealer: createSealer({ masterKey: 'k'.repeat(44), purpose: 'attached-servers' }),
    ownerId: localUserId,
    clock,
    timers,
    ids,
    random: Math.random,
    log: { info() {}, ...log },
    version: '0.0.0',
    auth: null,
    egressAllow: [],
    waits: { backoffMs: [50], minPollMs: 20 },
  });
  const server = createToolServer({
    policy: asksAll
      ? { decide: () => ({ verdict: 'ask', rule: 'of the test' }) }
      : createPolicy({ workspace: root, trust: everythingAgreed, log }),
    approvals,
    clock,
    timers,
    env: { PATH: process.env.PATH, GANTRY_TOOL_SANDBOX: 'off' },
    freshName: () => ids.next('tmp'),
    hidden: [],
    log,
    converter: null,
    tools,
    foreign: attached.tools,
  });
  const wire = server.wire({
    ownerId: localUserId,
    workspace: root,
    isBot: (id) => id === botId,
    bot: async (agentId) => ({ agentId, address: 'web@real', mode: null, root, checkout: root, env: {} }),
    store,
    ledger,
    ids,
    library: { prompts: async () => [], boards: async () => [], runs: async () => [] } as never,
    progress: createProgressBook({ clock }),
    info: { name: 'gantry', version: '0.0.0' },
    inboxUrl: () => inboxUrl,
    log,
  });
  const dispatcher = createDispatcher({
    listener: { kind: 'tcp', origins: 'none' },
    authenticators: [
      {
        name: 'keys',
        authenticate(request) {
          const bearer = bearerOf(request) ?? '';
          const common = { userId: localUserId, scopes: everyScope };
          return bearer === botId
            ? { ...common, kind: 'bot', via: 'bot-token', agentId: botId }
            : { ...common, kind: 'key', via: 'key', keyId: bearer };
        },
      },
    ],
    owners: {},
    routes: wire.routes,
    ids,
    log,
    answers: 'throw',
  });
  const http = createHttpServer((request, response) => void dispatcher.handle(request, response));
  const port = await listenOnLoopback(http, 0, '--port');
  return {
    approvals,
    store,
    url: `http://127.0.0.1:${port}/mcp/server`,
    attached: attached.servers,
    /** Takes up earlier tasks. */
    async start() {
      await attached.start();
      await wire.start();
    },
    async close() {
      dispatcher.close('the test is over');
      await closeServer(http);
      await wire.close();
      await attached.close();
      await server.close();
      await approvals.close();
      await store.close();
    },
  };
}
