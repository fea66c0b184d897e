/**
 * Waiting as an argument: the only place that arms timers for kit and areas. First user: lanes; second: sweeps of the factory. Tests pass their own
 * timers and advance them by hand.
 */
export interface Timers {
  /** Runs `effect` once after `ms` milliseconds of monotonic time. Returns a function that cancels it; cancelling twice is fine. */
  after(ms: number, effect: () => void): () => void;
}

/** Timers that never keep the program alive: a program stays up through its servers. */
export const systemTimers: Timers = {
  after: (ms, effect) => {
    const timer = setTimeout(effect, Math.max(0, ms)); // A deadline that has passed is due now.
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Timers of one owner, which are all cancelled together. */
interface OwnTimers extends Timers {
  /** Cancels the pending ones. */
  cancelAll(): void;
}

export function createOwnTimers(timers: Timers): OwnTimers {
  const cancels = new Set<() => void>();
  return {
    after(ms, effect) {
      const cancel = timers.after(ms, () => {
        cancels.delete(cancel);
        effect();
      });
      cancels.add(cancel);
      return cancel;
    },
    cancelAll() {
      for (const cancel of cancels) cancel();
      cancels.clear();
    },
  };
}

/** Resolves after `ms`, or as soon as `signal` is aborted. */
export function pause(timers: Timers, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = timers.after(ms, end);
    signal.addEventListener('abort', end, { once: true });
  });
}
