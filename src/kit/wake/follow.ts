/**
 * Reports each row that any process stores once, without a sequence: a transaction that began earlier may end later, so the rows of the last minutes
 * are read again each time. First user: events of users; second: sign-ins that end elsewhere. Must not know tables.
 */
import type { Clock } from '../clock/clock.ts';
import type { Timers } from '../clock/timers.ts';
import type { Wake } from './wake.ts';

interface FollowDeps<Row> {
  readonly wake: Wake;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly topic: string;
  /** Rows that were stored after this time, by the clock of the process that stored them. */
  readonly since: (at: number) => Promise<readonly Row[]>;
  readonly tell: (row: Row) => void | Promise<void>;
  readonly onFault: (error: unknown) => void;
}

/** Longer than any transaction lives and clocks differ. */
const windowMs = 2 * 60_000;
const lookMs = 1000;

/** Reports no rows stored before. Returns a function that unsubscribes. */
export function follow<Row extends { readonly id: string; readonly at: number }>(deps: FollowDeps<Row>): () => void {
  const { wake, clock, timers, since, tell } = deps;
  const seen = new Map<string, number>();
  let first = true;
  let stopped = false;
  let looking = false;
  let again = false;
  let cancel = () => {};

  async function look(): Promise<void> {
    const from = clock.now() - windowMs;
    const rows = await since(from);
    for (const [id, at] of seen) if (at <= from) seen.delete(id);
    const fresh = rows.filter(({ id }) => !seen.has(id));
    for (const { id, at } of fresh) seen.set(id, at);
    const told = first ? [] : fresh;
    first = false;
    for (const row of told) await tell(row);
  }

  function go(): void {
    again = true;
    if (looking || stopped) return;
    looking = true;
    cancel();
    void rounds();
  }

  async function rounds(): Promise<void> {
    while (again && !stopped) {
      again = false;
      try {
        await look();
      } catch (error) {
        deps.onFault(error);
      }
    }
    looking = false;
    if (!stopped) cancel = timers.after(lookMs, go);
  }

  const off = wake.on(deps.topic, go);
  go();
  return () => {
    stopped = true;
    off();
    cancel();
  };
}
