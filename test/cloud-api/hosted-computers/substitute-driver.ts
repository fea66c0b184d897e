/**
 * A driver whose computers are small programs in this process: each dials on what it is offered at its Unix socket, and answers over its link. What goes
 * over the wire is real, what happens behind it is written down here. A sleeping one answers nothing until it is woken.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import {
  type ComputerSpec,
  type DriverCapabilities,
  type DriverChange,
  DriverFault,
  type DriverState,
  type DriverWatcher,
  type OfferingDriver,
} from '../../../src/cloud-api/hosted-computers/driver.ts';
import type { ToolsetResult } from '../../../src/contracts/computer-use/toolset.ts';
import { createHostedDialer } from '../../../src/host/hosted-dialer.ts';
import { openNowhere } from '../../../src/host/listeners.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { type Dial, offerAt } from '../../../src/kit/link/offer.ts';
import { scratchFolder } from '../../support/scratch.ts';

export interface Heard {
  readonly computer: string;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: Record<string, unknown>;
}
export interface Said {
  readonly status: number;
  readonly body: unknown;
}

interface Made {
  state: DriverState['state'];
  why: string | null;
  since: number;
  token: string;
  program: Program | null;
  socket: string;
  key: string;
  woken: (() => void)[];
}

export const result = (more: Partial<ToolsetResult> = {}): ToolsetResult => ({
  is_error: false,
  content: [{ type: 'text', text: 'done' }],
  screen: { width: 1280, height: 720, scale: 1, frame_width: 1280, frame_height: 720 },
  ...more,
});

export const refusal = (type: string, code: string, message = `It is ${code}.`) => ({
  error: { type, code, message, param: null },
});

export function createSubstituteDriver(now: () => number) {
  const folder = scratchFolder();
  const made = new Map<string, Made>();
  const watchers = new Set<DriverWatcher>();
  const specs: ComputerSpec[] = [];
  let changes = 0;
  const heard: Heard[] = [];
  const offers: Dial[] = [];
  const done: string[] = [];
  const settings = {
    refused: null as string | null,
    /** Why it cannot be reached at all. */
    away: null as string | null,
    /** Answers come byte by byte, and never to their end. */
    drips: false,
    egress: 'enforced' as DriverCapabilities['egress'],
    sleep: 'memory' as DriverCapabilities['sleep'],
    /** Another cloud has the name of the next one already. */
    collides: false,
    /** Why it makes no computer as the next ones are asked for. */
    unsupported: null as string | null,
    /** The next of these fails. */
    fails: null as string | null,
    /** Held up before it is done. */
    hold: null as Promise<void> | null,
    answer: ((_: Heard): Said | Promise<Said> => ({ status: 200, body: result() })) as (
      question: Heard,
    ) => Said | Promise<Said>,
  };
  let starts = 0;

  const of = (computer: string): Made => {
    const found = made.get(computer);
    if (found === undefined) throw new DriverFault('not_found', `There is no computer ${computer}.`);
    return found;
  };
  const stateOf = (computer: string): DriverState => {
    const { state, why, since } = of(computer);
    return { computer, state, why, since };
  };
  const unmade = (): Made => ({
    key: '',
    state: 'stopped',
    why: null,
    since: now(),
    token: '',
    program: null,
    socket: '',
    woken: [],
  });
  const say = (change: Pick<DriverChange, 'computer' | 'state' | 'why'>) => {
    changes += 1;
    for (const watcher of [...watchers]) watcher.changed({ ...change, at: now(), cursor: String(changes) });
  };
  const set = (one: Made, state: Made['state'], why: string | null = null) =>
    Object.assign(one, { state, why, since: now() });
  const end = async (one: Made) => {
    await one.program?.end();
    one.program = null;
  };
  const step = async (op: string, computer: string) => {
    done.push(`${op} ${computer}`);
    await settings.hold;
    if (settings.fails !== op) return;
    settings.fails = null;
    throw new DriverFault('failed', `${op} did not work.`);
  };

  async function serve(computer: string, one: Made): Promise<void> {
    starts += 1;
    one.token = `token-${starts}-${'x'.repeat(32)}`;
    one.socket = join(folder, `${starts}.sock`);
    one.program = await startProgram(one, now, async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      if (one.state === 'sleeping') await new Promise<void>((resolve) => one.woken.push(resolve));
      const text = Buffer.concat(chunks).toString();
      const { method = '', url: path = '', headers } = request;
      const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
      const question = { computer, method, path, headers, body };
      heard.push(question);
      const said = await settings.answer(question);
      response.writeHead(said.status, { 'content-type': 'application/json' });
      if (settings.drips) {
        while (!response.destroyed) {
          response.write(' ');
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        return;
      }
      response.end(JSON.stringify(said.body));
    });
  }

  const driver: OfferingDriver = {
    name: 'substitute',
    away: async () => settings.away,
    capabilities: async () => ({
      refused: settings.refused,
      egress: settings.egress,
      wall: 'namespace',
      sleep: settings.sleep,
      limits: { memory: true, processes: true },
      images: false,
      warm: null,
    }),
    hosts: async () => [
      {
        name: null,
        refused: settings.refused,
        limits: { memory: 2048, processes: 1024 },
        provenAt: now(),
        computers: made.size,
        most: 20,
      },
    ],
    async create(spec) {
      const { computer, key } = spec;
      await step('create', computer);
      specs.push(spec);
      if (settings.unsupported !== null) throw new DriverFault('unsupported', settings.unsupported);
      if (settings.collides) made.set(computer, { ...unmade(), key: 'of another cloud' });
      const there = made.get(computer);
      if (there?.key === key) return stateOf(computer);
      if (there !== undefined) throw new DriverFault('exists', `${computer} already exists.`);
      made.set(computer, { ...unmade(), key });
      return stateOf(computer);
    },
    async start(computer) {
      await step('start', computer);
      const one = of(computer);
      if (one.program === null) await serve(computer, one);
      set(one, 'running');
      return stateOf(computer);
    },
    async sleep(computer) {
      await step('sleep', computer);
      const one = of(computer);
      if (one.state === 'stopped') throw new DriverFault('not_running', 'It does not run.');
      if (settings.sleep === 'files') await end(one);
      set(one, 'sleeping');
    },
    async wake(computer) {
      await step('wake', computer);
      const one = of(computer);
      if (one.state === 'stopped') throw new DriverFault('not_running', 'It does not run.');
      if (one.program === null) await serve(computer, one);
      set(one, 'running');
      for (const go of one.woken.splice(0)) go();
      return stateOf(computer);
    },
    async offer(computer, dial) {
      if (settings.away !== null) throw new Error(settings.away);
      const { state, socket, token, program } = of(computer);
      if (state === 'sleeping') throw new DriverFault('sleeping', 'It sleeps.');
      if (state !== 'running' || program === null) throw new DriverFault('not_running', 'It does not run.');
      offers.push(dial);
      return offerAt(socket, token, dial);
    },
    async stop(computer) {
      await step('stop', computer);
      const one = of(computer);
      await end(one);
      set(one, 'stopped');
    },
    async delete(computer) {
      await step('delete', computer);
      const one = made.get(computer);
      if (one !== undefined) await end(one);
      made.delete(computer);
    },
    inspect: async (computer) => (made.has(computer) ? stateOf(computer) : null),
    list: async () => [...made.keys()].map(stateOf),
    watch(_since, watcher) {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
    close() {},
  };

  return {
    driver,
    settings,
    specs,
    heard,
    offers,
    done,
    /** Where its program takes what is offered, and what proves an offer. */
    socketOf: (computer: string) => of(computer).socket,
    secretOf: (computer: string) => of(computer).token,
    state: (computer: string) => made.get(computer)?.state ?? null,
    computers: () => [...made.keys()],
    /** Made by nobody here. */
    stray: async (computer: string) => {
      const limits = { memory: null, processes: null };
      await driver.create({
        computer,
        key: 'stray',
        image: null,
        limits,
        toolset: 'desktop',
        egress: 'public',
        lifetime: null,
      });
      await driver.start(computer);
    },
    /** It ends by itself; `tell`: and the driver says so. */
    async dies(computer: string, why: string, tell: boolean) {
      const one = of(computer);
      await end(one);
      set(one, 'stopped', why);
      if (tell) say({ computer, state: 'stopped', why });
    },
    /** Somebody deleted it with the engine's own means, and the driver says so. */
    async vanishes(computer: string) {
      await end(of(computer));
      made.delete(computer);
      say({ computer, state: 'gone', why: null });
    },
    /** What the driver tells, whether it is so or not. */
    say,
    /** Its changes since are lost. */
    misses() {
      for (const watcher of [...watchers]) watcher.missed();
    },
    /** It was started anew behind the cloud's back: another socket, another token. */
    async restarts(computer: string) {
      const one = of(computer);
      await end(one);
      await serve(computer, one);
    },
    async close() {
      for (const one of made.values()) await end(one);
    },
  };
}

interface Program {
  /** As its process would: nothing is left of its connections. */
  end(): Promise<void>;
}

/** What runs in a computer, without a computer around it. */
async function startProgram(
  { socket: path, token }: Pick<Made, 'socket' | 'token'>,
  now: () => number,
  answer: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<Program> {
  const connections = new Set<Socket>();
  const server = createServer((connection) => {
    connection.on('error', () => {});
    connections.add(connection);
    connection.once('close', () => connections.delete(connection));
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  const dialer = createHostedDialer({
    secret: token,
    clock: { ...systemClock, now },
    timers: systemTimers,
    log: { info() {}, warn() {} },
  });
  const listener = openNowhere();
  listener.serve((request, response) => {
    void Promise.resolve(dialer.authenticator.authenticate(request)).then((principal) => {
      if (principal !== null) return answer(request, response);
      response.writeHead(401, { 'content-type': 'application/json' });
      response.end(JSON.stringify(refusal('authentication_error', 'unauthorized')));
    });
  });
  dialer.serve({ take: (connected) => void server.on('connection', connected) }, listener.accept);
  return {
    async end() {
      for (const connection of connections) connection.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
      await listener.close();
    },
  };
}

export type SubstituteDriver = ReturnType<typeof createSubstituteDriver>;
