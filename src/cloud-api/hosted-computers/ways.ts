/**
 * The way to a computer's own engine: HTTP on a Unix socket, as its owner `platform-drv:<id>`. A known way holds until the computer is restarted.
 * Must not know routes, phases or meters.
 */
import { Agent, type OutgoingHttpHeaders, request as startRequest } from 'node:http';
import { driverUser } from '../../contracts/hosted-computers/computer.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { clientOf, linkHeaders, surfaceOf } from '../../kit/http/principals.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { Upstream } from '../link/ask.ts';
import { readAnswer } from '../link/read-answer.ts';
import type { DriverState, HostedDriver } from './driver.ts';
import { type ComputerRow, unavailable } from './model.ts';

interface Question {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly principal: Principal;
}

export interface Ways {
  /** Stores the result of a start or an inspection. */
  learn(computerId: string, starts: number, state: DriverState): void;
  forget(computerId: string): void;
  /** Throws `computer_unavailable` if it cannot be reached. */
  upstream(row: ComputerRow, path: string, principal: Principal): Promise<Upstream>;
  /** Reads the whole answer, even if the caller has left. Throws the connection's error. */
  ask(row: ComputerRow, question: Question): Promise<{ readonly status: number; readonly body: unknown }>;
  close(): void;
}

interface Way {
  readonly starts: number;
  readonly agent: Agent;
  readonly socket: string;
  readonly token: string;
}

/** Limit in bytes of an answer: two pictures of the largest screen. */
const largestAnswer = 32 * 1024 * 1024;
/** Limit for a whole answer, longer than any call may take: a key is held for 300 s at most. Milliseconds. */
export const patienceMs = 330_000;
/** Nothing was sent: the socket belongs to an earlier start. */
const notThere = new Set(['ENOENT', 'ECONNREFUSED']);

class SocketAgent extends Agent {
  readonly #path: string;
  constructor(path: string) {
    super({ keepAlive: true, maxFreeSockets: 4 });
    this.#path = path;
  }
  override createConnection(options: object, done?: (error: Error | null, stream: never) => void) {
    return super.createConnection({ ...options, path: this.#path } as never, done as never);
  }
}

export function createWays(driver: Pick<HostedDriver, 'inspect'>, timers: Timers): Ways {
  const known = new Map<string, Way>();

  function forget(id: string): void {
    known.get(id)?.agent.destroy();
    known.delete(id);
  }

  function learn(id: string, starts: number, { channel }: DriverState): Way | null {
    const before = known.get(id);
    const same = before !== undefined && before.socket === channel?.socket && before.token === channel.token;
    // Calls are under way on it.
    if (!same) forget(id);
    if (channel === null) return null;
    const { socket, token } = channel;
    const way = { starts, agent: same ? before.agent : new SocketAgent(socket), socket, token };
    known.set(id, way);
    return way;
  }

  async function wayTo({ id, starts }: ComputerRow): Promise<Way> {
    const way = known.get(id);
    if (way?.starts === starts) return way;
    const state = await driver.inspect(id).catch((fault: Error) => {
      throw unavailable(`The computer ${id} cannot be reached: ${fault.message}`);
    });
    const found = state === null ? null : learn(id, starts, state);
    if (found === null) throw unavailable(`The computer ${id} cannot be called now.`);
    return found;
  }

  async function upstream(row: ComputerRow, path: string, principal: Principal): Promise<Upstream> {
    const { agent, token } = await wayTo(row);
    const headers: OutgoingHttpHeaders = {
      host: 'engine',
      authorization: `Bearer ${token}`,
      [linkHeaders.user]: driverUser(row.id),
      [linkHeaders.surface]: surfaceOf(principal),
      [linkHeaders.client]: clientOf(principal),
    };
    return { agent, path, headers };
  }

  async function once(row: ComputerRow, { method, path, body, principal }: Question) {
    const { agent, headers } = await upstream(row, path, principal);
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const more = bytes && { 'content-type': 'application/json', 'content-length': bytes.length };
    return new Promise<{ status: number; body: unknown }>((resolve, reject) => {
      const outgoing = startRequest({ agent, method, path, headers: { ...headers, ...more } });
      // Covers the first byte to the last: a computer that drips bytes never times out on silence.
      const cancel = timers.after(patienceMs, () =>
        outgoing.destroy(new Error('The computer does not answer in time.')),
      );
      outgoing.once('close', cancel);
      outgoing.once('error', reject);
      outgoing.once('response', (answer) => {
        readAnswer(answer, largestAnswer)
          .then((text) => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text.toString()) as unknown }))
          .catch(reject);
      });
      outgoing.end(bytes);
    });
  }

  return {
    learn: (id, starts, state) => void learn(id, starts, state),
    forget,
    upstream,
    async ask(row, question) {
      try {
        const answer = await once(row, question);
        // Each start makes a new credential.
        if (answer.status !== 401) return answer;
      } catch (fault) {
        if (!notThere.has(String((fault as NodeJS.ErrnoException).code))) throw fault;
      }
      forget(row.id);
      return once(row, question);
    },
    close() {
      for (const id of [...known.keys()]) forget(id);
    },
  };
}
