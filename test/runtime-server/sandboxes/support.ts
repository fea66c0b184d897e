/** The room of sandboxes with the real proxy program, over the approvals and the policy of an engine. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createPolicy } from '../../../src/runtime-server/policy/index.ts';
import { createSandboxes, type SandboxedBot } from '../../../src/runtime-server/sandboxes/index.ts';
import type { PlacedSecret } from '../../../src/runtime-server/vault/vault.ts';
import { onEnd } from '../../support/at-end.ts';
import { scratchFolder } from '../../support/scratch.ts';
import type { Engine } from '../engine.ts';

let bots = 0;

export function sandboxesOf(
  engine: Engine,
  options: {
    readonly waitsMs?: number;
    readonly now?: () => number;
    readonly home?: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly userHome?: string;
    readonly keys?: readonly PlacedSecret[];
  } = {},
) {
  const home = options.home ?? scratchFolder();
  const workspace = join(home, 'workspace');
  mkdirSync(join(workspace, '.gantry'), { recursive: true });
  const file = join(workspace, '.gantry', 'policy.yaml');
  const trust = { judge: (_path: string, text: string | null) => ({ waits: false, counts: text }) };
  const log = { warn: () => {} };
  const sandboxes = createSandboxes({
    home,
    userHome: options.userHome ?? home,
    env: options.env ?? {},
    clock: options.now === undefined ? systemClock : { now: options.now, monotonic: options.now },
    timers: systemTimers,
    log,
    policy: createPolicy({ workspace, trust, log }),
    approvals: engine.approvals,
    keysOf: async () => options.keys ?? [],
    seedOf: () => '01'.repeat(32),
    webOrigin: () => 'http://127.0.0.1:3010',
    ...(options.waitsMs === undefined ? {} : { waitsMs: options.waitsMs }),
  });
  onEnd(() => sandboxes.end());
  return {
    sandboxes,
    home,
    rules(text: string): void {
      rmSync(file, { force: true });
      writeFileSync(file, text);
    },
    open: async (more: Partial<SandboxedBot> = {}) => {
      const bot = newBot(more);
      return { bot, ...(await sandboxes.open(bot)) };
    },
  };
}

export function newBot(more: Partial<SandboxedBot> = {}): SandboxedBot {
  bots += 1;
  return {
    agentId: `agent_${bots}`,
    address: `web${bots}@dev`,
    start: `start_${bots}`,
    presets: [],
    apis: [],
    remotes: [],
    ports: [],
    enginePort: 1,
    ...more,
  };
}

/** A connection to the proxy of a sandbox. */
export function enter(socket: string): Socket {
  const client = connect({ path: socket, allowHalfOpen: true });
  client.on('error', () => {});
  onEnd(() => void client.destroy());
  client.write(`${JSON.stringify({ way: 'proxy', host: null, port: 0 })}\n`);
  return client;
}

/** The answer to `CONNECT`: its status, and the reason of a refusal. */
export function tryConnect(
  socket: string,
  to: string,
): Promise<{ status: number; reason: string | null; says: string }> {
  const client = enter(socket);
  client.write(`CONNECT ${to} HTTP/1.1\r\nhost: ${to}\r\n\r\n`);
  return new Promise((resolve) => {
    let said = '';
    const done = () => {
      resolve({
        status: Number(/^HTTP\/1\.1 (\d+)/.exec(said)?.[1] ?? 0),
        reason: /^gantry-refused: (\w+)/m.exec(said)?.[1] ?? null,
        says: said.split('\r\n\r\n')[1]?.trim() ?? '',
      });
      client.destroy();
    };
    client.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.startsWith('HTTP/1.1 200') && said.includes('\r\n\r\n')) done();
    });
    client.once('end', done).once('close', done);
  });
}
