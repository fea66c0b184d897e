/**
 * Once a day each number is looked up at the carrier: one that another carrier has taken away neither texts nor calls, and its person hears of it,
 * until the carrier has it again. Must not know who asks for it.
 */
import { CarrierFault } from '../carrier/port.ts';
import { isLost, lostSays, type NumberRow } from './model.ts';
import type { WorkDeps } from './work.ts';

export function createDailyLook(deps: Pick<WorkDeps, 'store' | 'carrier' | 'rows' | 'resync' | 'log'>) {
  const { store, carrier, rows, resync, log } = deps;

  /** What to record for it; undefined: no change. */
  async function problemOf({ e164, problem }: NumberRow): Promise<string | null | undefined> {
    const found = await carrier.numbers.find(e164);
    const lost = found === null || isLost(found);
    if (lost === (problem === lostSays)) return undefined;
    return lost ? lostSays : null;
  }

  return async function look(): Promise<void> {
    for (const { id } of await rows.numbers.all()) {
      const row = await rows.get(id);
      if (row === null || row.phase !== 'held' || row.voiceState !== 'active') continue;
      let problem: string | null | undefined;
      try {
        problem = await problemOf(row);
      } catch (fault) {
        if (!(fault instanceof CarrierFault)) throw fault;
        // Tomorrow is soon enough, also for the others.
        log.warn('The carrier cannot say which numbers it has.', { fault: fault.message });
        return;
      }
      if (problem === undefined) continue;
      await store.write(function* (tx) {
        const now = yield* rows.read(tx, id);
        if (now === null || now.phase !== 'held') return;
        yield* rows.note(tx, id, { problem });
        yield* resync.tell(tx, now.runtimeId);
      });
    }
  };
}
