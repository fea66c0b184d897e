/**
 * Periodic checks of calls, each once over all replicas. Events of the carrier may be lost, above all while this cloud was away, so each leg of a
 * call under way is read again; ringing, questions and talk all have a limit. Must not know commands.
 */
import { pause } from '../../../kit/clock/timers.ts';
import type { Op, SharedTx } from '../../../kit/store/shared-store.ts';
import { type CarrierCalls, CarrierFault } from '../carrier/port.ts';
import type { PartDeps } from '../part.ts';
import type { CallRow, LegRow } from './model.ts';
import { claimDue, findCall, findLeg, legsOf } from './store.ts';
import type { VoiceWorker } from './worker.ts';

interface Watch {
  start(): Promise<void>;
  close(): Promise<void>;
}

const lookMs = 5_000;
const maxConcurrent = 50;
/** Shutdown waits this long for a silent carrier; the next process checks again. */
const graceMs = 2_000;
/** Between two checks of one call. */
const ringingMs = 15_000;
const talkingMs = 60_000;
/** Longer than the carrier takes to tell people from machines. */
const maxSilenceMs = 10_000;
/** Longer than it rings, and than somebody takes to press a key. */
const maxAskingMs = 75_000;
const maxRingingMs = 90_000;

const lost = 'The carrier says that the call is over.';

export function createWatch({
  store,
  clock,
  timers,
  log,
  calls,
  worker,
  maxCallMs,
}: Pick<PartDeps, 'store' | 'clock' | 'timers' | 'log'> & {
  readonly calls: Pick<CarrierCalls, 'isAlive'>;
  readonly worker: Pick<VoiceWorker, 'legEnded' | 'speakUp' | 'giveUpAsking' | 'hangUp'>;
  readonly maxCallMs: number;
}): Watch {
  let closed = false;
  let cancel = () => {};
  let under: Promise<void> = Promise.resolve();

  const next = ({ status }: CallRow) =>
    clock.now() + (status === 'ringing' || status === 'transferring' ? ringingMs : talkingMs);

  async function look(): Promise<void> {
    const due = await store.write((tx) => claimDue(tx, clock.now(), maxConcurrent, next));
    // One that fails, or that the carrier is slow about, holds up no other.
    const looks = due.map((call) =>
      lookAt(call).catch((fault: Error) =>
        log.warn('A call could not be looked after.', { call: call.id, fault: fault.message }),
      ),
    );
    await Promise.all(looks);
  }

  async function lookAt(call: CallRow): Promise<void> {
    try {
      const legs = await store.read((tx) => legsOf(tx, call.id));
      for (const leg of legs) {
        if (leg.state === 'ended' || leg.carrierLeg === null || (await isAlive(leg.carrierLeg))) continue;
        if (closed) return;
        await store.write((tx) => isOver(tx, leg));
      }
    } finally {
      // Ends a call at the limit, whatever the carrier says.
      if (!closed) await store.write((tx) => tooLong(tx, call.id));
    }
  }

  /** A leg whose state cannot be read counts as under way. */
  async function isAlive(carrierLeg: string): Promise<boolean> {
    try {
      return await calls.isAlive(carrierLeg);
    } catch (fault) {
      if (fault instanceof CarrierFault) return true;
      throw fault;
    }
  }

  function* isOver(tx: SharedTx, { id }: LegRow): Op<void> {
    const leg = yield* findLeg(tx, id);
    if (leg !== null && leg.state !== 'ended') yield* worker.legEnded(tx, leg, lost, clock.now());
  }

  function* tooLong(tx: SharedTx, id: string): Op<void> {
    const call = yield* findCall(tx, id);
    if (call === null || call.status === 'ended') return;
    const now = clock.now();
    if (now - (call.answeredAt ?? call.startedAt) >= maxCallMs) return yield* worker.hangUp(tx, call, 'time_limit');
    if (call.status === 'ringing' && now - call.startedAt >= maxRingingMs) {
      return yield* worker.hangUp(tx, call, 'no_answer');
    }
    for (const leg of yield* legsOf(tx, id)) {
      const since = leg.role === 'person' ? call.answeredAt : leg.at;
      if (since !== null && now - since >= maxSilenceMs) yield* worker.speakUp(tx, call, leg);
    }
    const { transferState, transferAt } = call;
    if (transferState === 'asking' && now - (transferAt ?? 0) >= maxAskingMs) yield* worker.giveUpAsking(tx, call);
  }

  function later(): void {
    if (closed) return;
    cancel = timers.after(lookMs, () => {
      under = look()
        .catch((fault: Error) => log.warn('Calls could not be looked after.', { fault: fault.message }))
        .finally(later);
    });
  }

  return {
    /** After a time without checks, calls under way are read at once. */
    async start() {
      await store.write((tx) => tx.run('UPDATE phone_call SET look_at = ? WHERE ended_at IS NULL', clock.now()), {
        isolation: 'statement',
      });
      under = look()
        .catch((fault: Error) => log.warn('Calls could not be looked after.', { fault: fault.message }))
        .finally(later);
    },
    async close() {
      closed = true;
      cancel();
      const done = new AbortController();
      await Promise.race([under.finally(() => done.abort()), pause(timers, graceMs, done.signal)]);
    },
  };
}
