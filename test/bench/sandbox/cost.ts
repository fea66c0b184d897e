/**
 * What the way out of a sandbox costs a request: a new connection with TLS, and one request on it, directly and through the real proxy program with a
 * decision of the policy for each, once passed on as it is and once opened to put a secret in. They take turns, so that what else the machine does meets
 * all. The launcher inside of the sandbox is not part of it.
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

export const figures: readonly Figure[] = [
  { name: 'sandbox.cost', run: (options) => run(options, 'proxy') },
  { name: 'sandbox.cost.opened', run: (options) => run(options, 'opened') },
];

const placeholder = 'gantry0123456789';
const value = 'what no bot holds';
/** The bot that has a secret, for whose host TLS is opened. */
const keeper = 'agent_2';

async function run({ quick, log }: FigureOptions, measured: 'proxy' | 'opened'): Promise<Measured> {
  const rounds = quick ? 200 : 2000;
  const server = createServer({ ...loopbackCertificate }, ({ headers }, answer) => {
    answer.end(headers.authorization === `Bearer ${value}` ? 'with the secret' : 'hello');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const home = mkdtempSync(join(tmpdir(), 'gantry-cost-'));
  const sandboxes = await openSandbox(home, port);
  try {
    const bot = measured === 'proxy' ? 'agent_1' : keeper;
    const { socket } = await sandboxes.open({
      ...{ agentId: bot, address: 'web@dev', start: 'start_1', enginePort: 1 },
      ...{ presets: [], apis: [], remotes: [], ports: [] },
    });
    const ways = {
      direct: async () => connect(port, '127.0.0.1'),
      through: () => tunnel(socket, `127.0.0.1:${port}`),
    };
    const took: Record<keyof typeof ways, number[]> = { direct: [], through: [] };
    for (let round = -50; round < rounds; round += 1) {
      for (const way of round % 2 === 0 ? (['direct', 'through'] as const) : (['through', 'direct'] as const)) {
        const before = performance.now();
        const said = await request(await ways[way](), `127.0.0.1:${port}`);
        if (round >= 0) took[way].push(performance.now() - before);
        if ((way === 'through' && bot === keeper) !== said.includes('with the secret')) throw new Error(said);
      }
    }
    const [direct, through] = [median(took.direct), median(took.through)];
    log(`${rounded(direct)} ms directly, ${rounded(through)} ms through the proxy`);
    const opened = measured === 'opened' ? ', which opens its TLS and puts a secret in' : '';
    return {
      value: through - direct,
      unit: `ms that a request over a new connection takes longer through the proxy${opened}, p50`,
      n: rounds,
      at: 'a TLS server on loopback; the proxy program from its sources, one rule, without the launcher',
      detail: { direct: spread(took.direct), through: spread(took.through), unit: 'ms' },
    };
  } finally {
    await sandboxes.end();
    server.close();
    server.closeAllConnections();
    rmSync(home, { recursive: true, force: true });
  }
}

async function openSandbox(home: string, port: number) {
  const workspace = join(home, 'workspace');
  mkdirSync(join(workspace, '.gantry'), { recursive: true });
  writeFileSync(
    join(workspace, '.gantry', 'policy.yaml'),
    'rules:\n  - {when: {tool: network, host: 127.0.0.1}, then: allow}\n',
  );
  const log = { warn: () => {} };
  const authority = join(home, 'authority.pem');
  writeFileSync(authority, loopbackCertificate.cert);
  return createSandboxes({
    home,
    userHome: home,
    env: { NODE_EXTRA_CA_CERTS: authority },
    clock: systemClock,
    timers: systemTimers,
    log,
    policy: createPolicy({ workspace, trust: everythingAgreed, log }),
    approvals: { ask: () => Promise.reject(new Error('Nothing is asked here.')) },
    keysOf: async (bot) =>
      bot === keeper
        ? [
            {
              ...{ name: 'KEY', placeholder, value, host: '127.0.0.1', port },
              ...{ header: 'authorization', form: 'bearer', methods: null },
            },
          ]
        : [],
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

/** What was answered. */
function request(socket: Socket, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const client = connectTls({ socket, rejectUnauthorized: false });
    let said = '';
    client.once('error', reject);
    client.once('secureConnect', () =>
      client.write(
        `GET / HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${placeholder}\r\nconnection: close\r\n\r\n`,
      ),
    );
    client.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    client.once('end', () => {
      client.destroy();
      resolve(said.trim());
    });
  });
}
