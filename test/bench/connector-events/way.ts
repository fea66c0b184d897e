/** An event's path as people have it: a cloud and a paired computer, each started by its command, and a tracker whose posts the test controls. */
import { createHmac } from 'node:crypto';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Connector } from '../../../src/contracts/connectors/connector.ts';
import type { Subscription } from '../../../src/contracts/connectors/subscription.ts';
import { pair, pidOf, startCloud } from '../../support/bench/paired.ts';
import { agentsOf, type Product, scratchHome, shellTeam, startBuilt } from '../../support/bench/product.ts';
import { freePort } from '../../support/free-port.ts';
import { startIssueTracker } from '../../support/issue-tracker/tracker.ts';
import { startOidcProvider } from '../../support/oidc-provider.ts';
import { personAt } from '../../support/signed-in.ts';

/** Ready to be posted: signed at the time at which it was made. */
export interface Post {
  readonly eventId: string;
  readonly text: string;
}

export interface Way {
  readonly cloudPid: number;
  readonly port: number;
  /** The computer's database. */
  readonly runtimeFile: string;
  /** So many new events, of one subscription after the other. */
  posts(count: number): Post[];
  /** Ends the computer in good order; its cloud takes events all the same. */
  computerAway(): Promise<void>;
  close(): Promise<void>;
}

export async function openWay(subscriptions: number): Promise<Way> {
  const clouds = scratchHome();
  const slugs = Array.from({ length: subscriptions }, (_, n) => `bot-${n}`);
  const computers = scratchHome({ ops: shellTeam('ops', slugs) });
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const provider = await startOidcProvider({ origins: [origin] });
  const tracker = await startIssueTracker({ anonymous: 'ada' });
  // Builds what is measured, where the build is older than the sources.
  let runtime: Product | null = await startBuilt(computers);
  const cloud = await startCloud(clouds, provider, origin);
  await pair(runtime, await personAt(origin), origin);
  const bots = await agentsOf(runtime.engine, 'ops');
  const connector = await runtime.engine.call<Connector>('POST', '/api/v1/mcp/connectors', {
    name: 'tracker',
    url: tracker.url,
  });
  for (let n = 0; n < subscriptions; n += 1) {
    const { subscription } = await runtime.engine.call<{ subscription: Subscription }>(
      'POST',
      `/api/v1/mcp/connectors/${connector.id}/events`,
      { name: 'issue.opened', arguments: { project: `project-${n}` }, botId: bots[n]!.id },
    );
    if (subscription.status !== 'active') throw new Error(`A subscription is ${JSON.stringify(subscription)}.`);
  }
  const there = tracker.subscriptions.list().map(({ id, url }) => ({
    path: new URL(url).pathname,
    key: tracker.subscriptions.keyOf(id)!,
  }));
  let made = 0;
  const post = (): Post => {
    made += 1;
    const { path, key } = there[made % there.length]!;
    const eventId = `bench-${made}`;
    const url = `${tracker.origin}/issues/${made}`;
    const issue = { number: made, project: 'bench', title: `Issue ${made}`, state: 'open', url };
    const name = 'issue.opened';
    const body = JSON.stringify({ eventId, name, timestamp: new Date().toISOString(), data: { issue } });
    const timestamp = Math.floor(Date.now() / 1000);
    const signature = createHmac('sha256', key).update(`${eventId}.${timestamp}.${body}`).digest('base64');
    const lines = [
      `POST ${path} HTTP/1.1`,
      `host: 127.0.0.1:${port}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
      `webhook-id: ${eventId}`,
      `webhook-timestamp: ${timestamp}`,
      `webhook-signature: v1,${signature}`,
    ];
    return { eventId, text: `${lines.join('\r\n')}\r\n\r\n${body}` };
  };
  return {
    cloudPid: pidOf(cloud),
    port,
    runtimeFile: join(computers.home, 'runtime.db'),
    posts: (count) => Array.from({ length: count }, post),
    async computerAway() {
      await runtime?.stop();
      runtime = null;
    },
    async close() {
      await runtime?.stop();
      cloud.child.kill('SIGTERM');
      await cloud.ended;
      await tracker.close();
      await provider.close();
      await clouds.remove();
      await computers.remove();
    },
  };
}

export interface Poster {
  /** Milliseconds from the last byte written to the last one read. */
  post(text: string): Promise<number>;
  close(): void;
}

/** One kept connection, one post at a time, the first one soon: servers end a connection that says nothing. Anything but `taken` fails. */
export function openPoster(port: number, taken = 202): Poster {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let got = '';
  let asked = 0;
  let waiting: { resolve(ms: number): void; reject(fault: Error): void } | null = null;
  socket.setEncoding('latin1');
  socket.on('error', (fault) => waiting?.reject(fault));
  socket.on('close', () => waiting?.reject(new Error('cut off')));
  socket.on('data', (part: string) => {
    got += part;
    const head = got.indexOf('\r\n\r\n');
    if (head === -1) return;
    const length = Number(/content-length: (\d+)/i.exec(got.slice(0, head))?.[1]);
    if (got.length < head + 4 + length) return;
    const answer = got;
    got = '';
    const asker = waiting;
    waiting = null;
    if (answer.startsWith(`HTTP/1.1 ${taken} `)) asker?.resolve(performance.now() - asked);
    else asker?.reject(new Error(answer.slice(0, 500)));
  });
  return {
    post: (text) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) throw new Error('The server ended the connection.');
        waiting = { resolve, reject };
        asked = performance.now();
        socket.write(text);
      }),
    close: () => socket.destroy(),
  };
}
