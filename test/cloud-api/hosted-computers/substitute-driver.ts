/**
 * A driver whose computers are small HTTP servers on Unix sockets in this process: what goes over the wire is real, what happens
 * behind it is written down here. A frozen one answers nothing until it is thawed.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { join } from 'node:path';
import { DriverFault, type DriverState, type HostedDriver } from '../../../src/cloud-api/hosted-computers/driver.ts';
import type { ToolsetResult } from '../../../src/contracts/computer-use/toolset.ts';
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
  server: Server | null;
  socket: string;
  thawed: (() => void)[];
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
  const listeners = new Set<(computer: string, why: string) => void>();
  const heard: Heard[] = [];
  const done: string[] = [];
  const settings = {
    refused: null as string | null,
    /** Why it cannot be reached at all. */
    away: null as string | null,
    /** Answers come byte by byte, and never to their end. */
    drips: false,
    egress: 'enforced' as 'enforced' | 'none',
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
    const { state, why, since, socket, token } = of(computer);
    const up = state === 'running' || state === 'frozen';
    return { computer, state, why, since, channel: up ? { socket, token } : null };
  };
  const set = (one: Made, state: Made['state'], why: string | null = null) =>
    Object.assign(one, { state, why, since: now() });
  const end = async (one: Made) => {
    one.server?.closeAllConnections();
    await new Promise<void>((resolve) => (one.server === null ? resolve() : one.server.close(() => resolve())));
    one.server = null;
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
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', async () => {
        if (one.state === 'frozen') await new Promise<void>((resolve) => one.thawed.push(resolve));
        const text = Buffer.concat(chunks).toString();
        const { method = '', url: path = '', headers } = request;
        const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
        const question = { computer, method, path, headers, body };
        const allowed = headers.authorization === `Bearer ${one.token}`;
        if (allowed) heard.push(question);
        const said = allowed
          ? await settings.answer(question)
          : { status: 401, body: refusal('authentication_error', 'unauthorized') };
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
    });
    await new Promise<void>((resolve) => server.listen(one.socket, resolve));
    one.server = server;
  }

  const driver: HostedDriver = {
    name: 'substitute',
    away: async () => settings.away,
    capabilities: async () => ({ refused: settings.refused, egress: settings.egress }),
    async create(computer) {
      await step('create', computer);
      made.set(computer, {
        state: 'stopped',
        why: null,
        since: now(),
        token: '',
        server: null,
        socket: '',
        thawed: [],
      });
    },
    async start(computer) {
      await step('start', computer);
      const one = of(computer);
      if (one.server === null) await serve(computer, one);
      set(one, 'running');
      return stateOf(computer);
    },
    async freeze(computer) {
      await step('freeze', computer);
      if (of(computer).state === 'stopped') throw new DriverFault('not_running', 'It does not run.');
      set(of(computer), 'frozen');
    },
    async thaw(computer) {
      await step('thaw', computer);
      const one = of(computer);
      if (one.state === 'stopped') throw new DriverFault('not_running', 'It does not run.');
      set(one, 'running');
      for (const go of one.thawed.splice(0)) go();
      return stateOf(computer);
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
    onEnded(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {},
  };

  return {
    driver,
    settings,
    heard,
    done,
    state: (computer: string) => made.get(computer)?.state ?? null,
    computers: () => [...made.keys()],
    /** Made by nobody here. */
    stray: async (computer: string) => {
      await driver.create(computer);
      await driver.start(computer);
    },
    /** It ends by itself; `tell`: and the driver says so. */
    async dies(computer: string, why: string, tell: boolean) {
      const one = of(computer);
      await end(one);
      set(one, 'stopped', why);
      if (tell) for (const listener of [...listeners]) listener(computer, why);
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

export type SubstituteDriver = ReturnType<typeof createSubstituteDriver>;
