/**
 * The sockets of all sandboxes: listens for each, asks the runtime about what comes, and bounds how much of it there may be at once. Must not know
 * what is said on a connection.
 */
import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { AppError } from '../../contracts/common/errors.ts';
import { systemClock } from '../../kit/clock/clock.ts';
import { dial } from '../../kit/egress/dial.ts';
import type { HostAndPort } from '../../kit/egress/host-name.ts';
import type { Lookup } from '../../kit/egress/lookup.ts';
import { type Authority, createAuthority } from './ca.ts';
import { accept, secure } from './open-tls.ts';
import type { KeyUse, OpenSandbox, Order, ProxyEvent, Verdict } from './protocol.ts';
import type { Sandbox } from './sandbox.ts';
import { type SshAgent, startSshAgent } from './ssh-agent.ts';
import { createWays } from './ways.ts';

interface SandboxProxy {
  take(order: Order): void;
  close(): Promise<void>;
}

/** Of one sandbox at once. */
const maxConnections = 256;
/** Nothing passes either way for so long: it is forgotten. */
const idleMs = 60 * 60_000;
/** The same, once the program has ended its half. */
const halfIdleMs = 10 * 60_000;
/** The runtime answers sooner, also where a person is asked. */
const answerMs = 70_000;
const noAnswer: Verdict = { allow: false, reason: 'rule', why: 'nothing decided about it' };

interface Open {
  enginePort: number;
  keys: readonly KeyUse[];
  readonly seed: string;
  authority: Promise<Authority> | null;
  readonly socket: string;
  readonly server: Server;
  readonly sockets: Set<Socket>;
  readonly agent: Promise<SshAgent> | null;
}

export function createSandboxProxy({
  send,
  lookup,
  trusted,
}: {
  readonly send: (event: ProxyEvent) => void;
  readonly lookup?: Lookup;
  /** PEM of an authority that servers may have beside the usual ones. */
  readonly trusted?: string;
}): SandboxProxy {
  const ways = createWays();
  const open = new Map<string, Open>();
  const waiting = new Map<number, (verdict: Verdict) => void>();
  let lastQuestion = 0;

  function ask(id: string, to: HostAndPort): Promise<Verdict> {
    lastQuestion += 1;
    const question = lastQuestion;
    return new Promise((resolve) => {
      const timer = setTimeout(() => answer(noAnswer), answerMs);
      const answer = (verdict: Verdict) => {
        clearTimeout(timer);
        waiting.delete(question);
        resolve(verdict);
      };
      waiting.set(question, answer);
      send({ event: 'question', question, id, ...to });
    });
  }

  function sandboxOf(id: string, one: Open): Sandbox {
    const refused: Sandbox['refused'] = (to, reason, why) => send({ event: 'refused', id, ...to, reason, why });
    return {
      enginePort: () => one.enginePort,
      may: (to) => ask(id, to),
      refused: ({ host, port }, reason, why) => refused({ host, port }, reason, why),
      keys: () => one.keys,
      async open(client, upstream, to) {
        const secured = await secure(upstream, to, trusted);
        one.authority ??= createAuthority(systemClock, one.seed);
        return { upstream: secured, client: await accept(client, to, await one.authority) };
      },
      async dial(to, isPrivateAllowed, isSecure = false) {
        try {
          const socket = await dial({ ...to, isPrivateAllowed, lookup });
          socket.setTimeout(idleMs, () => socket.destroy());
          return isSecure ? await secure(socket, to, trusted) : socket;
        } catch (error) {
          if (error instanceof AppError && error.code === 'refused') {
            refused(to, 'private', 'it leads to an address that is not public');
          }
          throw error;
        }
      },
    };
  }

  /** Once its programs could trust what is opened. */
  async function tellOpened(id: string, one: Open): Promise<void> {
    if (one.keys.length > 0) one.authority ??= createAuthority(systemClock, one.seed);
    const authority = (await one.authority)?.certificate ?? null;
    try {
      await one.agent;
    } catch (fault) {
      if (open.get(id) !== one) return;
      forget(id);
      send({ event: 'not opened', id, why: (fault as Error).message });
      return;
    }
    if (open.get(id) === one) send({ event: 'opened', id, authority });
  }

  function listen({ id, socket, enginePort, keys, seed, ssh }: OpenSandbox): void {
    const before = open.get(id);
    if (before?.socket === socket && before.agent === null && ssh === null) {
      before.enginePort = enginePort;
      before.keys = keys;
      void tellOpened(id, before);
      return;
    }
    if (before !== undefined) forget(id);
    const server = createServer({ allowHalfOpen: true, noDelay: true });
    const agent = ssh === null ? null : startSshAgent(ssh);
    const one: Open = { enginePort, keys, seed, authority: null, socket, server, sockets: new Set(), agent };
    const sandbox = sandboxOf(id, one);
    server.maxConnections = maxConnections;
    server.on('drop', () => sandbox.refused({ host: null, port: 0 }, 'limit', 'it has too many connections'));
    server.on('connection', (client) => {
      one.sockets.add(client);
      // Each way of passing bytes on listens several times.
      client.setMaxListeners(20);
      client.on('error', () => client.destroy());
      client.once('close', () => one.sockets.delete(client));
      client.setTimeout(idleMs, () => client.destroy());
      // A program that has ended looks the same as one that only has no more to say.
      client.once('end', () => client.setTimeout(halfIdleMs));
      ways.serve(sandbox, client).catch(() => client.destroy());
    });
    server.once('error', (fault) => {
      open.delete(id);
      send({ event: 'not opened', id, why: fault.message });
    });
    // Left by a proxy that was killed.
    rmSync(socket, { force: true });
    open.set(id, one);
    server.listen(socket, () => void tellOpened(id, one));
  }

  function forget(id: string): void {
    const one = open.get(id);
    open.delete(id);
    one?.server.close();
    for (const socket of one?.sockets ?? []) socket.destroy();
    one?.agent?.then((agent) => agent.end()).catch(() => {});
  }

  return {
    take(order) {
      if (order.do === 'open') listen(order);
      else if (order.do === 'close') forget(order.id);
      else waiting.get(order.question)?.(order.verdict);
    },
    async close() {
      for (const id of [...open.keys()]) forget(id);
    },
  };
}
