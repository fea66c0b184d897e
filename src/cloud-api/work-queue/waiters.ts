/**
 * Callers that wait for a task: one queue for each person and for what their workers can run, served in order, so that a new task costs one lease and not one for each caller. Commits
 * wake it, and it looks each second: a lost wake, an ended lease and a due time cost no more than that. Must not know what a task is.
 */
import type { Timers } from '../../kit/clock/timers.ts';

interface WaitersDeps<T, C> {
  /** Null: no task is ready now that such a worker can run. */
  readonly lease: (userId: string, workerId: string, can: C) => Promise<T | null>;
  /** Calls back when a task may be ready. */
  readonly listen: (userId: string, listener: () => void) => () => void;
  readonly timers: Timers;
}

interface Waiters<T, C> {
  /**
   * Null after `ms`, when `signal` is aborted, or at the close. Rejects with the error of looking for one. A caller for whom there is nothing makes
   * those of the same `kind` wait, and nobody else.
   */
  wait(who: {
    userId: string;
    workerId: string;
    can: C;
    kind: string;
    ms: number;
    signal: AbortSignal;
  }): Promise<T | null>;
  close(): void;
}

interface Waiter<T, C> {
  readonly workerId: string;
  readonly can: C;
  /** Its time ended while it was being served. */
  late: boolean;
  readonly end: (task: T | null) => void;
  readonly fail: (error: unknown) => void;
}

interface Line<T, C> {
  readonly userId: string;
  waiting: Waiter<T, C>[];
  serving: boolean;
  /** A task came while it was being served. */
  again: boolean;
  readonly stop: () => void;
}

const lookMs = 1000;
/** The number of callers served at the same time grows for as long as there is something for each. */
const growth = 2;

export function createWaiters<T, C>({ lease, listen, timers }: WaitersDeps<T, C>): Waiters<T, C> {
  const lines = new Map<string, Line<T, C>>();
  let closed = false;

  function lineOf(userId: string, kind: string): Line<T, C> {
    const key = `${userId} ${kind}`;
    const known = lines.get(key);
    if (known !== undefined) return known;
    let cancel = () => {};
    const off = listen(userId, () => look(line));
    const tick = () => {
      cancel = timers.after(lookMs, () => {
        tick();
        look(line);
      });
    };
    const line: Line<T, C> = {
      userId,
      waiting: [],
      serving: false,
      again: false,
      stop: () => {
        off();
        cancel();
        if (lines.get(key) === line) lines.delete(key);
      },
    };
    tick();
    lines.set(key, line);
    return line;
  }

  function look(line: Line<T, C>): void {
    line.again = true;
    if (line.serving) return;
    line.serving = true;
    void serve(line).then(() => {
      line.serving = false;
      if (line.waiting.length === 0) line.stop();
      else if (line.again) look(line);
    });
  }

  async function serve(line: Line<T, C>): Promise<void> {
    while (line.again) {
      line.again = false;
      for (let size = 1; line.waiting.length > 0; size *= growth) {
        // Removed from the queue while they are served: none may be ended in the meantime and lose its task.
        const first = line.waiting.splice(0, size);
        const left = (await Promise.all(first.map((waiter) => serveOne(line, waiter)))).filter(
          (waiter) => waiter !== null,
        );
        line.waiting.unshift(...left);
        if (left.length > 0) break;
      }
    }
  }

  /** Null: it waits no longer. */
  async function serveOne(line: Line<T, C>, waiter: Waiter<T, C>): Promise<Waiter<T, C> | null> {
    try {
      const task = await lease(line.userId, waiter.workerId, waiter.can);
      if (task === null && !waiter.late && !closed) return waiter;
      waiter.end(task);
    } catch (error) {
      waiter.fail(error);
    }
    return null;
  }

  return {
    wait: ({ userId, workerId, can, kind, ms, signal }) =>
      new Promise((resolve, reject) => {
        if (closed || signal.aborted) return resolve(null);
        const line = lineOf(userId, kind);
        const finish = () => {
          cancel();
          signal.removeEventListener('abort', giveUp);
        };
        const waiter: Waiter<T, C> = {
          workerId,
          can,
          late: false,
          end: (task) => {
            finish();
            resolve(task);
          },
          fail: (error) => {
            finish();
            reject(error);
          },
        };
        const giveUp = () => {
          const place = line.waiting.indexOf(waiter);
          waiter.late = true;
          if (place === -1) return;
          line.waiting.splice(place, 1);
          if (line.waiting.length === 0 && !line.serving) line.stop();
          waiter.end(null);
        };
        const cancel = timers.after(ms, giveUp);
        signal.addEventListener('abort', giveUp, { once: true });
        line.waiting.push(waiter);
        // A task that came between its own look and now.
        look(line);
      }),
    close() {
      closed = true;
      for (const line of [...lines.values()]) {
        for (const waiter of line.waiting.splice(0)) waiter.end(null);
        line.stop();
      }
    },
  };
}
