/**
 * Once a day each number is looked for at the carrier: one that another carrier has taken away neither texts nor calls, and its person is
 * told. Must not know who asks for it.
 */
import { CarrierFault } from '../carrier/port.ts';
import { live, type NumberRow } from './model.ts';
import type { WorkDeps } from './work.ts';

/** What the carrier says of one that is not ours any more (phone.md 2.1). */
const lost = new Set(['ported-out', 'deleted']);
const said = 'The carrier does not have this number any more: it was taken to another one. Release it here.';

export function createDailyLook(deps: Pick<WorkDeps, 'store' | 'carrier' | 'rows' | 'resync' | 'log'>) {
  const { store, carrier, rows, resync, log } = deps;

  async function isLost({ e164 }: NumberRow): Promise<boolean> {
    const found = await carrier.numbers.find(e164);
    return found === null || lost.has(found.status);
  }

  return async function look(): Promise<void> {
    for (const { id } of await rows.numbers.all()) {
      const row = await rows.get(id);
      if (row === null || row.phase !== 'held' || row.voiceState !== 'active' || row.problem === said) continue;
      try {
        if (!(await isLost(row))) continue;
      } catch (fault) {
        if (!(fault instanceof CarrierFault)) throw fault;
        // Tomorrow is soon enough, also for the others.
        log.warn('The carrier cannot say which numbers it has.', { fault: fault.message });
        return;
      }
      await store.write(function* (tx) {
        const now = yield* rows.read(tx, id);
        if (now === null || !(live as readonly string[]).includes(now.phase)) return;
        yield* rows.note(tx, id, { problem: said });
        yield* rows.numbers.setSmsState(tx, id, 'blocked');
        yield* resync.tell(tx, now.runtimeId);
      });
    }
  };
}
