/**
 * The driver `namespace`: computers on this machine, each in namespaces of its own. Speaks to the root helper (`gantry computer-host`) over its
 * socket, with one connection for all, dialled on demand and again after a cut. Must not know how a computer is made.
 */
import { connect, Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Duplex } from 'node:stream';
import type { Timers } from '../../kit/clock/timers.ts';
import { offerOn } from '../../kit/link/offer.ts';
import {
  type Cursor,
  cursorIn,
  cursorText,
  defaultFolder,
  HostAnswerLine,
  type HostChange,
  type HostedState,
  type HostRequest,
  type HostValues,
  hostValues,
  socketIn,
  startsWithin,
} from '../../programs/computer-host/protocol.ts';
import {
  type DriverCapabilities,
  DriverFault,
  type DriverState,
  type DriverWatcher,
  type HostedDriver,
  type OfferingDriver,
} from './driver.ts';

interface Asked {
  resolve(value: unknown): void;
  reject(fault: Error): void;
}

interface Connection {
  readonly socket: Duplex;
  readonly asked: Map<number, Asked>;
}

/** A start may take as long as the helper allows, behind other requests for the same computer. Milliseconds. */
const answersWithin = 2 * startsWithin;

/** How long after a cut those that watch connect again, ms; twice as long after each try, where nothing may ever run. */
const redialMs = { first: 1_000, longest: 60_000 };

/** While nothing is known of the helper. */
const nothing = {
  egress: 'none',
  wall: 'namespace',
  sleep: 'memory',
  limits: { memory: false, processes: false },
  images: false,
  warm: null,
} as const satisfies Omit<DriverCapabilities, 'refused'>;

/** How a computer host is reached. */
interface HostReach {
  /** As the subject of a sentence: `The computer-host at /var/lib/gantry-computers/host.sock`. */
  readonly name: string;
  /** A connection that speaks its protocol. */
  open(): Promise<Duplex>;
  /** A connection to the socket of one of its computers. */
  openTo(computer: string, socket: string): Promise<Duplex>;
  /** Why a connection could not be made, or was cut. */
  words(fault: unknown): string;
}

/** The computer host of this machine. */
export function createNamespaceDriver({
  folder = defaultFolder,
  timers,
}: {
  /** The folder of the helper's computers and its socket; default: the helper's own default. */
  readonly folder?: string | undefined;
  readonly timers: Timers;
}): OfferingDriver {
  const path = socketIn(folder);
  const reach = {
    name: `The computer-host at ${path}`,
    open: () => openSocket(path),
    openTo: (_computer: string, socket: string) => openSocket(socket),
    words: (fault: unknown) => awayWords(path, fault),
  };
  return createHostDriver(reach, timers);
}

