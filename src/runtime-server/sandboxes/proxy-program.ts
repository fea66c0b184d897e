/**
 * The life of the proxy program: started for the first sandbox, and again when it ends, with the sandboxes that are open; while there is none, nothing
 * gets out. Must not know what is allowed.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { createFrameReader, frames } from '../../kit/process/frames.ts';
import { type ServedProcess, startServedProcess } from '../../kit/process/served-process.ts';
import {
  type EventHead,
  maxHeadLength,
  type OpenSandbox,
  type Order,
  type Question,
  type Refused,
  type Verdict,
} from '../../programs/sandbox-proxy/protocol.ts';
import type { Base } from '../base/base.ts';

interface ProxyProgram {
  /**
   * Resolves once it listens there, with the certificate that programs of the sandbox have to trust (PEM; null: none); rejects with `transport` if it
   * cannot.
   */
  open(sandbox: Omit<OpenSandbox, 'do'>): Promise<string | null>;
  close(id: string): void;
  /** Of the running program; null: none runs. */
  pid(): number | null;
  /** Ends it, and every connection. */
  end(): Promise<void>;
}

const firstPauseMs = 100;
const maxPauseMs = 5000;
/** Longer than a busy computer takes to start a program. */
const openMs = 30_000;

/** Names that are looked up at once, each by a thread of Node's: a slow one of one bot must not hold those of others. */
const lookups = 32;

interface Opening {
  readonly resolve: (authority: string | null) => void;
  readonly reject: (fault: AppError) => void;
}

export function createProxyProgram({
  command,
  env,
  timers,
  log,
  decide,
  onRefused,
}: Pick<Base, 'timers' | 'log'> & {
  readonly command: readonly [string, ...string[]];
  /** Of Gantry. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Never rejects. */
  readonly decide: (question: Question) => Promise<Verdict>;
  readonly onRefused: (refused: Refused) => void;
}): ProxyProgram {
  const open = new Map<string, OpenSandbox>();
  const openings = new Map<string, Opening>();
  let starting: Promise<void> | null = null;
  let running: ServedProcess | null = null;
  let pauseMs = firstPauseMs;
  let cancelPause = () => {};
  let isOver = false;
  /** A company's own authority: where TLS is opened, the proxy checks the server in the place of the bot's program. */
  const trusted: Record<string, string> =
    env.NODE_EXTRA_CA_CERTS === undefined ? {} : { NODE_EXTRA_CA_CERTS: env.NODE_EXTRA_CA_CERTS };

  function send(process: ServedProcess, order: Order): void {
    for (const piece of frames({ ...order, size: 0 })) process.stdin.write(piece);
  }

  function take(process: ServedProcess, event: EventHead): void {
    switch (event.event) {
      case 'opened':
        pauseMs = firstPauseMs;
        openings.get(event.id)?.resolve(event.authority);
        break;
      case 'not opened':
        log.warn('A sandbox has no way out.', { why: event.why });
        openings.get(event.id)?.reject(notOpened(event.why));
        break;
      case 'refused':
        onRefused(event);
        break;
      case 'question':
        void decide(event).then((verdict) => {
          if (running === process) send(process, { do: 'answer', question: event.question, verdict });
        });
    }
  }

  async function start(): Promise<void> {
    const process = await startServedProcess({ command, env: { UV_THREADPOOL_SIZE: String(lookups), ...trusted } });
    running = process;
    const read = createFrameReader<EventHead>({ head: maxHeadLength, body: 0 }, (head) => take(process, head));
    process.stdout.on('data', (chunk: Buffer) => {
      try {
        read(chunk);
      } catch (fault) {
        log.warn('The proxy of sandboxes sent something unreadable and is being stopped.', { fault: String(fault) });
        void process.end();
      }
    });
    void process.exited.then(({ code, signal }) => {
      running = null;
      starting = null;
      if (isOver) return;
      const complaint = process.complaint().slice(-2000);
      log.warn('The proxy of sandboxes ended, and starts again.', { how: signal ?? `code ${code}`, complaint });
      startLater();
    });
    for (const sandbox of open.values()) send(process, sandbox);
  }

  function startLater(): void {
    cancelPause();
    if (open.size === 0) return;
    cancelPause = timers.after(pauseMs, () => {
      begin().catch((fault: unknown) => {
        log.warn('The proxy of sandboxes could not be started.', { fault: String(fault) });
        startLater();
      });
    });
    pauseMs = Math.min(2 * pauseMs, maxPauseMs);
  }

  function begin(): Promise<void> {
    starting ??= start().catch((fault: unknown) => {
      starting = null;
      throw fault;
    });
    return starting;
  }

  function opened(id: string): Promise<string | null> {
    return new Promise((resolve, reject) => {
      const late = timers.after(openMs, () => settle(() => reject(notOpened('its proxy did not answer'))));
      const settle = (how: () => void) => {
        late();
        if (openings.get(id) === opening) openings.delete(id);
        how();
      };
      const opening: Opening = {
        resolve: (authority) => settle(() => resolve(authority)),
        reject: (fault) => settle(() => reject(fault)),
      };
      openings.get(id)?.reject(notOpened('it was opened once more'));
      openings.set(id, opening);
    });
  }

  return {
    async open(sandbox) {
      if (isOver) throw notOpened('Gantry is shutting down');
      const order: OpenSandbox = { do: 'open', ...sandbox };
      const waiting = opened(sandbox.id);
      open.set(sandbox.id, order);
      const before = running;
      try {
        await begin();
        // A program that has just been started was told of all that are open.
        if (before !== null && running === before) send(before, order);
        return await waiting;
      } catch (fault) {
        waiting.catch(() => {});
        if (open.get(sandbox.id) === order) open.delete(sandbox.id);
        throw fault;
      }
    },
    close(id) {
      open.delete(id);
      if (running !== null) send(running, { do: 'close', id });
    },
    pid: () => running?.pid ?? null,
    async end() {
      isOver = true;
      cancelPause();
      await starting?.catch(() => {});
      await running?.end();
    },
  };
}

function notOpened(why: string): AppError {
  return new AppError('transport', `The sandbox has no way out: ${why}.`, 'Start its team again.');
}
