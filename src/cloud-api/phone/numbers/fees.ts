/** The cost of numbers, counted when one arrives and once a day after that. Must not know budgets. */
import type { Clock } from '../../../kit/clock/clock.ts';
import type { Log } from '../../../kit/log/log.ts';
import type { Op, SharedStore, SharedTx } from '../../../kit/store/shared-store.ts';
import { type Carrier, CarrierFault } from '../carrier/port.ts';
import type { Fees } from '../fees.ts';
import type { NumberRow } from './model.ts';
import type { NumberStore } from './store.ts';

interface NumberFeesDeps {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly fees: Fees;
  readonly rows: Pick<NumberStore, 'numbers' | 'read' | 'note'>;
  readonly carrier: Pick<Carrier, 'numbers'>;
  readonly log: Pick<Log, 'warn'>;
}

/** Each fee that is due and was not counted yet. */
export function* countFees(
  tx: SharedTx,
  { clock, fees }: Pick<NumberFeesDeps, 'clock' | 'fees'>,
  row: NumberRow,
): Op<void> {
  if (row.phase !== 'held') return;
  const of = { ...row, computerId: row.runtimeId };
  yield* fees.number(tx, of, row.heldAt ?? row.createdAt, clock.now());
}

/**
 * A ported number was never for sale, so the carrier states its monthly cost only after it has charged for it. Its fees are counted from the day on
 * which it arrived.
 */
async function learnCosts({ store, clock, rows, carrier, log }: NumberFeesDeps): Promise<void> {
  const unknown = (await rows.numbers.all()).filter(({ monthlyCost }) => monthlyCost === null);
  if (unknown.length === 0) return;
  try {
    const costs = await carrier.numbers.monthlyCosts(clock.now());
    for (const { id, e164 } of unknown) {
      const monthlyCost = costs.get(e164);
      if (monthlyCost !== undefined) await store.write((tx) => rows.note(tx, id, { monthlyCost }));
    }
  } catch (fault) {
    if (!(fault instanceof CarrierFault)) throw fault;
    // Tomorrow is soon enough.
    log.warn('The carrier cannot say what numbers cost.', { fault: fault.message });
  }
}

export async function countFeesOfAll(deps: NumberFeesDeps): Promise<void> {
  const { store, rows } = deps;
  await learnCosts(deps);
  for (const { id } of await rows.numbers.all()) {
    await store.write(function* (tx) {
      const row = yield* rows.read(tx, id);
      if (row !== null) yield* countFees(tx, deps, row);
    });
  }
}
