/**
 * Keeps one lease. Beats three times in its life and continues after a failed beat until its local deadline, which counts from when the last accepted
 * beat was sent; reports once when the lease is lost or the task must stop. Must not know threads.
 */
import { AppError } from '../../contracts/common/errors.ts';

interface BeatingDeps {
  /** Sends one beat. Rejects with `AppError`. */
  readonly beat: (signal: AbortSignal) => Promise<{ readonly ttlMs: number; readonly stopRequested: boolean }>;
  /** Steady, milliseconds. */
  readonly now: () => number;
  readonly after: (ms: number, effect: () => void) => () => void;
  readonly onStop: () => void;
  readonly onLost: (why: string) => void;
}

/** Beats in the life of a lease: one may fail, and the next still comes in time. */
const beatsPerLease = 3;
/** A beat that failed is sent again so often in the life of a lease. */
const triesPerLease = 30;
/** Work ends before the store gives the task to somebody else: this part of a lease before its end. */
const reserve = 1 / 30;

/** Why a lease is lost about which the queue has said nothing. */
export const noBeatInTime = 'No heartbeat was accepted in time.';

/** Returns the way to let go. */
export function keepBeating(lease: { ttlMs: number; askedAt: number }, deps: BeatingDeps): () => void {
  let { ttlMs } = lease;
  let deadline = lease.askedAt + ttlMs * (1 - reserve);
  let over = false;
  let told = false;
  let cancelBeat = () => {};
  let cancelDeadline = () => {};
  let sending: AbortController | null = null;

  function end(): void {
    over = true;
    cancelBeat();
    cancelDeadline();
    sending?.abort();
  }

  function lose(why: string): void {
    if (over) return;
    end();
    deps.onLost(why);
  }

  function watch(): void {
    cancelDeadline();
    cancelDeadline = deps.after(deadline - deps.now(), () => lose(noBeatInTime));
  }

  async function beat(): Promise<void> {
    const sentAt = deps.now();
    sending = new AbortController();
    const cancelSending = deps.after(ttlMs / beatsPerLease, () => sending?.abort());
    try {
      const answer = await deps.beat(sending.signal);
      if (over) return;
      ttlMs = answer.ttlMs;
      deadline = sentAt + ttlMs * (1 - reserve);
      watch();
      if (answer.stopRequested && !told) {
        told = true;
        deps.onStop();
      }
      cancelBeat = deps.after(sentAt + ttlMs / beatsPerLease - deps.now(), begin);
    } catch (error) {
      if (over) return;
      // Only the queue's own word ends it: a beat that did not arrive says nothing about the lease.
      if (error instanceof AppError && error.code === 'not_found') lose(error.fact);
      else cancelBeat = deps.after(ttlMs / triesPerLease, begin);
    } finally {
      cancelSending();
    }
  }

  function begin(): void {
    void beat();
  }

  watch();
  begin();
  return end;
}
