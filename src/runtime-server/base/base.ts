/** What nearly every part of the runtime is given. A part names what it needs beyond this itself. Must not know any part. */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import type { Store } from '../../kit/store/store.ts';

/** Tells what went wrong where nobody waits for an answer. */
export interface Log {
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

export interface Base {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly log: Log;
}
