/** Plays tasks: serves each site on loopback under two origins, hands the script its hands, judges what the page reported last. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type CallMember, createHands, type Way } from './hands.ts';
import { createRandom, pageOf, type Site, type Task } from './task.ts';

export interface Played {
  readonly task: string;
  readonly way: Way;
  readonly seed: number;
  readonly ok: boolean;
  /** Why not. */
  readonly why: string | null;
}

export interface Stage {
  readonly origin: string;
  play(task: Task, way: Way, seed: number, callMember: CallMember): Promise<Played>;
  close(): Promise<void>;
}

/** What a page says just before it is left still arrives. */
const lateReports = 40;

/** `workspace`: files that a page is handed have to lie there. */
export async function openStage(workspace: string): Promise<Stage> {
  let site: Site | null = null;
  let reported: unknown;
  const servers = await Promise.all([serve(), serve()]);
  const [origin, other] = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`) as [
    string,
    string,
  ];
  const folder = mkdtempSync(join(workspace, 'sites-'));

  async function serve(): Promise<Server> {
    const server = createServer((request, response) => {
      const path = (request.url ?? '/').split('?')[0]!;
      if (path === '/report') {
        let text = '';
        request.on('data', (chunk) => {
          text += chunk;
        });
        request.on('end', () => {
          reported = JSON.parse(text);
          response.end();
        });
        return;
      }
      const body = site?.pages[path];
      response.writeHead(body === undefined ? 404 : 200, {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
      });
      response.end(body === undefined ? 'There is no such page.' : pageOf(body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return server;
  }

  return {
    origin,
    async play(task, way, seed, callMember) {
      site = task.site(createRandom(seed * 7919 + task.name.length), { other });
      reported = undefined;
      const file = join(folder, `${task.name}-${seed}.txt`);
      writeFileSync(file, `file of ${task.name} ${seed}\n`);
      const hands = createHands(way, callMember);
      let why: string | null = null;
      try {
        await hands.call('navigate', { url: `${origin}/` });
        await site.solve(hands, { file, origin, other });
        for (let tried = 0; tried < lateReports && !site.done(reported); tried += 1) await delay(25);
        if (!site.done(reported)) why = `reported ${JSON.stringify(reported)}`;
      } catch (error) {
        why = (error as Error).message;
      }
      return { task: task.name, way, seed, ok: why === null, why };
    },
    async close() {
      rmSync(folder, { recursive: true, force: true });
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
    },
  };
}
