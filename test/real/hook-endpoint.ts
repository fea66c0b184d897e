/**
 * The engine's endpoint for hooks, and nothing else of it: a bot is known by its token, which is its id. A question comes as a call that waits; any
 * other event is a report, which lies in the spool of its bot (`bots/<id>/spool` beside `urlFile`).
 */
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import type { HarnessBot } from '../../src/runtime-server/harness/harness.ts';
import { createSpools } from '../../src/runtime-server/reports/spool.ts';

export interface HookEndpoint {
  readonly bots: Map<string, HarnessBot>;
  /** Names of the events that came, in order. */
  readonly events: string[];
  close(): void;
}

type Payload = Readonly<Record<string, unknown>>;

/** Says in `urlFile` where it is. */
export async function openHookEndpoint(urlFile: string): Promise<HookEndpoint> {
  const bots = new Map<string, HarnessBot>();
  const events: string[] = [];
  const spools = createSpools(join(dirname(urlFile), 'bots'));

  async function hook(agentId: string, event: string, payload: Payload, signal: AbortSignal): Promise<Payload> {
    events.push(event);
    return (await bots.get(agentId)?.hook(event, payload, signal)) ?? {};
  }

  /** Null: its spool has no such report. */
  async function take(agentId: string, id: unknown, signal: AbortSignal): Promise<{ answer: Payload } | null> {
    for (const file of spools.files(agentId)) {
      const report = spools.read(agentId, file, [hash('sha256', agentId, 'base64url')]);
      if (report?.id !== id || report === null) continue;
      const answer = await hook(agentId, String(report.params?.event), report.body as Payload, signal);
      spools.remove(agentId, file, report);
      return { answer };
    }
    return null;
  }

  const server = createServer(async (request, answer) => {
    let body = '';
    for await (const piece of request) body += piece;
    const name = request.url?.split('/').at(-1) ?? '';
    const agentId = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const left = new AbortController();
    answer.once('close', () => left.abort());
    try {
      const payload = JSON.parse(body) as Payload;
      const said =
        name === 'reports'
          ? await take(agentId, payload.id, left.signal)
          : await hook(agentId, name, payload, left.signal);
      if (said === null) answer.writeHead(404).end();
      else answer.end(JSON.stringify(said));
    } catch {
      answer.writeHead(502).end();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  writeFileSync(urlFile, `http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
  return {
    bots,
    events,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
