/** What numbers cost, counted when one comes and once a day after that. Must not know budgets. */
import type { Clock } from '../../../kit/clock/clock.ts';
import type { Op, SharedStore, SharedTx } from '../../../kit/store/shared-store.ts';
import type { Fees } from '../fees.ts';
import type { NumberRow } from './model.ts';
import type { NumberStore } from './store.ts';

export interface NumberFeesDeps {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly fees: Fees;
  readonly rows: Pick<NumberStore, 'numbers' | 'read'>;
}

/** Each fee that has come due and was not counted yet. */
export function* countFees(
  tx: SharedTx,
  { clock, fees }: Pick<NumberFeesDeps, 'clock' | 'fees'>,
  row: NumberRow,
): Op<void> {
  if (row.phase !== 'held') return;
  const of = { ...row, computerId: row.runtimeId };
  yield* fees.number(tx, of, row.heldAt ?? row.createdAt, clock.now());
}

export async function countFeesOfAll({ store, rows, ...deps }: NumberFeesDeps): Promise<void> {
  for (const { id } of await rows.numbers.all()) {
    await store.write(function* (tx) {
      const row = yield* rows.read(tx, id);
      if (row !== null) yield* countFees(tx, deps, row);
    });
  }
}
