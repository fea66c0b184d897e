/**
 * Moves a registration on until it waits: for the carriers' review, for the person, or 30 minutes for a fault on our side to pass. Owns the meaning
 * of each fault of the carrier; the actions know the steps.
 */
import { CarrierFault } from '../carrier/port.ts';
import type { Action, Bench } from './bench.ts';
import { type Corrections, retryMs, unansweredMs } from './corrections.ts';
import { withoutEins } from './ein.ts';
import { type Move, type RegistrationRow, type Stage, underReview } from './model.ts';
import { problemsOfFault, sentencesOf } from './refusal.ts';

export interface Advance {
  /** Repeatable; one at a time for each registration of this process. Rejects only if the fault is ours. */
  advance(id: string): Promise<void>;
  /** Waits for the work under way. */
  settled(): Promise<void>;
}

/** An event of the carrier may be lost, or this cloud cannot receive any. */
const reviewMs = 10 * 60_000;
const dayMs = 24 * 60 * 60_000;
/** More than the longest row of stages. */
const maxMoves = 20;

const refusedBy: Readonly<Record<RegistrationRow['kind'], Partial<Record<Stage, Move>>>> = {
  '10dlc': {
    filed: 'brandRefused',
    brand: 'brandRefused',
    code: 'brandRefused',
    campaign: 'campaignRefused',
    correcting: 'campaignRefused',
  },
  toll_free: { filed: 'verificationRefused', correcting: 'verificationRefused' },
};

const isDecided = ({ stage }: Pick<RegistrationRow, 'stage'>) => stage === 'approved' || stage === 'blocked';

export function createAdvance(
  deps: Bench & {
    readonly actions: Readonly<Record<RegistrationRow['kind'], Partial<Record<Stage, Action>>>>;
    /** A registration whose number was released before it was filed completely. */
    readonly endFees: (numberId: string) => Promise<void>;
    readonly corrections: Pick<Corrections, 'openOf'>;
  },
): Advance {
  const { store, clock, registrations, log } = deps;
  const running = new Map<string, { again: boolean; readonly work: Promise<void> }>();

  async function walk(id: string): Promise<void> {
    for (let moved = 0; moved < maxMoves; moved += 1) {
      const row = await registrations.get(id);
      if (row === null || row.endedAt !== null) return row === null ? undefined : ended(row);
      // The carrier's lists may lag behind its last response.
      if (moved > 0 && isDecided(row)) return rest(row);
      const action = deps.actions[row.kind][row.stage];
      if (action === undefined) return registrations.lookAgain(id, null);
      try {
        if (await action(row)) continue;
      } catch (fault) {
        if (!(fault instanceof CarrierFault)) throw fault;
        if (await refused(row, fault)) continue;
        return wait(row, fault);
      }
      return rest(row);
    }
    throw new Error(`The registration ${id} moved ${maxMoves} times in a row.`);
  }

  /** There is nothing to do for it now. */
  async function rest(row: RegistrationRow): Promise<void> {
    const now = clock.now();
    const waits = row.retryAt !== null && row.retryAt > now;
    // The number joins its campaign no earlier than this; any other work is done.
    if (row.waiting !== null && waits && row.stage === 'number') return registrations.lookAgain(row.id, row.retryAt);
    if (row.waiting !== null) await registrations.calm(row.id);
    await registrations.lookAgain(
      row.id,
      (await correctionAt(row)) ?? now + (underReview.has(row.stage) ? reviewMs : dayMs),
    );
  }

  /** When a correction after the decision is next worked on; null: no correction. */
  async function correctionAt(row: RegistrationRow): Promise<number | null> {
    const change = isDecided(row) ? await deps.corrections.openOf(row) : null;
    return change === null ? null : (change.retryAt ?? clock.now() + reviewMs);
  }

  /** A filing under way when its number was released must not cost fees either. It is checked again until that is certain. */
  async function ended(row: RegistrationRow): Promise<void> {
    if (row.feesEndedAt === null) return;
    try {
      await deps.endFees(row.numberId);
      await registrations.leave(row.id);
    } catch (fault) {
      if (!(fault instanceof CarrierFault)) throw fault;
      log.warn('The fees of a number that went could not be ended yet.', { registration: row.id, kind: fault.kind });
    }
  }

  async function refused(row: RegistrationRow, fault: CarrierFault): Promise<boolean> {
    const move = refusedBy[row.kind][row.stage];
    if (move === undefined || (fault.kind !== 'details' && fault.kind !== 'content')) return false;
    const problems = problemsOfFault(fault);
    const reason = sentencesOf(problems);
    const step = { state: 'failed' as const, text: reason, field: problems[0]?.field ?? null };
    await store.write((tx) => registrations.move(tx, row.id, move, { reason, problems }, step));
    return true;
  }

  async function wait(row: RegistrationRow, fault: CarrierFault): Promise<void> {
    const why = withoutEins(fault.message);
    log.warn('A registration waits for the carrier.', {
      registration: row.id,
      stage: row.stage,
      kind: fault.kind,
      code: fault.code,
    });
    const now = clock.now();
    // The decision stands while the carrier cannot be reached.
    if (isDecided(row)) return registrations.lookAgain(row.id, now + retryMs);
    // A pending lookup is no outage; anything requested again waits its time.
    const looks = fault.kind === 'unknown' && (fault.retryAfter !== null || row.waiting === null);
    const inMs = looks ? (fault.retryAfter === null ? unansweredMs : (fault.retryAfter + 1) * 1000) : retryMs;
    const until = row.waiting !== null && row.retryAt !== null && row.retryAt > now ? row.retryAt : now + inMs;
    await store.write((tx) => registrations.wait(tx, row.id, why, until));
  }

  function advance(id: string): Promise<void> {
    const under = running.get(id);
    if (under !== undefined) {
      // The event may be newer than what was read.
      under.again = true;
      return under.work;
    }
    const job = { again: false, work: Promise.resolve() };
    job.work = (async () => {
      do {
        job.again = false;
        await walk(id);
      } while (job.again);
    })().finally(() => running.delete(id));
    running.set(id, job);
    return job.work;
  }

  return {
    advance,
    async settled() {
      await Promise.allSettled([...running.values()].map(({ work }) => work));
    },
  };
}
