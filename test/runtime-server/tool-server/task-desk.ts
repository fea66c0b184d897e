/** A tool server with tasks for tests that have the clock: asked over MCP, answered at its approvals, restarted around its database. */
import { iso } from '../../../src/kit/clock/clock.ts';
import { localUserId } from '../../../src/kit/http/principals.ts';
import { openTaskServer } from '../../support/mcp/task-server.ts';
import type { TestClock } from '../../support/test-clock.ts';

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

/** One request; of 2026-07-28 unless another version is named. */
export async function askAt(
  url: string,
  method: string,
  params: object,
  { version = modern, can = {}, token = 'one' }: Spoken = {},
): Promise<Reply> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': can,
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'mcp-protocol-version': version },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method,
      params: version === modern ? { ...params, _meta: meta } : params,
    }),
  });
  return { status: response.status, ...((await response.json()) as object) } as Reply;
}

export type Desk = Awaited<ReturnType<typeof openDesk>>;

export async function openDesk(root: string, clock: TestClock) {
  const open = () => openTaskServer({ root, clock, timers: clock });
  let now = await open();
  await now.start();
  return {
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
    /** `before`: once approvals have started and tasks have not. */
    async restart(before?: () => Promise<void>) {
      const closing = now.close();
      await clock.advance(3000);
      await closing;
      now = await open();
      await before?.();
      await now.start();
    },
    ask: (method: string, params: object, spoken?: Spoken) => askAt(now.url, method, params, spoken),
    async close() {
      const closing = now.close();
      await clock.advance(3000);
      await closing;
    },
  };
}
