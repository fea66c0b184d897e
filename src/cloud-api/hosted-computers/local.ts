/**
 * Computers on this machine: speaks to the root helper (`gantry computer-host`) over its socket, with one connection for all, dialled on demand and
 * again after a cut. Must not know how a computer is made.
 */
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { Timers } from '../../kit/clock/timers.ts';
import {
  defaultFolder,
  HostAnswerLine,
  type HostRequest,
  type HostValues,
  hostValues,
  socketIn,
  startsWithin,
} from '../../programs/computer-host/protocol.ts';
import { DriverFault, type HostedDriver } from './driver.ts';

interface Asked {
  resolve(value: unknown): void;
  reject(fault: Error): void;
}

interface Connection {
  readonly socket: Socket;
  readonly asked: Map<number, Asked>;
}

/** A start may take as long as the helper allows, behind other requests for the same computer. Milliseconds. */
const answersWithin = 2 * startsWithin;

export function createLocalDriver({
  folder = defaultFolder,
  timers,
}: {
  /** The folder of the helper's computers and its socket; default: the helper's own default. */
  readonly folder?: string | undefined;
  readonly timers: Timers;
}): HostedDriver {
  const path = socketIn(folder);
  const listeners = new Set<(computer: string, why: string) => void>();
  const conversation = createConversation(path, timers, (computer, why) => {
    for (const listener of [...listeners]) listener(computer, why);
  });
  const { ask } = conversation;

  return {
    name: 'local',
    async away() {
      try {
        await conversation.connected();
        return null;
      } catch (fault) {
        return awayWords(path, fault);
      }
    },
    async capabilities() {
      try {
        const { refused, egress } = await ask({ op: 'capabilities' });
        return { refused, egress };
      } catch (fault) {
        return { refused: awayWords(path, fault), egress: 'none' };
      }
    },
    create: async (computer) => void (await ask({ op: 'create', computer })),
    start: (computer) => ask({ op: 'start', computer }),
    freeze: async (computer) => void (await ask({ op: 'freeze', computer })),
    thaw: (computer) => ask({ op: 'thaw', computer }),
    stop: async (computer) => void (await ask({ op: 'stop', computer })),
    delete: async (computer) => void (await ask({ op: 'delete', computer })),
    async inspect(computer) {
      try {
        return await ask({ op: 'inspect', computer });
      } catch (fault) {
        if (fault instanceof DriverFault && fault.code === 'not_found') return null;
        throw fault;
      }
    },
    list: () => ask({ op: 'list' }),
    onEnded(listener) {
      const entry = (computer: string, why: string) => listener(computer, why);
      listeners.add(entry);
      return () => listeners.delete(entry);
    },
    close: conversation.close,
  };
}

/** Questions to the helper over one connection, dialled when there is something to ask. */
function createConversation(path: string, timers: Timers, onEnded: (computer: string, why: string) => void) {
  let connection: Promise<Connection> | null = null;
  let last = 0;
  let closed = false;

  function dial(): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect(path);
      const made: Connection = { socket, asked: new Map() };
      const over = (cause: Error) => {
        connection = null;
        socket.destroy();
        reject(cause);
        for (const { reject: refuse } of made.asked.values()) refuse(cause);
        made.asked.clear();
      };
      socket.unref();
      socket.once('connect', () => resolve(made));
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
    });
  }

  function hear({ asked }: Connection, line: string): void {
    const said = HostAnswerLine.parse(JSON.parse(line));
    if ('event' in said) {
      onEnded(said.computer, said.why);
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
