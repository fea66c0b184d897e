/** What tests of panes share: a real host process in a folder of its own, live panes without a host, waiting. */
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { programCommand } from '../../../src/kit/process/programs.ts';
import { loadEmulatorParts } from '../../../src/programs/pane-host/emulator.ts';
import { createFeed } from '../../../src/programs/pane-host/feed.ts';
import { type LivePane, type PaneDeps, type PaneEvents, startPane } from '../../../src/programs/pane-host/pane.ts';
import { endTree } from '../../../src/programs/pane-host/process-tree.ts';
import { type Event, hostFiles, type PaneSpecWire } from '../../../src/programs/pane-host/protocol.ts';
import { loadUnixPty, type PtySink } from '../../../src/programs/pane-host/pty.ts';
import { connectHost, type HostConnection } from '../../../src/runtime-server/panes/host-connection.ts';
import { hostToken, startHost } from '../../../src/runtime-server/panes/host-starter.ts';
import { scratchFolder } from '../../support/scratch.ts';

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}

/** Waits until `check` answers something true; fails with `what` after 45 s, which only a test that fails takes. */
export async function until<T>(what: string, check: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = performance.now() + 45_000;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (performance.now() > deadline) throw new Error(`still not so after 45 s: ${what}`);
    await sleep(10);
  }
}

/** Programs are found by their pane's id, so that each test needs its own. */
export function freshId(): string {
  return `pane_${randomUUID()}`;
}

export function spec(id: string, script: string, more: Partial<PaneSpecWire> = {}): PaneSpecWire {
  const env = { PATH: process.env.PATH ?? '', TERM: 'xterm-256color', LANG: 'C.UTF-8', PS1: '$ ' };
  return { id, command: ['bash', '-c', script], cwd: '/tmp', env, cols: 80, rows: 24, labels: {}, ...more };
}

export interface TestHost {
  readonly home: string;
  readonly connection: HostConnection;
  readonly events: { event: Event; tail: Uint8Array }[];
  connect(onEvent?: (event: Event, tail: Uint8Array) => void): Promise<HostConnection>;
}

/** A host process as the product starts it; ended with the test. */
export async function testHost(args: readonly string[] = []): Promise<TestHost> {
  const home = scratchFolder();
  const files = hostFiles(home);
  const [program, file] = programCommand('pane-host');
  startHost({ files, home, command: [program, file ?? '', ...args] });
  const events: { event: Event; tail: Uint8Array }[] = [];
  const connect = (onEvent: (event: Event, tail: Uint8Array) => void = () => {}): Promise<HostConnection> =>
    until('the host answers', () =>
      connectHost(files, hostToken(files), { event: onEvent, lost: () => {} }).catch(() => null),
    );
  const connection = await connect((event, tail) => void events.push({ event, tail }));
  onTestFinished(async () => {
    const { hostPid } = connection;
    await connect()
      .then((last) => last.request({ op: 'stop', force: true }))
      .catch(() => {});
    await endTree({ pid: hostPid, started: null }, 'none');
  });
  return { home, connection, events, connect };
}

/** A pane in this process, without host and socket. */
export async function testPane(
  paneSpec: PaneSpecWire,
  events: Partial<PaneEvents> = {},
  parts?: PaneDeps['parts'],
): Promise<LivePane> {
  const folder = join(scratchFolder(), 'panes');
  mkdirSync(folder);
  const none: PaneEvents = {
    tick() {},
    wanted: () => false,
    printed() {},
    osc() {},
    resized() {},
    ended() {},
    fault() {},
    ...events,
  };
  const loaded = parts ?? (await loadEmulatorParts());
  const { command, cwd, env, cols, rows } = paneSpec;
  const openPty = (sink: PtySink) => loadUnixPty()({ command, cwd, env, cols, rows }, sink);
  const deps = { folder, openPty, parts: loaded, feed: createFeed(), now: Date.now, events: none };
  const pane = startPane(deps, paneSpec);
  onTestFinished(async () => {
    await endTree({ pid: pane.pty.pid, started: null }, paneSpec.id);
    if (pane.alive) process.kill(pane.pty.pid, 'SIGKILL');
    await pane.closed;
  });
  return pane;
}

/** Everything a closed or live pane's journal holds from the start. */
export async function readAll(connection: HostConnection, pane: string): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let at = 0;
  for (;;) {
    const { ok, tail } = await connection.request({ op: 'read', pane, offset: at, max: 1_000_000 });
    if (ok.start !== at) throw new Error(`bytes ${at} to ${ok.start} are gone`);
    pieces.push(Uint8Array.from(tail));
    at += tail.length;
    if (at >= ok.end) return Buffer.concat(pieces);
  }
}
