/** The tool server with approvals and a database of its own behind the real dispatcher, for tests of tasks; the test has the clock. */
import { join } from 'node:path';
import { capabilities } from '../../../src/contracts/link/knows.ts';
import { runtimeMigrations } from '../../../src/host/runtime-migrations.ts';
import { iso } from '../../../src/kit/clock/clock.ts';
import { createDispatcher } from '../../../src/kit/http/dispatcher.ts';
import { bearerOf, everyScope, localUserId } from '../../../src/kit/http/principals.ts';
import { closeServer, createHttpServer, listenOnLoopback } from '../../../src/kit/http/server.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLanes } from '../../../src/kit/lane/create-lanes.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { createHeldApprovals } from '../../../src/runtime-server/approvals/index.ts';
import { createPolicy } from '../../../src/runtime-server/policy/index.ts';
import { createToolServer } from '../../../src/runtime-server/tool-server/index.ts';
import type { TestClock } from '../../support/test-clock.ts';
import { everythingAgreed } from '../../support/trust.ts';

export interface Spoken {
  readonly version?: string;
  /** Capabilities of a client of 2026-07-28. */
  readonly can?: Readonly<Record<string, unknown>>;
  /** The name of the client's key. */
  readonly token?: string;
}
const modern = '2026-07-28';
export const declared = { version: modern, can: { extensions: { 'io.modelcontextprotocol/tasks': {} } } };
export const opted: Spoken = { version: '2025-11-25' };

interface Reply {
  readonly status: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export type Desk = Awaited<ReturnType<typeof openDesk>>;

export async function openDesk(root: string, clock: TestClock) {
  const inboxUrl = 'http://127.0.0.1:3010/inbox';

  /** `before`: runs once approvals have started and tasks have not. */
  async function open(before: () => Promise<void> = async () => {}) {
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
      timers: clock,
      ids,
      log,
      ownerId: localUserId,
      openLanes: (send) => createLanes({ store, clock, name: 'cloud', send }),
      call: async () => ({ status: 200, body: {} }),
    });
    await approvals.start();
    const server = createToolServer({
      policy: createPolicy({ workspace: root, trust: everythingAgreed, log }),
      approvals,
      clock,
      timers: clock,
      env: { PATH: process.env.PATH, GANTRY_TOOL_SANDBOX: 'off' },
      freshName: () => ids.next('tmp'),
      hidden: [],
      log,
      converter: null,
    });
    const wire = server.wire({
      ownerId: localUserId,
      workspace: root,
      isBot: () => false,
      bot: async () => null,
      store,
      ledger,
      ids,
      library: { prompts: async () => [], boards: async () => [], runs: async () => [] } as never,
      info: { name: 'gantry', version: '0.0.0' },
      inboxUrl: () => inboxUrl,
      log,
    });
    const dispatcher = createDispatcher({
      listener: { kind: 'tcp', origins: 'none' },
      authenticators: [
        {
          name: 'keys',
          authenticate: (request) => ({
            kind: 'key',
            userId: localUserId,
            scopes: everyScope,
            via: 'key',
            keyId: bearerOf(request) ?? '',
          }),
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
      async start() {
        await before();
        await wire.start();
      },
      async close() {
        dispatcher.close('the test is over');
        await closeServer(http);
        await wire.close();
        await server.close();
        await approvals.close();
        await store.close();
      },
    };
  }

  let now = await open();
  await now.start();
  return {
    inboxUrl,
    get approvals() {
      return now.approvals;
    },
    get store() {
      return now.store;
    },
    answer: (id: string, decision: 'approve' | 'reject', note: string | null = null, surface = 'browser') =>
      now.approvals.answer({
        id,
        decision,
        note,
        resolvedBy: { user: localUserId, surface },
        at: iso(clock.now()),
      }),
    async restart(before?: () => Promise<void>) {
      const closing = now.close();
      await clock.advance(3000);
      await closing;
      now = await open(before);
      await now.start();
    },
    async ask(method: string, params: object, { version = modern, can = {}, token = 'one' }: Spoken = {}) {
      const meta = {
        'io.modelcontextprotocol/protocolVersion': version,
        'io.modelcontextprotocol/clientCapabilities': can,
      };
      const response = await fetch(now.url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          'mcp-protocol-version': version,
        },
        body: JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method,
          params: version === modern ? { ...params, _meta: meta } : params,
        }),
      });
      return { status: response.status, ...((await response.json()) as object) } as Reply;
    },
    async close() {
      const closing = now.close();
      await clock.advance(3000);
      await closing;
    },
  };
}
