/** The executor program, driven over its real wire, and a server of pages for it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BrowserMember } from '../../../src/contracts/computer-use/members.ts';
import { createFrameReader, frames } from '../../../src/kit/process/frames.ts';
import { programCommand } from '../../../src/kit/process/programs.ts';
import {
  type Acted,
  type AnswerHead,
  type EventHead,
  type Fault,
  type HostQuestion,
  type Looked,
  largestPicture,
  maxHeadLength,
  type ProgramEvent,
  type Request,
  type RequestHead,
} from '../../../src/programs/executor/protocol.ts';

export interface Answer {
  readonly acted: Acted;
  readonly bytes: Uint8Array;
}

export interface Driver {
  readonly child: ChildProcess;
  readonly events: ProgramEvent[];
  readonly questions: HostQuestion[];
  /** What hosts are answered; allowed unless told. */
  allow: (question: HostQuestion) => { allow: boolean; why: string };
  send(request: Request): Promise<{ head: AnswerHead; bytes: Uint8Array }>;
  /** Throws the fault as `code: message`. */
  act(member: BrowserMember, input?: Record<string, unknown>, timeoutMs?: number): Promise<Answer>;
  /** The fault of an action that must fail. */
  fault(member: BrowserMember, input?: Record<string, unknown>, timeoutMs?: number): Promise<Fault>;
  look(member: BrowserMember, input?: Record<string, unknown>): Promise<Looked>;
  /** The ref of the first line of `find` or `read_page` that matches. */
  ref(wanted: RegExp): Promise<string>;
  /** The value of an expression in the page. */
  value(expression: string): Promise<string>;
  open(options?: { readonly trace?: string }): Promise<void>;
  readonly folder: string;
  /** Ends it by ending its stdin; resolves with its exit code. */
  end(): Promise<number | null>;
}

export async function startDriver(env: Record<string, string> = {}, session = 'one'): Promise<Driver> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-executor-'));
  const [command, ...args] = programCommand('executor');
  const child = spawn(command, args, {
    stdio: ['pipe', 'pipe', process.env.EXECUTOR_STDERR === undefined ? 'ignore' : 'inherit'],
    env: { PATH: process.env.PATH, HOME: folder, ...env },
  });
  const waiting = new Map<number, (answer: { head: AnswerHead; bytes: Uint8Array }) => void>();
  let last = 0;
  const place = { kind: 'browser', session } as const;

  const driver: Driver = {
    child,
    events: [],
    questions: [],
    allow: () => ({ allow: true, why: '' }),
    folder,
    send(request) {
      last += 1;
      const id = last;
      for (const piece of frames({ ...request, id, size: 0 } as RequestHead)) child.stdin!.write(piece);
      return new Promise((resolve) => waiting.set(id, resolve));
    },
    async act(member, input = {}, timeoutMs = 30_000) {
      const { head, bytes } = await driver.send({ do: 'act', place, toolset: 'browser', member, input, timeoutMs });
      if (!head.ok) throw new Error(`${member}: ${head.fault.code}: ${head.fault.message}`);
      return { acted: head.acted!, bytes };
    },
    async fault(member, input = {}, timeoutMs = 30_000) {
      const { head } = await driver.send({ do: 'act', place, toolset: 'browser', member, input, timeoutMs });
      if (head.ok) throw new Error(`${member} did not fail: ${head.acted?.text}`);
      return head.fault;
    },
    async look(member, input = {}) {
      const { head } = await driver.send({ do: 'look', place, member, input });
      if (!head.ok) throw new Error(head.fault.message);
      return head.looked!;
    },
    async ref(wanted) {
      const { acted } = await driver.act('read_page', { filter: 'all', depth: 100 });
      const line = acted.text!.split('\n').find((one) => wanted.test(one));
      const ref = /\[(ref_\d+)\]/.exec(line ?? '')?.[1];
      if (ref === undefined) throw new Error(`no line of the page matches ${wanted}:\n${acted.text}`);
      return ref;
    },
    async value(expression) {
      return (await driver.act('javascript_exec', { text: expression })).acted.text ?? '';
    },
    async open({ trace } = {}) {
      const { head } = await driver.send({
        do: 'open',
        session,
        profile: join(folder, 'profile'),
        downloads: join(folder, 'downloads'),
        headless: true,
        proxy: null,
        trace: trace ?? null,
      });
      if (!head.ok) throw new Error(`${head.fault.code}: ${head.fault.message}`);
    },
    async end() {
      const gone = new Promise<number | null>((resolve) => child.once('exit', resolve));
      child.stdin!.end();
      const code = child.exitCode ?? (await gone);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      return code;
    },
  };
  const take = createFrameReader<AnswerHead | EventHead>(
    { head: maxHeadLength, body: largestPicture },
    (head, bytes) => {
      if (!('event' in head)) {
        waiting.get(head.id)?.({ head, bytes });
        waiting.delete(head.id);
        return;
      }
      driver.events.push(head);
      if (head.event !== 'host') return;
      driver.questions.push(head);
      void driver.send({ do: 'host', question: head.question, ...driver.allow(head) });
    },
  );
  child.stdout!.on('data', (chunk: Buffer) => take(chunk));
  return driver;
}

export interface Site {
  readonly origin: string;
  readonly port: number;
  /** Answers of paths; a string is a page. */
  readonly pages: Map<string, string | ((request: IncomingMessage, response: ServerResponse) => void)>;
  close(): Promise<void>;
}

export async function startSite(pages: Site['pages'] = new Map()): Promise<Site> {
  const server: Server = createServer((request, response) => {
    const page = pages.get((request.url ?? '/').split('?')[0]!);
    if (typeof page === 'function') return page(request, response);
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html; charset=utf-8' });
    response.end(page ?? 'not here');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    pages,
    async close() {
      server.closeAllConnections();
      await new Promise<void>((done) => server.close(() => done()));
    },
  };
}
