/** The host's listener: binds the socket, accepts clients, sends them events, and decides when the host may end. */
import { chmodSync, lstatSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { type Connection, serveConnection } from './connection.ts';
import { startHeir } from './hand-over.ts';
import { createHost, type Host, type HostDeps } from './host.ts';
import type { Answers, HostFiles } from './protocol.ts';
import type { StartPty } from './pty.ts';
import { createRest } from './rest.ts';
import { HostRefusal } from './start-check.ts';

/**
 * Without a live pane and without a client the host ends after this time, ms: long enough for a runtime to be reinstalled and come back, short enough
 * to leave nothing behind on a computer where Gantry is no longer used.
 */
export const idleExitMs = 120_000;

export interface HostServer {
  readonly host: Host;
  /** Starts listening. */
  listen(): Promise<void>;
  /** Ends all panes and stops listening. */
  close(reason: string): Promise<void>;
}

export async function startHostServer(options: {
  readonly files: HostFiles;
  readonly idleExitMs: number;
  readonly loadPty: () => StartPty | Promise<StartPty>;
  readonly now: () => number;
  readonly log: (line: string) => void;
  /** The host has ended itself: on request or because nobody needs it. */
  readonly onEnd: (why: string) => void;
  /** Which Gantry it is of. */
  readonly build: string;
  /** Panes that the previous host hands over; this host then listens on request, and waits until `host.goOn`. */
  readonly handed?: HostDeps['handed'];
  /** The lock is this process's once more. */
  readonly renewLock: () => void;
  /** An heir serves: this process ends, and its panes live on. */
  readonly onHandedOver: () => void;
}): Promise<HostServer> {
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
    ...(options.handed && { handed: options.handed }),
    listener: {
      watched: (pane) => [...connections].some((connection) => connection.watches(pane)),
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
  let handing = false;
  const rest = createRest(host);

  function endWhenIdle(): void {
    clearTimeout(idle);
    idle = setTimeout(() => {
      if (!handing && connections.size === 0 && host.live().length === 0) void end('nobody needed it');
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
    ending = true;
    rest.stop();
    server.close();
    await host.endAll(reason);
    each((connection) => connection.close());
  }

  async function handOver(command: readonly string[], asked: Connection): Promise<Answers['hand-over']> {
    const refuse = (why: string) =>
      new HostRefusal('refused', `The panes were not handed over: ${why}.`, 'They keep running where they are.');
    if (process.platform === 'win32') throw refuse('Windows cannot pass a terminal from one process to another');
    if (ending || handing) throw refuse('this host is ending');
    if ([...connections].some((connection) => connection !== asked)) throw refuse('another program uses this host');
    handing = true;
    let shut = false;
    const heir: { process?: Awaited<ReturnType<typeof startHeir>> } = {};
    try {
      const panes = await host.prepare();
      heir.process = await startHeir({ command, folder: options.files.panes, panes });
      // Its name goes with it: from here until the heir binds the socket nobody can be reached.
      shut = true;
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        // Clients keep it from being closed; its name is free all the same.
        setImmediate(resolve);
      });
      await heir.process.serve();
      await heir.process.begin();
      log(`handed ${panes.length} panes to process ${heir.process.pid}`);
      // After the answer has left.
      setTimeout(options.onHandedOver, 10);
      return { pid: heir.process.pid, panes: panes.length };
    } catch (error) {
      await heir.process?.giveUp();
      if (shut) {
        options.renewLock();
        server = newServer();
        await listen(server, files);
      }
      host.goOn();
      handing = false;
      log(`the panes were not handed over: ${(error as Error).message}`);
      throw refuse((error as Error).message);
    }
  }

  const newServer = (): Server =>
    createServer((socket) => {
      if (handing) {
        socket.destroy();
        return;
      }
      const connection = serveConnection(socket, {
        host,
        token,
        startedAt,
        build: options.build,
        log,
        sleepAfter: rest.after,
        handOver,
        closed(gone) {
          connections.delete(gone);
          endWhenIdle();
        },
        stop(force) {
          const live = host.live().length;
          if (handing || (live > 0 && !force)) return { stopped: false, live };
          // After the answer has left.
          setImmediate(() => void end('it was asked to stop'));
          return { stopped: true, live };
        },
      });
      connections.add(connection);
    });
  let server = newServer();
  const open = async (): Promise<void> => {
    await listen(server, files);
    endWhenIdle();
  };
  if (!options.handed) await open();
  return { host, close, listen: open };
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
    throw new Error(`${path} is not a private folder of this user`);
  }
}
