/** One connection to a pane host: hello, requests with answers, events. It knows no panes and starts no host. */
import { connect, type Socket } from 'node:net';
import { AppError } from '../../contracts/common/errors.ts';
import {
  type Answers,
  createFrameReader,
  type Event,
  type FromHost,
  frameHead,
  type HostFiles,
  type Op,
  protocol,
  type Request,
} from '../../programs/pane-host/protocol.ts';

/** The host is on this computer and answers a hello at once; a socket that takes longer belongs to something that hangs. */
const helloMs = 5000;

export interface HostConnection {
  readonly hostPid: number;
  readonly host: HostFacts;
  /** Rejects with the host's refusal, or `transport` when the connection ends first. */
  request<O extends Op>(
    request: Extract<Request, { op: O }>,
    tail?: Uint8Array,
  ): Promise<{ ok: Answers[O]; tail: Uint8Array }>;
  close(): void;
}

interface HostFacts {
  readonly pid: number;
  readonly minor: number;
  /** Its Gantry version; empty if it reports none. */
  readonly build: string;
  readonly startedAt: string;
}

export interface ConnectionEvents {
  event(event: Event, tail: Uint8Array): void;
  /** The connection ended after it was open; not called after `close()`. */
  lost(why: string): void;
}

interface Waiting {
  resolve(answer: { ok: Answers[Op]; tail: Uint8Array }): void;
  reject(error: Error): void;
}

/**
 * Rejects with the system's error (`ENOENT`, `ECONNREFUSED`: no host) or an `AppError`: `refused` from its hello, `transport` when it ended before
 * that, `timeout` when it hangs.
 */
export async function connectHost(files: HostFiles, token: string, events: ConnectionEvents): Promise<HostConnection> {
  const socket = await open(files.socket);
  const waiting = new Map<number, Waiting>();
  let lastId = 0;
  let ended = false;

  function end(why: string): void {
    if (ended) return;
    ended = true;
    socket.destroy();
    const error = new AppError('transport', `The pane host cannot be reached: ${why}.`, 'Try again in a moment.');
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  }
  function lose(why: string): void {
    if (ended) return;
    end(why);
    events.lost(why);
  }

  const read = createFrameReader((header, tail) => {
    const message = header as FromHost;
    if ('ev' in message) {
      events.event(message, tail);
      return;
    }
    const asked = waiting.get(message.re);
    waiting.delete(message.re);
    if ('ok' in message) asked?.resolve({ ok: message.ok, tail });
    else asked?.reject(new AppError(message.error.code, message.error.fact, message.error.action));
  });
  socket.setNoDelay(true);
  socket.on('data', (chunk: Buffer) => {
    try {
      read(chunk);
    } catch (error) {
      lose(error instanceof Error ? error.message : String(error));
    }
  });
  socket.on('error', (error) => lose(error.message));
  socket.on('close', () => lose('it closed the connection'));

  const connection: HostConnection = {
    hostPid: 0,
    host: { pid: 0, minor: 0, build: '', startedAt: '' },
    request: (request, tail) =>
      new Promise((resolve, reject) => {
        if (ended) {
          reject(new AppError('transport', 'The pane host cannot be reached.', 'Try again in a moment.'));
          return;
        }
        const id = ++lastId;
        waiting.set(id, { resolve: resolve as Waiting['resolve'], reject });
        const head = frameHead({ ...request, id }, tail?.length);
        socket.cork();
        socket.write(head);
        if (tail && tail.length > 0) socket.write(tail);
        socket.uncork();
      }),
    close: () => end('it was closed'),
  };
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    end('it did not answer a hello');
  }, helloMs);
  try {
    const who = `runtime ${process.pid}`;
    const { ok } = await connection.request({ op: 'hello', major: protocol.major, token, who });
    const { pid, minor, build = '', startedAt } = ok;
    return { ...connection, hostPid: pid, host: { pid, minor, build, startedAt } };
  } catch (error) {
    end('its hello failed');
    if (late) throw new AppError('timeout', 'The pane host does not answer.', 'Try again in a moment.');
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

function open(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(path);
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve(socket);
    });
  });
}
