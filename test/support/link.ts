/** Both ends of a link with a real network between: a cloud that accepts links, and computers whose connections can be cut. */

import { mkdtempSync, rmSync } from 'node:fs';
import { type Agent, createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDialIns, type DialIns } from '../../src/cloud-api/link/dial-ins.ts';
import { createLinkAgent, type Link, type LinkSide } from '../../src/cloud-api/link/link.ts';
import { type Clock, systemClock } from '../../src/kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../src/kit/clock/timers.ts';
import { newToken } from '../../src/kit/secrets/token-file.ts';
import { createDeviceAuthenticator, signingMigrations } from '../../src/kit/signing/authenticator.ts';
import { signingKey } from '../../src/kit/signing/signature.ts';
import { openStore } from '../../src/kit/store/open-store.ts';
import { shareStore } from '../../src/kit/store/share-store.ts';
import { createDialer, type DialerDeps } from '../../src/runtime-server/link/dialer.ts';
import { type CutProxy, startCutProxy } from './cut-proxy.ts';

export const quiet = { info() {}, warn() {} };

export interface TestCloud {
  readonly port: number;
  readonly dialIns: ReturnType<typeof createDialIns>;
  /** The key of each computer that is known. */
  readonly keys: Map<string, string>;
  /** Told once, when a key was looked up next. */
  onLookUp(told: () => void): void;
  close(): Promise<void>;
}

export interface TestCloudOptions {
  readonly clock?: Clock;
  readonly timers?: Timers;
}

export async function startTestCloud({
  clock = systemClock,
  timers = systemTimers,
}: TestCloudOptions = {}): Promise<TestCloud> {
  const keys = new Map<string, string>();
  const lookUps: (() => void)[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'gantry-link-'));
  const store = await openStore({ file: join(folder, 'cloud.db'), migrations: signingMigrations, clock });
  const device = createDeviceAuthenticator({
    store: shareStore(store),
    clock,
    find: (id) => {
      for (const told of lookUps.splice(0)) told();
      return keys.has(id) ? { userId: 'user_1', keys: [keys.get(id)!] } : null;
    },
  });
  const dialIns = createDialIns({
    async authenticate(incoming) {
      const principal = await device.authenticate(incoming);
      return principal === null ? null : { computerId: principal.computerId!, userId: principal.userId };
    },
    clock,
    timers,
    log: quiet,
  });
  const server = createServer();
  server.on('upgrade', (incoming, socket, head) => dialIns.handleUpgrade(incoming, socket, head));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    dialIns,
    keys,
    onLookUp: (told) => void lookUps.push(told),
    async close() {
      await dialIns.close(0);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface TestComputer {
  readonly id: string;
  readonly dialer: ReturnType<typeof createDialer>;
  /** Between this computer and the cloud. */
  readonly wire: CutProxy;
  linked(): Promise<void>;
  close(): Promise<void>;
}

export interface TestComputerOptions extends Partial<DialerDeps> {
  readonly id?: string;
  readonly engine?: RequestListener;
}

/** Dials at once, through a separate wire. */
export async function startTestComputer(cloud: TestCloud, options: TestComputerOptions = {}): Promise<TestComputer> {
  const { id = 'computer_1', engine = (_request, response) => response.end('ok'), ...deps } = options;
  const token = newToken();
  if (!cloud.keys.has(id)) cloud.keys.set(id, signingKey(token));
  const wire = await startCutProxy({ target: { host: '127.0.0.1', port: cloud.port }, cutAfter: () => null });
  const server = createServer(engine);
  const dialer = createDialer({
    home: () => ({ cloudUrl: `http://127.0.0.1:${wire.port}`, computerId: id, key: cloud.keys.get(id) ?? 'x' }),
    serve: { engine: (pipe) => void server.emit('connection', pipe), peer: (pipe) => pipe.destroy() },
    linkToken: newToken,
    clock: systemClock,
    timers: systemTimers,
    random: Math.random,
    log: quiet,
    ...deps,
  });
  dialer.start();
  return {
    id,
    dialer,
    wire,
    linked: () => untilLinked(cloud.dialIns, id),
    async close() {
      await dialer.stop(0);
      await wire.close();
      server.close();
    },
  };
}

export function untilLinked(link: DialIns, computerId: string, linked = true): Promise<void> {
  return new Promise((resolve) => {
    if (link.state(computerId).linked === linked) return resolve();
    const stop = link.onChange((id, now) => {
      if (id !== computerId || now !== linked) return;
      stop();
      resolve();
    });
  });
}

export interface Reply {
  readonly status: number;
  readonly text: string;
}

/** Requests over a link with an agent of their own. */
export function linkCaller(link: Link, computerId: string, listener: LinkSide = 'engine') {
  const agent: Agent = createLinkAgent(link, computerId, listener);
  const start = (path: string, method = 'GET', body?: string | Buffer) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const call = request({ agent, host: 'engine', path, method }, resolve);
      call.on('error', reject);
      call.end(body);
    });
  return {
    agent,
    start,
    async call(path: string, method?: string, body?: string | Buffer): Promise<Reply> {
      const response = await start(path, method, body);
      const parts: Buffer[] = [];
      for await (const part of response) parts.push(part as Buffer);
      return { status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() };
    },
  };
}
