/**
 * How a worker calls its queue: how long it waits for an answer, when it tries again, and what an error of the queue means for the next try. Must not
 * know what is called.
 */
import { AppError } from '../../contracts/common/errors.ts';

/** A queue that says nothing for so long is one that nobody answers for. A call that waits for a task has that time besides. */
export const patienceMs = { asking: 15_000, telling: 30_000 };
export const firstPauseMs = 1_000;
const maxPauseMs = 60_000;

/** One call, ended after `ms` and when the worker ends. */
export type Within = <T>(ms: number, call: (signal: AbortSignal) => Promise<T>) => Promise<T>;

/** A server whose computer went away says nothing: no answer counts as nobody there. */
export function createWithin({
  url,
  timeout,
  now,
}: {
  readonly url: string;
  readonly timeout: (ms: number) => AbortSignal;
  /** Aborts when the worker ends at once. */
  readonly now: AbortSignal;
}): Within {
  return async (ms, call) => {
    const over = timeout(ms);
    try {
      return await call(AbortSignal.any([now, over]));
    } catch (cause) {
      if (now.aborted || !over.aborted || cause instanceof AppError) throw cause;
      const fact = `${url} did not answer for ${ms / 1000} s.`;
      throw new AppError('transport', fact, 'Check that Gantry is running.', { cause });
    }
  };
}

/** Full jitter, so that workers that lost the same queue do not come back together. `random`: 0 ≤ x < 1. */
export function backoff(failures: number, random: () => number): number {
  return Math.round(random() * Math.min(maxPauseMs, firstPauseMs * 2 ** failures));
}

export function isPassing(error: AppError): boolean {
  return ['transport', 'timeout', 'internal'].includes(error.code) || error.status === 429;
}

export function sentence(error: unknown): string {
  return error instanceof AppError ? `${error.fact} ${error.action}`.trim() : String(error);
}
