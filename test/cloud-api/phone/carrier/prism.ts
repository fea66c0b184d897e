/**
 * The carrier's own OpenAPI between an adapter and a simulator, held against what each says by Prism. It has no licence to be kept here:
 * `CARRIER_OPENAPI` points to it, and the `prism` of this machine is used.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { request as ask, createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../../support/free-port.ts';

const spec = process.env.CARRIER_OPENAPI ?? '';
/** It reads 4 MB of papers first. */
const startMs = 120_000;

/** Why the contract is not held against the carrier's own papers; null: it is. */
export const withoutPapers = whyNot();

function whyNot(): string | null {
  if (spec === '') return 'CARRIER_OPENAPI does not point to the carrier’s OpenAPI';
  if (!existsSync(spec)) return `there is nothing at ${spec}, where CARRIER_OPENAPI points to`;
  const found = spawnSync('prism', ['--version'], { stdio: 'ignore' }).status === 0;
  return found ? null : 'there is no prism here (@stoplight/prism-cli)';
}

export interface Papers {
  /** Where to ask instead of `url`, which is known by its key. */
  before(url: string, apiKey: string): string;
  close(): void;
}

/** One for many simulators: each is reached by its own key. */
export async function openPapers(): Promise<Papers> {
  const simulators = new Map<string, string>();
  const switchboard = await startSwitchboard(simulators);
  const behind = `http://127.0.0.1:${(switchboard.address() as AddressInfo).port}`;
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const prism = spawn('prism', ['proxy', '-p', String(port), '-h', '127.0.0.1', '--errors', spec, behind], {
    stdio: 'ignore',
  });
  await isUp(origin, prism);
  return {
    before(url, apiKey) {
      simulators.set(`Bearer ${apiKey}`, url);
      return origin;
    },
    close() {
      prism.kill();
      switchboard.close();
      switchboard.closeAllConnections();
    },
  };
}

async function startSwitchboard(simulators: ReadonlyMap<string, string>): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    const url = simulators.get(incoming.headers.authorization ?? '');
    if (url === undefined) return void outgoing.writeHead(401).end();
    const { method, headers } = incoming;
    const onward = ask(
      `${url}${incoming.url}`,
      { method, headers: { ...headers, host: new URL(url).host } },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return server;
}

async function isUp(origin: string, prism: ChildProcess): Promise<void> {
  for (const end = Date.now() + startMs; Date.now() < end && prism.exitCode === null; await pause(100)) {
    const up = await fetch(origin).then(
      () => true,
      () => false,
    );
    if (up) return;
  }
  prism.kill();
  throw new Error(`Prism did not begin to serve ${spec}.`);
}