/** One computer host, wherever it is. */
export function createHostDriver(reach: HostReach, timers: Timers): OfferingDriver {
  const conversation = createConversation(reach.open, timers);
  const watches = createWatches(conversation, timers);
  const { ask } = conversation;

  return {
    name: 'namespace',
    async away() {
      try {
        await conversation.connected();
        return null;
      } catch (fault) {
        return reach.words(fault);
      }
    },
    async capabilities() {
      try {
        const { refused, egress, limits, warm = null } = await ask({ op: 'capabilities' });
        return { ...nothing, refused, egress, limits, warm };
      } catch (fault) {
        return { ...nothing, refused: reach.words(fault) };
      }
    },
    async hosts() {
      const unknown = {
        name: null,
        limits: { memory: null, processes: null },
        provenAt: null,
        computers: null,
        most: null,
      };
      try {
        const { refused, limits, most } = await ask({ op: 'capabilities' });
        const known = { ...unknown, refused, most };
        // A helper of an older Gantry knows no `figures`.
        const figures = await ask({ op: 'figures' }).catch(() => null);
        if (figures === null) return [known];
        const { memory, processes, provenAt, computers } = figures;
        const held = { memory: limits.memory ? memory : null, processes: limits.processes ? processes : null };
        return [{ ...known, limits: held, provenAt, computers }];
      } catch (fault) {
        return [{ ...unknown, refused: reach.words(fault) }];
      }
    },
    async create({ computer, image, limits, ...rest }) {
      if (image !== null) {
        const fact = `The driver namespace makes computers from the programs of its machine, not from images such as ${image}.`;
        throw new DriverFault('unsupported', fact);
      }
      try {
        return stateOf(await ask({ op: 'create', computer, spec: { ...rest, ...limits } }));
      } catch (fault) {
        // It serves the computers that it has, but would not hold a new one to what was asked for.
        if (!(fault instanceof DriverFault) || fault.code !== 'bad_request') throw fault;
        throw new DriverFault('unsupported', `${reach.name} is of an older Gantry: restart it with this one.`);
      }
    },
    start: async (computer) => stateOf(await ask({ op: 'start', computer })),
    sleep: async (computer) => void (await ask({ op: 'freeze', computer })),
    wake: async (computer) => stateOf(await ask({ op: 'thaw', computer })),
    async offer(computer, dial) {
      const { channel, state } = await ask({ op: 'inspect', computer });
      if (state === 'frozen') throw new DriverFault('sleeping', `${computer} sleeps.`);
      if (channel === null) throw new DriverFault('not_running', `${computer} does not run.`);
      return offerOn(await reach.openTo(computer, channel.socket), channel.token, dial);
    },
    stop: async (computer) => void (await ask({ op: 'stop', computer })),
    delete: async (computer) => void (await ask({ op: 'delete', computer })),
    async inspect(computer) {
      try {
        return stateOf(await ask({ op: 'inspect', computer }));
      } catch (fault) {
        if (fault instanceof DriverFault && fault.code === 'not_found') return null;
        throw fault;
      }
    },
    list: async () => (await ask({ op: 'list' })).map(stateOf),
    watch: watches.watch,
    close: conversation.close,
  };
}

/** The helper's word for a computer that sleeps says how it does that. */
const stateName = <State extends string>(state: State) =>
  (state === 'frozen' ? 'sleeping' : state) as Exclude<State, 'frozen'> | 'sleeping';

function stateOf({ channel: _, state, ...said }: HostedState): DriverState {
  return { ...said, state: stateName(state) };
}

/** Those that want changes: each continues after a cut from the last change that it was told. */
interface Watching {
  readonly watcher: DriverWatcher;
  /** The last change that it was told; null: it has not been joined yet, and wants what comes from now on. */
  last: Cursor | null;
  joined: boolean;
  /** Heard while it is being joined. */
  readonly early: HostChange[];
}

function createWatches(conversation: Conversation, timers: Timers): Pick<HostedDriver, 'watch'> {
  const all = new Set<Watching>();
  let waitMs = redialMs.first;
  /** Whoever watches asks nothing, so nothing else would dial again. */
  function dialAgain(): void {
    timers.after(waitMs, () => {
      if (all.size > 0) conversation.connected().catch(() => {});
    });
    waitMs = Math.min(waitMs * 2, redialMs.longest);
  }

  function tell(one: Watching, run: string, changes: readonly HostChange[]): void {
    for (const { number, ...change } of changes) {
      if (number <= one.last!.number) continue;
      one.last = { run, number };
      one.watcher.changed({ ...change, state: stateName(change.state), cursor: cursorText({ run, number }) });
    }
  }

  async function join(one: Watching): Promise<void> {
    one.joined = false;
    one.early.length = 0;
    const since = one.last;
    const { run, number, missed, changes } = await conversation.ask({ op: 'watch', since });
    if (!all.has(one)) return;
    if (since === null || missed) one.last = { run, number };
    if (missed) one.watcher.missed();
    tell(one, run, changes);
    tell(one, run, one.early.splice(0));
    one.joined = true;
  }

  // A helper of an older Gantry knows no watch, and one that was cut off is joined again by the next connection.
  const tryJoin = (one: Watching) => void join(one).catch(() => {});

  conversation.listen({
    connected() {
      waitMs = redialMs.first;
      for (const one of all) tryJoin(one);
    },
    over: dialAgain,
    changed(change) {
      for (const one of all) {
        if (one.joined) tell(one, one.last!.run, [change]);
        else one.early.push(change);
      }
    },
  });

  return {
    watch(since, watcher) {
      const one: Watching = { watcher, last: since === null ? null : cursorIn(since), joined: false, early: [] };
      all.add(one);
      if (conversation.isUp()) tryJoin(one);
      else conversation.connected().catch(() => {});
      return () => void all.delete(one);
    },
  };
}

