/**
 * The client of the executor program: starts it at the first request, restarts it after it died, talks to it in frames (executor/protocol.ts). Must
 * not know what a request is for.
 */

import { createFrameReader, frames } from '../../kit/process/frames.ts';
import { type ServedProcess, startServedProcess } from '../../kit/process/served-process.ts';
import {
  type Acted,
  type AnswerHead,
  type EventHead,
  type Fault,
  type Looked,
  largestPicture,
  maxHeadLength,
  type ProgramEvent,
  type Request,
  type RequestHead,
} from '../../programs/executor/protocol.ts';

/** The program's error, or that it is missing. */
export class ExecutorFault extends Error {
  override readonly name = 'ExecutorFault';
  readonly fault: Fault;
  constructor(fault: Fault) {
    super(fault.message);
    this.fault = fault;
  }
}

export interface ExecutorAnswer {
  readonly looked: Looked | null;
  readonly acted: Acted | null;
  readonly file: string | null;
  /** The picture of {@link Acted.image}. */
  readonly bytes: Uint8Array;
}

export interface ExecutorProgram {
  /** Rejects with {@link ExecutorFault}, also when the program ends before the answer. */
  request(request: Request): Promise<ExecutorAnswer>;
  /** Without starting it, and without an answer. False: it does not run. */
  tell(request: Request): boolean;
  /** Counts starts: requests of an earlier one are closed. */
  readonly generation: number;
  readonly running: boolean;
  /** Requests without an answer so far. */
  readonly underWay: number;
  close(): Promise<void>;
}

interface Waiting {
  readonly request: Request;
  readonly resolve: (answer: ExecutorAnswer) => void;
  readonly reject: (fault: ExecutorFault) => void;
}

interface Live {
  readonly process: ServedProcess;
  readonly waiting: Map<number, Waiting>;
}

export function createExecutorProgram(deps: {
  readonly command: readonly [string, ...string[]];
  /** Beside the plain environment. */
  readonly env: Readonly<Record<string, string>>;
  readonly onEvent: (event: ProgramEvent, bytes: Uint8Array) => void;
  /** It ended unexpectedly; open requests are lost. */
  readonly onDeath: (fault: Fault) => void;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): ExecutorProgram {
  let live: Promise<Live> | null = null;
  let running: Live | null = null;
  let generation = 0;
  let lastId = 0;
  let closed = false;

  async function start(): Promise<Live> {
    const process = await startServedProcess({ command: deps.command, env: deps.env });
    const one: Live = { process, waiting: new Map() };
    const take = createFrameReader<AnswerHead | EventHead>(
      { head: maxHeadLength, body: largestPicture },
      (head, body) => ('event' in head ? deps.onEvent(head, body) : answer(one, head, body)),
    );
    process.stdout.on('data', (chunk: Buffer) => {
      try {
        take(chunk);
      } catch (fault) {
        deps.log.warn('The executor sent something unreadable and is being stopped.', { fault: String(fault) });
        void process.end();
      }
    });
    void process.exited.then(({ code, signal }) => {
      if (running === one) {
        running = null;
        live = null;
      }
      const how = signal ?? `code ${code}`;
      const message = `The executor ended (${how}).`;
      if (!closed) deps.log.warn('The executor ended.', { how, complaint: process.complaint().slice(-2000) });
      for (const each of one.waiting.values()) each.reject(new ExecutorFault(endOf(each.request, message)));
      one.waiting.clear();
      if (!closed) deps.onDeath({ sort: 'device', code: 'browser_crashed', message });
    });
    running = one;
    generation += 1;
    return one;
  }

  function answer(one: Live, head: AnswerHead, bytes: Uint8Array): void {
    const waiting = one.waiting.get(head.id);
    one.waiting.delete(head.id);
    if (head.ok) {
      const { looked = null, acted = null, file = null } = head;
      waiting?.resolve({ looked, acted, file, bytes });
    } else waiting?.reject(new ExecutorFault(head.fault));
  }

  function send({ process }: Live, id: number, request: Request): void {
    const head: RequestHead = { ...request, id, size: 0 };
    for (const piece of frames(head)) process.stdin.write(piece);
  }

  return {
    async request(request) {
      if (closed) throw new ExecutorFault(endOf(request, 'The executor is shutting down.'));
      live ??= start();
      let one: Live;
      try {
        one = await live;
      } catch (error) {
        live = null;
        throw new ExecutorFault(endOf(request, `The executor could not be started: ${(error as Error).message}`));
      }
      return new Promise<ExecutorAnswer>((resolve, reject) => {
        if (running !== one) {
          reject(new ExecutorFault(endOf(request, 'The executor ended.')));
          return;
        }
        lastId += 1;
        one.waiting.set(lastId, { request, resolve, reject });
        send(one, lastId, request);
      });
    },
    tell(request) {
      if (running === null) return false;
      lastId += 1;
      send(running, lastId, request);
      return true;
    },
    get generation() {
      return generation;
    },
    get running() {
      return running !== null;
    },
    get underWay() {
      return running?.waiting.size ?? 0;
    },
    async close() {
      closed = true;
      const one = await live?.catch(() => null);
      await one?.process.end();
    },
  };
}

/** The result of a request without an answer: whether its action happened is unknown. */
function endOf(request: Request, message: string): Fault {
  const desktop = 'place' in request && request.place.kind === 'desktop';
  const code = desktop ? 'display_unavailable' : 'browser_crashed';
  return { sort: 'device', code, message, ...(request.do === 'act' ? { unknownEnd: true as const } : {}) };
}
