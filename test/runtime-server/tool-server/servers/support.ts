/** Attached servers on a real store, with real children and real HTTP, as the runtime composes them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { AttachedServer } from '../../../../src/contracts/tool-server/servers.ts';
import type { ToolResult } from '../../../../src/contracts/tool-server/tools.ts';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../../src/kit/clock/timers.ts';
import { createIdempotency, idempotencyMigrations } from '../../../../src/kit/http/idempotency.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { createSealer } from '../../../../src/kit/secrets/sealer.ts';
import { openStore } from '../../../../src/kit/store/open-store.ts';
import { shareStore } from '../../../../src/kit/store/share-store.ts';
import {
  type AttachedServersDeps,
  attachedServerMigrations,
  createAttachedServers,
} from '../../../../src/runtime-server/tool-server/servers/index.ts';
import { onEnd, serve } from '../../../kit/http/support.ts';

export { onEnd } from '../../../kit/http/support.ts';

const script = join(import.meta.dirname, '../../../support/attached/stdio.ts');
export const masterKey = 'k'.repeat(44);

/** A child that behaves so; its pids go to `file`, one a line. */
export const stdio = (kind: string, file?: string) => ({
  type: 'stdio' as const,
  command: process.execPath,
  args: [script, kind, ...(file === undefined ? [] : [file])],
});

export interface Open extends Partial<AttachedServersDeps> {
  readonly file: string;
  readonly key?: string;
}

export async function openServers({ file, key = masterKey, ...more }: Open) {
  const clock = systemClock;
  const store = await openStore({ file, migrations: [...idempotencyMigrations, ...attachedServerMigrations], clock });
  const lines: { message: string; facts?: Record<string, unknown> }[] = [];
  const push = (message: string, facts?: Record<string, unknown>) => {
    lines.push({ message, ...(facts === undefined ? {} : { facts }) });
  };
  const attached = createAttachedServers({
    store,
    sealer: createSealer({ masterKey: key, purpose: 'attached-servers' }),
    ownerId: 'user_local',
    clock,
    timers: systemTimers,
    ids: createIds(clock),
    random: Math.random,
    log: { info: push, warn: push, error: push },
    version: '0.0.0',
    auth: null,
    egressAllow: [],
    waits: { backoffMs: [100, 200], refreshMs: 60_000 },
    ...more,
  });
  await attached.start();
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await attached.close();
    await store.close();
  };
  onEnd(close);
  const { call: http } = await serve({
    routes: attached.routes,
    idempotency: createIdempotency(shareStore(store), clock),
  });

  const read = async (id: string) => (await http('GET', `/mcp/servers/${id}`)).json as unknown as AttachedServer;
  return {
    ...attached,
    store,
    lines,
    http,
    close,
    read,
    async attach(name: string, transport: object, rest: object = {}): Promise<AttachedServer> {
      const { status, json, text } = await http('POST', '/mcp/servers', { body: { name, transport, ...rest } });
      expect([status, text]).toEqual([201, expect.anything()]);
      return json as unknown as AttachedServer;
    },
    /** Waits until it says so. */
    until: (id: string, status: AttachedServer['status']) =>
      expect.poll(async () => (await read(id)).status, { interval: 20 }).toBe(status),
    names: () => attached.tools.list().map((tool) => tool.name),
    call: (
      name: string,
      args: Record<string, unknown> = {},
      signal = new AbortController().signal,
    ): Promise<ToolResult> => attached.tools.call(name, args, { signal }),
  };
}

export const textOf = (result: ToolResult) => (result.content[0] as { text?: string } | undefined)?.text ?? '';

/** Running and no zombie. */
export function alive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z';
  } catch {
    return false;
  }
}

export const pidsIn = (file: string) => readFileSync(file, 'utf8').trim().split('\n').map(Number);
