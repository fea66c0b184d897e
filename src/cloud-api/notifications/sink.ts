/**
 * Times the work on events: every 3 seconds, and at once when this process stores one. Several sinks on one database share the events: each is
 * claimed once. Must not know what is done with them.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import type { Claims } from './claims.ts';
import type { EventName } from './outcomes.ts';

interface Sink {
  /** Whether the sink is working now. */
  working(): boolean;
  /** An event was stored. */
  wake(): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

const pollMs = 3_000;
/** After five looks that failed or never came, messages are pushed directly again. */
const notWorkingAfterMs = 5 * pollMs;

export function createSink({
  store,
  claims,
  looked,
  clock,
  timers,
  log,
}: {
  readonly store: SharedStore;
  readonly claims: Claims;
  /** After each look: what is due by the time alone. */
  readonly looked: () => Promise<void>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): Sink {
  let started = false;
  let closed = false;
  let woken = false;
  let running: Promise<void> | null = null;
  let cancelTimer = () => {};
  let lastLook = Number.NEGATIVE_INFINITY;
  let failing = true;

  function look(): void {
    if (!started || closed) return;
    if (running !== null) {
      woken = true;
      return;
    }
    cancelTimer();
    running = drain()
      .catch((fault: unknown) => {
        failing = true;
        log.warn('Events could not be looked at.', { fault: String(fault) });
      })
      .finally(() => {
        running = null;
        if (woken) look();
        else if (!closed) cancelTimer = timers.after(pollMs, look);
      });
  }

  async function drain(): Promise<void> {
    woken = false;
    if (failing) await store.write((tx) => claims.missed(tx));
    failing = false;
    // Starts at the first one each time: a late writer may have a lower place.
    let after: number | null = 0;
    while (after !== null && !closed) {
      after = await handleFrom(after);
      lastLook = clock.monotonic();
    }
    if (!closed) await looked();
  }

  /** Skips an event that cannot be handled, and handles its batch again without it. */
  async function handleFrom(after: number): Promise<number | null> {
    let handled: EventName | null = null;
    try {
      return await store.write(function* (tx) {
        // The transaction may be run again from its beginning.
        handled = null;
        const last = yield* claims.next(tx, after, (event) => {
          handled = event;
        });
        handled = null;
        return last;
      });
    } catch (fault) {
      const broken = handled as EventName | null;
      // A failing disk is no fault of the event.
      if (broken === null || (fault as { code?: unknown } | null)?.code === 'transport') throw fault;
      log.warn('An event could not be handled.', { event: broken.id, fault: String(fault) });
      await store.write((tx) => claims.skip(tx, broken));
      return after;
    }
  }

  return {
    working: () => started && !closed && !failing && clock.monotonic() - lastLook < notWorkingAfterMs,
    wake: look,
    async start() {
      started = true;
      look();
    },
    async close() {
      closed = true;
      cancelTimer();
      await running;
    },
  };
}
