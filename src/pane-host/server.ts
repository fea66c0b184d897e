/** The host's door: binds the socket, lets clients in, tells them what happens, and knows when the host may end. */
import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { type Connection, serveConnection } from './connection.ts';
import { createHost, type Host } from './host.ts';
import type { HostFiles } from './protocol.ts';
import type { StartPty } from './pty.ts';

/**
 * Without a live pane and without a client the host ends after this time, ms: long enough for a runtime to be installed anew
 * and come back, short enough to leave nothing behind on a computer where Gantry is no longer used.
 */
export const idleExitMs = 120_000;

export interface HostServer {
  readonly host: Host;
  /** Ends all panes and the door. */
  close(reason: string): Promise<void>;
}

export interface HostServerOptions {
  readonly files: HostFiles;
  readonly idleExitMs: number;
  readonly loadPty: () => StartPty | Promise<StartPty>;
  readonly now: () => number;
  readonly log: (line: string) => void;
  /** The host has ended itself: on request or because nobody needs it. */
  readonly onEnd: (why: string) => void;
}

export async function startHostServer(options: HostServerOptions): Promise<HostServer> {
  const { files, log, now } = options;
  const token = readFileSync(files.token, 'utf8').trim();
  const connections = new Set<Connection>();
  const each = (act: (connection: Connection) => void): void => {
    for (const connection of connections) act(connection);
  };
  const host = createHost({
    folder: files.panes,
    loadPty: options.loadPty,
    now,
    log,
    listener: {
      wanted: (pane) => [...connections].some((connection) => connection.wanted(pane)),
      created: (info) => each((connection) => connection.created(info)),
      tick: (pane) => each((connection) => connection.tick(pane)),
      printed: (pane) => each((connection) => connection.printed(pane)),
      osc: (pane, kept) => each((connection) => connection.osc(pane, kept)),
      ended(info) {
        each((connection) => connection.ended(info));
        endWhenIdle();
      },
    },
  });
  const startedAt = new Date(now()).toISOString();
  let idle: NodeJS.Timeout | undefined;
  let ending = false;

  function endWhenIdle(): void {
    clearTimeout(idle);
    idle = setTimeout(() => {
      if (connections.size === 0 && host.live().length === 0) void end('nobody needed it');
    }, options.idleExitMs);
  }
  async function end(why: string): Promise<void> {
    if (ending) return;
    ending = true;
    clearTimeout(idle);
    await close(why);
    options.onEnd(why);
  }
  async function close(reason: string): Promise<void> {
    server.close();
    await host.endAll(reason);
    each((connection) => connection.close());
  }

  const server = createServer((socket) => {
    const connection = serveConnection(socket, {
      host,
      token,
      startedAt,
      log,
      closed(gone) {
        connections.delete(gone);
        endWhenIdle();
      },
      stop(force) {
        const live = host.live().length;
        if (live > 0 && !force) return { stopped: false, live };
        // After the answer has left.
        setImmediate(() => void end('it was asked to stop'));
        return { stopped: true, live };
      },
    });
    connections.add(connection);
  });
  await listen(server, files);
  endWhenIdle();
  return { host, close };
}

async function listen(server: Server, files: HostFiles): Promise<void> {
  if (files.socketFolder) ownFolder(files.socketFolder);
  // The lock is ours: a socket that is there belongs to nobody.
  if (!files.socket.startsWith('\\\\')) rmSync(files.socket, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(files.socket, resolve);
  });
  if (!files.socket.startsWith('\\\\')) chmodSync(files.socket, 0o600);
}

/** A folder in a place that others can write to must be a real folder, ours, and closed to them. */
function ownFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const found = lstatSync(path);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0) {
    throw new Error(`${path} is not a folder that belongs to this user alone`);
  }
}
