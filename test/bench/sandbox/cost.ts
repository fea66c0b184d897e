/**
 * What the way out of a sandbox costs a request: a new connection with TLS, and one request on it, directly and through the real proxy program with a
 * decision of the policy for each. Both take turns, so that what else the machine does meets both. The launcher inside of the sandbox is not part of it.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createPolicy } from '../../../src/runtime-server/policy/index.ts';
import { createSandboxes } from '../../../src/runtime-server/sandboxes/index.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded, spread } from '../../support/bench/numbers.ts';
import { loopbackCertificate } from '../../support/loopback-certificate.ts';
import { everythingAgreed } from '../../support/trust.ts';

export const figures: readonly Figure[] = [{ name: 'sandbox.cost', run }];

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 200 : 2000;
  const server = createServer({ ...loopbackCertificate }, (_incoming, answer) => answer.end('hello'));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const home = mkdtempSync(join(tmpdir(), 'gantry-cost-'));
  const sandboxes = await openSandbox(home);
  try {
    const { socket } = await sandboxes.open({
      ...{ agentId: 'agent_1', address: 'web@dev', start: 'start_1', enginePort: 1 },
      ...{ presets: [], apis: [], remotes: [], ports: [] },
    });
    const ways = {
      direct: async () => connect(port, '127.0.0.1'),
      proxy: () => tunnel(socket, `127.0.0.1:${port}`),
    };
    const took: Record<keyof typeof ways, number[]> = { direct: [], proxy: [] };
    for (let round = -50; round < rounds; round += 1) {
      for (const way of round % 2 === 0 ? (['direct', 'proxy'] as const) : (['proxy', 'direct'] as const)) {
        const before = performance.now();
        await request(await ways[way]());
        if (round >= 0) took[way].push(performance.now() - before);
      }
    }
    const [direct, proxy] = [median(took.direct), median(took.proxy)];
    log(`${rounded(direct)} ms directly, ${rounded(proxy)} ms through the proxy`);
    return {
      value: proxy - direct,
      unit: 'ms that a request over a new connection takes longer through the proxy, p50',
      n: rounds,
      at: 'a TLS server on loopback; the proxy program from its sources, one rule, without the launcher',
      detail: { direct: spread(took.direct), proxy: spread(took.proxy), unit: 'ms' },
    };
  } finally {
    await sandboxes.end();
    server.close();
    server.closeAllConnections();
    rmSync(home, { recursive: true, force: true });
  }
}

async function openSandbox(home: string) {
  const workspace = join(home, 'workspace');
  mkdirSync(join(workspace, '.gantry'), { recursive: true });
  writeFileSync(
    join(workspace, '.gantry', 'policy.yaml'),
    'rules:\n  - {when: {tool: network, host: 127.0.0.1}, then: allow}\n',
  );
  const log = { warn: () => {} };
  return createSandboxes({
    home,
    env: {},
    clock: systemClock,
    timers: systemTimers,
    log,
    policy: createPolicy({ workspace, trust: everythingAgreed, log }),
    approvals: { ask: () => Promise.reject(new Error('Nothing is asked here.')) },
    keysOf: async () => [],
    seedOf: () => '01'.repeat(32),
    webOrigin: () => '',
  });
}

/** As the launcher and a program that knows the proxy do together. */
async function tunnel(path: string, to: string): Promise<Socket> {
  const socket = connect({ path });
  socket.write(
    `${JSON.stringify({ way: 'proxy', host: null, port: 0 })}\nCONNECT ${to} HTTP/1.1\r\nhost: ${to}\r\n\r\n`,
  );
  const head = await new Promise<string>((resolve, reject) => {
    socket.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    socket.once('error', reject);
  });
  if (!head.startsWith('HTTP/1.1 200')) throw new Error(head);
  return socket;
}

function request(socket: Socket): Promise<void> {
  return new Promise((resolve, reject) => {
    const client = connectTls({ socket, rejectUnauthorized: false });
    client.once('error', reject);
    client.once('secureConnect', () => client.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'));
    client.on('data', () => {});
    client.once('end', () => {
      client.destroy();
      resolve();
    });
  });
}
