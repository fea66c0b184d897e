/**
 * Checks values against other people's JSON Schemas. Such a schema can take unbounded time and memory, so the work runs in a thread with little
 * memory and 1.5 s of computing per step, which is ended and replaced if it takes more. First user: events of connectors.
 * Must not know what is checked.
 */
import { Worker as Thread } from 'node:worker_threads';
import { AppError } from '../../contracts/common/errors.ts';
import type { Timers } from '../clock/timers.ts';
import { programFile } from '../process/programs.ts';
import {
  deepest,
  type FromThread,
  maxSchemaLength,
  maxValueLength,
  misfit,
  type SchemaVerdict,
  type ToThread,
  unusable,
} from './messages.ts';

export interface SchemaChecker {
  /**
   * Takes a few seconds at most, longer only on an overloaded computer. Throws `transport` if it was not checked at all: the program ends, or no
   * thread can be started. The value is then neither valid nor invalid.
   */
  check(schema: Readonly<Record<string, unknown>>, value: unknown): Promise<SchemaVerdict>;
  close(): Promise<void>;
}

/** Limit of one step in the thread's computing time, milliseconds: a busy computer is no reason to refuse a schema. */
const deadlineMs = 1_500;
/** Limit of one step on the clock, and of the start of a thread, which loads the validator. Milliseconds. */
const maxMs = 30_000;
/** An idle thread is ended after this. Milliseconds. */
const idleMs = 60_000;
/** Between two checks, milliseconds. */
const shortestMs = 20;
const resourceLimits = { maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

/** The outcome of one request to the thread. */
type End = { readonly verdict: SchemaVerdict } | { readonly lost: 'late' | 'memory' } | { readonly fault: unknown };

export function createSchemaChecker({ timers }: { readonly timers: Timers }): SchemaChecker {
  let thread: Thread | null = null;
  /** Requests run one after the other. */
  let turn: Promise<unknown> = Promise.resolve();
  let cancelIdle = () => {};
  let closed = false;

  async function drop(): Promise<void> {
    const ending = thread;
    thread = null;
    await ending?.terminate();
  }

  function startThread(): Thread {
    const one = newThread();
    one.once('exit', () => {
      if (thread === one) thread = null;
    });
    return one;
  }

  function ask(asked: ToThread): Promise<End> {
    cancelIdle();
    const asking = thread ?? startThread();
    thread = asking;
    return new Promise((resolve) => {
      /** The thread's computing time at which this step is ended, milliseconds; null: no step is under way. */
      let until: number | null = null;
      let cancel = () => {};
      const tooLong = timers.after(maxMs, () => end({ fault: new Error(`nothing came of it in ${maxMs} ms`) }));
      /** Checks again when the remaining time can be over. */
      const watch = (mine: number, waitMs: number) => {
        until = mine;
        cancel = timers.after(waitMs, async () => {
          const { user, system } = await asking.cpuUsage().catch(() => ({ user: 0, system: 0 }));
          if (until !== mine) return;
          const leftMs = mine - (user + system) / 1000;
          if (leftMs <= 0) end({ lost: 'late' });
          else watch(mine, Math.max(leftMs, shortestMs));
        });
      };
      const onMessage = (message: FromThread) => {
        cancel();
        if (message.kind === 'begun') return watch(message.spentMs + deadlineMs, deadlineMs);
        const { ok, problem, unusable: refused } = message;
        end({ verdict: { ok, problem, unusable: refused } });
      };
      const onError = (error: Error & { code?: string }) =>
        end(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? { lost: 'memory' } : { fault: error });
      const onExit = () => end({ fault: new Error('the thread ended') });
      const end = (how: End) => {
        until = null;
        cancel();
        tooLong();
        asking.off('message', onMessage).off('error', onError).off('exit', onExit);
        asking.unref();
        resolve(how);
      };
      asking.on('message', onMessage).on('error', onError).on('exit', onExit);
      // A waiting caller gets an answer; between requests the thread keeps no program alive.
      asking.ref();
      asking.postMessage(asked);
    });
  }

  async function decide(asked: ToThread): Promise<SchemaVerdict> {
    if (closed) throw unchecked(null);
    const end = await ask(asked);
    if ('verdict' in end) {
      cancelIdle = timers.after(idleMs, () => void drop());
      return end.verdict;
    }
    await drop();
    if ('fault' in end) throw unchecked(end.fault);
    const why = end.lost === 'late' ? `takes more than ${deadlineMs} ms` : 'needs more memory than it may have';
    return unusable(`The schema cannot be used: it ${why}.`);
  }

  return {
    async check(schema, value) {
      const asked = { schema: written(schema), value: written(value) };
      if (asked.schema === null) return unusable(`The schema cannot be used: it is nested deeper than ${deepest}.`);
      if (Buffer.byteLength(asked.schema) > maxSchemaLength) {
        return unusable(`The schema cannot be used: it has more than ${maxSchemaLength} bytes.`);
      }
      if (asked.value === null) return misfit(`It is nested deeper than ${deepest}.`);
      if (Buffer.byteLength(asked.value) > maxValueLength) return misfit(`It has more than ${maxValueLength} bytes.`);
      const { schema: text, value: given } = asked;
      const mine = turn.then(() => decide({ schema: text, value: given }));
      turn = mine.catch(() => {});
      return mine;
    },
    async close() {
      closed = true;
      cancelIdle();
      await drop();
    },
  };
}

function newThread(): Thread {
  const thread = new Thread(programFile('schema-checker'), { resourceLimits, env: {}, stdin: false });
  // The request reports its end; a thread that is being ended may fail once more.
  thread.on('error', () => {});
  return thread;
}

function unchecked(cause: unknown): AppError {
  const why = cause === null ? 'the program is ending' : (cause as Error).message;
  return new AppError('transport', `It could not be checked against its schema: ${why}.`, 'Try again.', { cause });
}

/** As JSON; null: nested too deep to be written. */
function written(value: unknown): string | null {
  try {
    return JSON.stringify(value ?? null);
  } catch {
    return null;
  }
}
