/** Once a day: finds people who said STOP at the carrier but not here, because a webhook was lost. */
import type { Op, SharedStore } from '../../../kit/store/shared-store.ts';
import type { CarrierTexts } from '../carrier/port.ts';
import type { Numbers } from '../ports.ts';
import type { OptOutLog } from './opt-outs.ts';
import type { Stops } from './stop.ts';

/** Only adds: a person who is only on our list opted out in another way. Returns how many were missing. */
export async function reconcileOptOuts(deps: {
  readonly store: SharedStore;
  readonly texts: Pick<CarrierTexts, 'optOuts'>;
  readonly numbers: Pick<Numbers, 'all' | 'read'>;
  readonly optOuts: Pick<OptOutLog, 'changedAt'>;
  readonly stops: Stops;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): Promise<number> {
  let missing = 0;
  for (const number of await deps.numbers.all()) {
    if (number.profileId === null) continue;
    try {
      for (const said of await deps.texts.optOuts(number.profileId)) {
        missing += await deps.store.write((tx) => apply(tx, number.id, said));
      }
    } catch (fault) {
      deps.log.warn('The carrier did not say who opted out.', { number: number.id, fault: String(fault) });
    }
  }
  return missing;

  function* apply(
    tx: Parameters<Stops['apply']>[0],
    numberId: string,
    { e164: peer, keyword, at }: { readonly e164: string; readonly keyword: string; readonly at: number },
  ): Op<number> {
    if (yield* deps.stops.isOptedOut(tx, numberId, peer)) return 0;
    const changedAt = yield* deps.optOuts.changedAt(tx, numberId, peer);
    // Their START came after it.
    if (changedAt !== null && at <= changedAt) return 0;
    const evidence = `the carrier's list: ${keyword}`;
    yield* deps.stops.apply(tx, { numberId, peer, action: 'stop', source: 'carrier', evidence, at });
    return 1;
  }
}
