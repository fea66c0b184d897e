/** The engine's door for hooks, and nothing else of it: a bot is known by its token, which is its id. */
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HarnessBot } from '../../src/runtime-server/harness/harness.ts';

export interface HookEndpoint {
  readonly bots: Map<string, HarnessBot>;
  /** Names of the events that came, in order. */
  readonly events: string[];
  close(): void;
}

/** Says in `urlFile` where it is. */
export async function openHookEndpoint(urlFile: string): Promise<HookEndpoint> {
  const bots = new Map<string, HarnessBot>();
  const events: string[] = [];
  const server = createServer(async (request, answer) => {
    let body = '';
    for await (const piece of request) body += piece;
    const event = request.url?.split('/').at(-1) ?? '';
    events.push(event);
    const bot = bots.get(request.headers.authorization?.replace('Bearer ', '') ?? '');
    const left = new AbortController();
    answer.once('close', () => left.abort());
    try {
      answer.end(JSON.stringify((await bot?.hook(event, JSON.parse(body), left.signal)) ?? {}));
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
