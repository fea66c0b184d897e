/**
 * Converts documents to Markdown for the rest of the runtime: a few processes at once, at most one kept warm for the next document, each killed at
 * its deadline or when its last caller leaves. An error that ends a process is reported as a problem of the document.
 */

import { z } from 'zod';
import { AppError } from '../../../contracts/common/errors.ts';
import type { OnProgress } from '../../../contracts/common/work-progress.ts';
import {
  defaultDeadlineMs,
  type Family,
  heapMegabytes,
  largestInput,
  maxResidentBytes,
} from '../../../programs/converter/protocol.ts';
import {
  type Answer,
  type ConverterProcess,
  type DocumentSource,
  ProcessDied,
  startConverterProcess,
} from './converter-process.ts';

export interface ConvertAsk {
  readonly filename: string;
  readonly mimeType: string;
  /** Only documents of this family; null for all. */
  readonly family: Family | null;
  readonly deadlineMs?: number;
}

export interface ConvertedDocument {
  readonly markdown: string;
  readonly kind: string;
  readonly family: string;
  readonly mimeType: string;
  readonly charset: string | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly notes: readonly string[];
}

export interface Converter {
  /**
   * Throws `usage` for a document that cannot be converted (with the problem and what to do), `timeout` at the deadline, `refused` when too many
   * wait. Ends with the signal's reason when that comes first.
   */
  convert(
    source: DocumentSource,
    ask: ConvertAsk,
    signal: AbortSignal,
    onProgress?: OnProgress,
  ): Promise<ConvertedDocument>;
  /** Processes that live, the kept one included. */
  processes(): readonly (number | undefined)[];
  close(): Promise<void>;
}

/** At once: conversions use the processor, and panes and bots need it too. */
const maxConcurrent = 2;
const maxWaiting = 32;
/** The kept process goes after this. Milliseconds. */
const idleMs = 60_000;
/** Before the program says more, and where a format cannot say more. */
const converting = { what: 'Converting the document', done: 0, total: null, unit: null } as const;
/** What reads a stranger's document may say anything: only what is a step is passed on to pages and terminals. */
const Step = z
  .object({ done: z.number().int().min(0), total: z.number().int().min(0), unit: z.string().regex(/^[a-z ]{1,20}$/) })
  .refine(({ done, total }) => done <= total);
/** The program ends a conversion itself with a better message; this is its time for that. Milliseconds. */
const graceMs = 1000;

export function createConverter(deps: {
  /** Program and file of the converter. */
  readonly command: readonly [string, ...string[]];
  readonly after: (ms: number, effect: () => void) => () => void;
  /** Text in pictures is recognised; off without it. */
  readonly ocr?: boolean;
  readonly start?: (command: readonly [string, ...string[]]) => ConverterProcess;
}): Converter {
  const start = deps.start ?? startConverterProcess;
  const live = new Set<ConverterProcess>();
  const waiting: (() => void)[] = [];
  let running = 0;
  let kept: { process: ConverterProcess; forget: () => void } | null = null;
  let closed = false;

  function take(): ConverterProcess {
    const warm = kept;
    kept = null;
    warm?.forget();
    if (warm?.process.alive()) return warm.process;
    const fresh = start(deps.command);
    live.add(fresh);
    void fresh.ended.then(() => live.delete(fresh));
    return fresh;
  }

  function giveBack(process: ConverterProcess, resident: number | null): void {
    // One that failed, or has grown, is not trusted with the next document.
    if (closed || resident === null || resident > maxResidentBytes || kept !== null || !process.alive()) {
      process.kill();
      return;
    }
    const forget = deps.after(idleMs, () => {
      if (kept?.process === process) kept = null;
      process.kill();
    });
    kept = { process, forget };
  }

  async function slot(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (running < maxConcurrent) {
      running += 1;
      return;
    }
    if (waiting.length >= maxWaiting) {
      throw new AppError('refused', `${maxWaiting} documents already wait to be converted.`, 'Try again in a moment.', {
        status: 429,
      });
    }
    await new Promise<void>((resolve, reject) => {
      // The place of the one that ends is handed on: `running` stays as it is.
      const enter = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        waiting.splice(waiting.indexOf(enter), 1);
        reject(signal.reason);
      };
      waiting.push(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  function leaveSlot(): void {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }

  async function run(
    source: DocumentSource,
    ask: ConvertAsk,
    signal: AbortSignal,
    onProgress: OnProgress | undefined,
  ): Promise<ConvertedDocument> {
    const deadlineMs = ask.deadlineMs ?? defaultDeadlineMs;
    const process = take();
    let late = false;
    const cancel = deps.after(deadlineMs + graceMs, () => {
      late = true;
      process.kill();
    });
    const abort = (): void => process.kill();
    signal.addEventListener('abort', abort, { once: true });
    let resident: number | null = null;
    try {
      const head = {
        filename: ask.filename,
        mimeType: ask.mimeType,
        family: ask.family,
        deadlineMs,
        ocr: deps.ocr ?? false,
        follow: onProgress !== undefined,
        size: source.size,
      };
      onProgress?.(converting);
      const answer = await process.convert(head, source, (step) => {
        const { success, data } = Step.safeParse(step);
        if (success) onProgress?.({ ...converting, ...data });
      });
      resident = answer.head.resident;
      return documentOf(answer);
    } catch (error) {
      signal.throwIfAborted();
      if (late) throw tooLate(deadlineMs);
      throw error instanceof ProcessDied ? ofDeath(error) : error;
    } finally {
      cancel();
      signal.removeEventListener('abort', abort);
      giveBack(process, resident);
    }
  }

  return {
    async convert(source, ask, signal, onProgress) {
      if (closed) throw new AppError('refused', 'Gantry is shutting down.', 'Try again when it runs.');
      if (source.size > largestInput) {
        throw new AppError(
          'usage',
          `The document has ${source.size} bytes; at most ${largestInput} are converted.`,
          'Send a part of it.',
        );
      }
      if (running >= maxConcurrent) onProgress?.({ ...converting, what: 'Waiting for other documents' });
      await slot(signal);
      try {
        return await run(source, ask, signal, onProgress);
      } finally {
        leaveSlot();
      }
    },
    processes: () => [...live].map(({ pid }) => pid),
    async close() {
      closed = true;
      kept?.forget();
      kept = null;
      for (const process of live) process.kill();
      await Promise.all([...live].map(({ ended }) => ended));
    },
  };
}

function documentOf({ head, markdown }: Answer): ConvertedDocument {
  if (head.fault !== undefined) {
    const { code, fact, action } = head.fault;
    throw new AppError(code === 'timeout' ? 'timeout' : 'usage', fact, action);
  }
  if (head.document === undefined) throw new AppError('internal', 'The converter gave no answer.', 'Report it.');
  return { ...head.document, markdown };
}

function tooLate(deadlineMs: number): AppError {
  return new AppError(
    'timeout',
    `The conversion took longer than ${Math.round(deadlineMs / 1000)} s and was ended.`,
    'Send a smaller part of the document.',
  );
}

function ofDeath({ how }: ProcessDied): AppError {
  if (how === 'memory') {
    return new AppError(
      'usage',
      `The document needs more memory than a conversion may take (${heapMegabytes} MB).`,
      'Send a smaller part of it, or save it in a simpler format.',
    );
  }
  return new AppError(
    'usage',
    'The document crashed the converter.',
    'It is broken or unusual: save it again with its program, or in another format.',
  );
}
