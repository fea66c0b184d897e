/** Work with a deadline: a server or a cloud that takes longer counts as hanging. Must not know the work. */
import type { Timers } from '../../../kit/clock/timers.ts';

/** Milliseconds. The signal is aborted then with a `TimeoutError`, and with the reason of `closing`. */
export type Within = <T>(ms: number, work: (signal: AbortSignal) => Promise<T>) => Promise<T>;

export function createWithin(timers: Timers, closing: AbortSignal): Within {
  return async (ms, work) => {
    const late = new AbortController();
    const reason = () => late.abort(new DOMException('The server took too long.', 'TimeoutError'));
    const cancel = timers.after(ms, reason);
    try {
      return await work(AbortSignal.any([closing, late.signal]));
    } finally {
      cancel();
    }
  };
}

export const isLate = (error: unknown): boolean => (error as { name?: unknown } | null)?.name === 'TimeoutError';
