/**
 * Periodic work on registrations, each once over all replicas: retries what waits, reads what is under review, and checks approved ones once a day.
 * Must not know steps.
 */

import type { Advance } from './advance.ts';
import type { Bench } from './bench.ts';

interface Watch {
  start(): void;
  /** Waits for the work under way. */
  close(): Promise<void>;
}

const lookMs = 5_000;
/** No other process takes a claimed registration for this long: the first one may have been killed over it. */
const takenMs = 2 * 60_000;
const maxConcurrent = 20;

export function createWatch({
  timers,
  registrations,
  log,
  advance,
}: Pick<Bench, 'timers' | 'registrations' | 'log'> & { readonly advance: Advance['advance'] }): Watch {
  let closed = false;
  let cancel = () => {};
  let under: Promise<void> = Promise.resolve();

  async function look(): Promise<void> {
    for (const id of await registrations.claimDue(takenMs, maxConcurrent)) {
      if (closed) return;
      // One that fails holds up no other.
      await advance(id).catch((fault: Error) => {
        log.warn('A registration could not be moved on.', { registration: id, fault: fault.message });
      });
    }
  }

  function later(): void {
    if (closed) return;
    cancel = timers.after(lookMs, () => {
      under = look()
        .catch((fault: Error) => log.warn('Registrations could not be looked after.', { fault: fault.message }))
        .finally(later);
    });
  }

  return {
    start: later,
    async close() {
      closed = true;
      cancel();
      await under.catch(() => {});
    },
  };
}
