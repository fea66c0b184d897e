/**
 * Proves from inside of a computer, as its own user, that it reaches nothing of this machine: before the first computer of this helper is answered
 * for, and every hour. It goes by a listener of its own on every address of the machine, and by addresses that no computer may reach. Must not know
 * the firewall, which is compared with its rules elsewhere.
 */
import { connect, createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { HostError } from './tools.ts';

/** Host and port. */
export type Target = readonly [host: string, port: number];

interface Proof {
  /** Resolves at once where it was proven within the hour. Throws `not_isolated`; nothing runs any more then. */
  once(slot: number): Promise<void>;
  /** Milliseconds since 1970; null: it never was. */
  provenAt(): number | null;
  close(): void;
}

/** Milliseconds. */
const everyMs = 3_600_000;
const answersWithin = 1_000;

const always: readonly Target[] = ['10.0.0.1', '172.16.0.1', '192.168.0.1', '100.64.0.1', '169.254.169.254'].map(
  (host) => [host, 80],
);

/** Prints those of the given targets that answer. */
export const script = `const { connect } = require('node:net');
const reached = [];
let left = 0;
for (const [host, port] of JSON.parse(process.argv[1])) {
  left += 1;
  const socket = connect({ host, port, timeout: ${answersWithin} });
  const done = (is) => {
    if (is) reached.push(host);
    socket.destroy();
    left -= 1;
    if (left === 0) console.log(JSON.stringify(reached));
  };
  socket.once('connect', () => done(true));
  socket.once('timeout', () => done(false));
  socket.once('error', () => done(false));
}`;

export function createProof(deps: {
  /** Which of the targets a program in that computer reaches. */
  readonly reach: (slot: number, targets: readonly Target[]) => Promise<readonly string[]>;
  /** One that runs and has a network; null: none does. */
  readonly anyone: () => number | null;
  /** Stops every computer. */
  readonly stopAll: (why: string) => Promise<void>;
  readonly clock: Pick<Clock, 'now'>;
  readonly timers: Timers;
  readonly log: { error(message: string, facts?: Record<string, unknown>): void };
}): Proof {
  const { timers, log } = deps;
  let proven = false;
  let provenAt: number | null = null;
  let closed = false;
  let running: Promise<void> | null = null;
  let cancel = () => {};

  async function prove(slot: number): Promise<void> {
    const server = await listen();
    try {
      const { port } = server.address() as { readonly port: number };
      const own = await reachable(port);
      const reached = await deps.reach(slot, [...always, ...own]).catch((fault: Error) => {
        throw new HostError('not_isolated', `It could not be tried what a computer reaches: ${fault.message}`);
      });
      if (reached.length === 0) {
        proven = true;
        provenAt = deps.clock.now();
        return;
      }
      const why = `From inside of a computer ${reached[0]} answers, which no computer may reach.`;
      log.error('All computers are stopped.', { why });
      await deps.stopAll(why);
      throw new HostError('not_isolated', why);
    } finally {
      server.close();
    }
  }

  function proveOnce(slot: number): Promise<void> {
    running ??= prove(slot).finally(() => {
      running = null;
    });
    return running;
  }

  function later(): void {
    if (closed) return;
    cancel = timers.after(everyMs, () => {
      proven = false;
      const slot = deps.anyone();
      // Without one, the next start proves it.
      const tried = slot === null ? Promise.resolve() : proveOnce(slot);
      tried
        .catch((fault: Error) => log.error('Computers are not proven to be isolated.', { fault: fault.message }))
        .finally(later);
    });
  }

  later();
  return {
    provenAt: () => provenAt,
    once: (slot) => (proven ? Promise.resolve() : proveOnce(slot)),
    close() {
      closed = true;
      cancel();
    },
  };
}

function listen(): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '::', port: 0 }, () => resolve(server));
  });
}

/** The addresses of this machine at which the listener answers: only these say something about who else reaches them. */
async function reachable(port: number): Promise<Target[]> {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const hosts = [...new Set(all.map(({ address }) => address))].filter((host) => !/^(?:127\.|::1$|fe80:)/i.test(host));
  const answered = await Promise.all(hosts.map((host) => answers(host, port)));
  return hosts.flatMap((host, index): Target[] => (answered[index] ? [[host, port]] : []));
}

function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: answersWithin });
    const done = (is: boolean) => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', () => done(true));
    socket.once('timeout', () => done(false));
    socket.once('error', () => done(false));
  });
}