interface Listener {
  connected(): void;
  /** A connection was cut, or could not be made. */
  over(): void;
  changed(change: HostChange): void;
}

type Conversation = ReturnType<typeof createConversation>;

/** Questions to the helper over one connection, dialled when there is something to ask. */
function createConversation(open: HostReach['open'], timers: Timers) {
  const listeners = new Set<Listener>();
  let connection: Promise<Connection> | null = null;
  let up = false;
  let last = 0;
  let closed = false;

  function lost(): void {
    connection = null;
    up = false;
    if (!closed) for (const listener of listeners) listener.over();
  }

  async function dial(): Promise<Connection> {
    const socket = await open().catch((fault: unknown) => {
      lost();
      throw fault;
    });
    const made: Connection = { socket, asked: new Map() };
    let cut = false;
    const over = (cause: Error) => {
      // An error is followed by a close, when there may be another connection already.
      if (cut) return;
      cut = true;
      socket.destroy();
      for (const { reject: refuse } of made.asked.values()) refuse(cause);
      made.asked.clear();
      lost();
    };
    if (socket instanceof Socket) socket.unref();
    socket.once('error', over);
    socket.once('close', () => over(new Error('The computer-host closed the connection.')));
    // The connection re-emits errors of its socket, and without a listener one would end the program.
    createInterface({ input: socket })
      .on('error', over)
      .on('line', (line) => {
        try {
          hear(made, line);
        } catch {
          over(new Error('The computer-host sent an invalid answer.'));
        }
      });
    up = true;
    for (const listener of listeners) listener.connected();
    return made;
  }

  function hear({ asked }: Connection, line: string): void {
    const said = HostAnswerLine.parse(JSON.parse(line));
    if ('event' in said) {
      // The end of one at an older helper is found by the next comparison.
      if (said.event === 'ended') return;
      for (const listener of listeners) listener.changed(said.change);
      return;
    }
    const waiting = asked.get(said.id);
    asked.delete(said.id);
    if (said.ok) waiting?.resolve(said.value);
    else waiting?.reject(new DriverFault(said.fault.code, said.fault.message));
  }

  async function ask<Op extends keyof HostValues>(request: HostRequest & { readonly op: Op }): Promise<HostValues[Op]> {
    const { socket, asked } = await connected();
    last += 1;
    const id = last;
    const value = await new Promise<unknown>((resolve, reject) => {
      const cancel = timers.after(answersWithin, () => {
        asked.delete(id);
        reject(new Error(`The computer-host did not answer ${request.op} within ${answersWithin / 1000} s.`));
      });
      asked.set(id, {
        resolve: (given) => {
          cancel();
          resolve(given);
        },
        reject: (fault) => {
          cancel();
          reject(fault);
        },
      });
      socket.write(`${JSON.stringify({ id, ...request })}\n`);
    });
    const parsed = hostValues[request.op].safeParse(value);
    if (parsed.success) return parsed.data as HostValues[Op];
    const { path, message } = parsed.error.issues[0]!;
    throw new Error(`its answer to ${request.op} is of another version (${path.join('.') || 'value'}: ${message})`);
  }

  async function connected(): Promise<Connection> {
    if (closed) throw new Error('The driver is closed.');
    connection ??= dial();
    return connection;
  }

  return {
    ask,
    connected,
    isUp: () => up,
    listen: (listener: Listener) => void listeners.add(listener),
    close(): void {
      closed = true;
      connection?.then(
        ({ socket }) => socket.destroy(),
        () => {},
      );
    },
  };
}

function awayWords(path: string, fault: unknown): string {
  const { code, message } = fault as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ECONNREFUSED') return `No computer-host runs here (${path}).`;
  if (code === 'EACCES') return `The computer-host at ${path} serves another user.`;
  return `The computer-host at ${path} does not answer: ${message}`;
}

function openSocket(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}
