/**
 * One process of the conversion program: starts with as few rights as Node can give, converts one document at a time, and is killed without notice.
 * It can start nothing itself, and exits when we are gone: killing the one process is enough.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { AppError } from '../../../contracts/common/errors.ts';
import { createFrameReader, frames } from '../../../kit/process/frames.ts';
import { plainEnvironment } from '../../../kit/process/run-process.ts';
import {
  type AnswerHead,
  heapMegabytes,
  lastWords,
  maxHeadLength,
  maxMarkdownLength,
  type RequestHead,
  type Step,
  type StepHead,
} from '../../../programs/converter/protocol.ts';

export interface DocumentSource {
  /** Bytes; the chunks bring exactly as many. */
  readonly size: number;
  readonly chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export interface Answer {
  readonly head: AnswerHead;
  readonly markdown: string;
}

/** How a process ended in the middle of a document. */
type Died = 'memory' | 'crash';

export interface ConverterProcess {
  readonly pid: number | undefined;
  /** Rejects with {@link ProcessDied} when it ends before it has answered, and with what `source` throws. */
  convert(head: RequestHead, source: DocumentSource, onStep?: (step: Step) => void): Promise<Answer>;
  /** Whether it can take another document. */
  alive(): boolean;
  kill(): void;
  readonly ended: Promise<void>;
}

export class ProcessDied extends Error {
  readonly how: Died;
  constructor(how: Died, complaint: string) {
    super(`the conversion program ended: ${how}; ${complaint}`);
    this.how = how;
  }
}

/** Handed on in pieces of this size, so that writing never takes long. Bytes. */
const pieceBytes = 256 * 1024;
const complaintBytes = 8192;
/** UTF-8 of a UTF-16 unit. */
const widest = 3;

export function startConverterProcess([program, file]: readonly [string, ...string[]]): ConverterProcess {
  // Its own code, `src/programs/converter/main.ts` or `out/server/converter.js`: beside `src/` are the packages, beside `out/` the package.json
  // that declares the type of its files.
  const own = resolve(dirname(file as string), ...(file?.endsWith('.ts') ? ['..', '..', '..'] : ['..', '..']));
  const rights = [
    '--permission',
    `--allow-fs-read=${own}/*`,
    '--allow-worker',
    '--disallow-code-generation-from-strings',
  ];
  const child = spawn(program, [`--max-old-space-size=${heapMegabytes}`, ...rights, '--no-warnings', file as string], {
    stdio: ['pipe', 'pipe', 'pipe'],
    cwd: own,
    env: plainEnvironment(),
    windowsHide: true,
  });
  let complaint = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    complaint = (complaint + text).slice(-complaintBytes);
  });
  // It may end while it is written to: its end reports that.
  for (const stream of child.stdio) stream?.on('error', () => {});

  let waiting: {
    resolve: (answer: Answer) => void;
    reject: (error: Error) => void;
    onStep: ((step: Step) => void) | undefined;
  } | null = null;
  const take = createFrameReader<AnswerHead | StepHead>(
    { head: maxHeadLength, body: maxMarkdownLength * widest },
    (head, body) => {
      if ('step' in head) {
        waiting?.onStep?.(head.step);
        return;
      }
      const { buffer, byteOffset, byteLength } = body;
      waiting?.resolve({ head, markdown: Buffer.from(buffer, byteOffset, byteLength).toString('utf8') });
      waiting = null;
    },
  );
  child.stdout?.on('data', (chunk: Buffer) => {
    try {
      take(chunk);
    } catch {
      child.kill('SIGKILL');
    }
  });
  let gone = false;
  const ended = endOf(child).then(() => {
    gone = true;
    const memory =
      complaint.includes(lastWords.memory) ||
      /heap out of memory|Allocation failed|Array buffer allocation/i.test(complaint);
    waiting?.reject(new ProcessDied(memory ? 'memory' : 'crash', complaint.slice(-500)));
    waiting = null;
  });
  /** A kept process is no reason for the runtime to stay; one at work, or one whose end is awaited, is. */
  function hold(holds: boolean): void {
    const streams = [child.stdin, child.stdout, child.stderr] as unknown as ({ ref?(): void; unref?(): void } | null)[];
    for (const one of [child, ...streams]) holds ? one?.ref?.() : one?.unref?.();
  }
  hold(false);

  return {
    pid: child.pid,
    convert(head, source, onStep) {
      hold(true);
      const answered = new Promise<Answer>((resolve, reject) => {
        if (gone) reject(new ProcessDied('crash', complaint));
        else waiting = { resolve, reject, onStep };
      });
      return Promise.all([answered, feed(child.stdin as Writable, head, source)])
        .then(([answer]) => answer)
        .finally(() => hold(false));
    },
    alive: () => !gone && child.exitCode === null && !child.killed,
    kill() {
      hold(true);
      child.kill('SIGKILL');
    },
    ended,
  };
}

/** Also when it could not be started at all. */
async function endOf(child: ChildProcess): Promise<void> {
  await new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', () => resolve());
  });
}

async function feed(stdin: Writable, head: RequestHead, source: DocumentSource): Promise<void> {
  for (const piece of frames(head)) await write(stdin, piece);
  let sent = 0;
  for await (const chunk of source.chunks) {
    for (let at = 0; at < chunk.length; at += pieceBytes) await write(stdin, chunk.subarray(at, at + pieceBytes));
    sent += chunk.length;
  }
  if (sent !== source.size) {
    const fact = `The document changed while it was read: ${sent} of ${source.size} bytes came.`;
    throw new AppError('usage', fact, 'Try again when it is complete.');
  }
}

async function write(stdin: Writable, bytes: Uint8Array): Promise<void> {
  if (stdin.destroyed || stdin.write(bytes)) return;
  // Ends when the pipe is empty or its reader is gone.
  const over = new AbortController();
  await Promise.race([once(stdin, 'drain', over), once(stdin, 'close', over)]).catch(() => {});
  over.abort();
}
