/** Dependencies of nearly every part of the runtime. A part declares its other needs itself. Must not know any part. */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import type { Store } from '../../kit/store/store.ts';

/** Reports errors of work that no caller waits for. */
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
