/** Wakes inside one process. First user: SQLite; second: PostgreSQL's, for the part that stays in the process. */
import { systemTimers, type Timers } from '../clock/timers.ts';
import type { Wake } from './wake.ts';

interface LocalWake extends Wake {
  /** Wakes everybody, of every topic: something may have been missed. */
  all(): void;
}

export function createLocalWake(timers: Timers = systemTimers): LocalWake {
  const listeners = new Map<string, Set<() => void>>();
  const told = new Set<string>();

  function tell(): void {
    const topics = [...told];
    told.clear();
    for (const topic of topics) for (const listener of [...(listeners.get(topic) ?? [])]) listener();
  }

  function signal(topic: string): void {
    // A later waiter looks itself first.
    if (!listeners.has(topic)) return;
    if (told.size === 0) queueMicrotask(tell);
    told.add(topic);
  }

  function on(topic: string, listener: () => void): () => void {
    const entry = () => listener();
    const known = listeners.get(topic) ?? new Set();
    listeners.set(topic, known.add(entry));
    return () => {
      known.delete(entry);
      if (known.size === 0 && listeners.get(topic) === known) listeners.delete(topic);
    };
  }

  return {
    signal,
    on,
    all: () => [...listeners.keys()].forEach(signal),
    wait: (topic, ms, abort) =>
      new Promise((resolve) => {
        const end = () => {
          off();
          cancel();
          abort?.removeEventListener('abort', end);
          resolve();
        };
        const off = on(topic, end);
        const cancel = timers.after(ms, end);
        abort?.addEventListener('abort', end, { once: true });
        if (abort?.aborted === true) end();
      }),
  };
}
