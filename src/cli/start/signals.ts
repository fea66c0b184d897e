/**
 * The signals of a program that serves until it is ended: one that comes while its servers start is kept until they can be ended in order, so that nothing
 * is left half started. Must not know servers.
 */
import type { Context } from '../command.ts';
import { createEnding, type Ending, type EndingDeps, type Reason } from './ending.ts';

interface Signals {
  /** Asks for the end, as a signal does. */
  ask(reason: Reason): void;
  /** What came before the servers were up; null: nothing. */
  readonly early: Reason | null;
  /** The servers are up: what comes from now on ends them. */
  endWith(context: Context, deps: Omit<EndingDeps, 'say' | 'now' | 'after'>): Ending;
}

export function catchSignals(): Signals {
  let early: Reason | null = null;
  let ask = (reason: Reason): void => {
    early ??= reason;
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => ask(signal));
  return {
    ask: (reason) => ask(reason),
    get early() {
      return early;
    },
    endWith(context, deps) {
      const ending = createEnding({
        ...deps,
        say: (text) => context.output.note(text),
        now: () => performance.now(),
        after(ms, task) {
          const timer = setTimeout(task, ms);
          return () => clearTimeout(timer);
        },
      });
      ask = ending.ask;
      return ending;
    },
  };
}
