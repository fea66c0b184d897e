/**
 * The carrier's reports about orders and ports. An event may be late, doubled or out of order, so it only makes waiting work read the carrier again.
 * Must not know what is done then.
 */
import type { CarrierEvent, CarrierEventReader } from '../ports.ts';
import type { NumberStore } from './store.ts';
import type { Work } from './work.ts';

/** The order of an event, by its id or by our reference. */
function ordersIn({ payload }: CarrierEvent): string[] {
  const { id, customer_reference: reference, order_id: order, number_order_id: numberOrder } = payload;
  return [reference, id, order, numberOrder].filter((each): each is string => typeof each === 'string' && each !== '');
}

export function createOrderReaders(deps: {
  readonly rows: Pick<NumberStore, 'byOrder'>;
  readonly work: Pick<Work, 'wake'>;
}): readonly CarrierEventReader[] {
  return ['number_order.', 'porting_order.'].map((prefix) => ({
    prefix,
    subject: (event) => `order ${ordersIn(event)[0] ?? event.id}`,
    async take(event) {
      for (const order of ordersIn(event)) {
        const row = await deps.rows.byOrder(order);
        if (row === null) continue;
        deps.work.wake(row.id);
        return;
      }
    },
  }));
}
