/**
 * Gives a number up: first ends the fees of the other parts, then the number or its order, then its profile. A fee that cannot be ended yet does not
 * hold up the others. Also cleans up after a failed purchase or port. Must not know HTTP.
 */
import type { SharedLaneOutcome } from '../../../kit/lane/lane.ts';
import { CarrierFault, type NumberOrder } from '../carrier/port.ts';
import { orNull } from './faults.ts';
import { isLost, type NumberRow, toHeld } from './model.ts';
import { type DoJob, endProfile, settled, type WorkDeps } from './work.ts';

const waiting = (reason: string): SharedLaneOutcome => ({ to: 'retry', reason });

export function createRelease(deps: WorkDeps): DoJob {
  const { carrier, rows } = deps;
  const { numbers, ports } = carrier;

  async function giveUp(row: NumberRow): Promise<void> {
    const found = await numbers.find(row.e164);
    if (found !== null && !isLost(found)) await orNull(() => numbers.release(found.id));
  }

  /** Null: all have ended. */
  async function endOthers(row: NumberRow): Promise<CarrierFault | null> {
    let fault: CarrierFault | null = null;
    for (const { ending } of deps.hooks()) {
      try {
        await ending?.(toHeld(row));
      } catch (error) {
        if (!(error instanceof CarrierFault)) throw error;
        fault ??= error;
      }
    }
    return fault;
  }

  /** Null: nothing of it remains. */
  async function endOrder(row: NumberRow): Promise<SharedLaneOutcome | null> {
    const { orderId } = row;
    const placed =
      orderId === null
        ? await settled<NumberOrder>(deps, `order ${row.id}`, () => numbers.findOrder(row.id))
        : await orNull(() => numbers.readOrder(orderId));
    if (placed === null) return null;
    const order = placed.state === 'pending' ? await numbers.readOrder(placed.orderId) : placed;
    // An order cannot be taken back; the number that it brings is given up.
    if (order.state === 'pending') return waiting('the carrier is still working on the order');
    if (order.state === 'done') await giveUp(row);
    return null;
  }

  async function endPort(row: NumberRow): Promise<SharedLaneOutcome | null> {
    const made = await settled(deps, `port ${row.id}`, async () => {
      const [first] = await ports.findByKey(row.id);
      return first === undefined ? null : [first];
    });
    const orderId = row.orderId ?? made?.[0]?.orderId;
    if (orderId === undefined) return null;
    const order = await orNull(() => ports.read(orderId));
    if (order === null || order.state === 'cancelled') return null;
    if (order.state === 'ported') {
      await giveUp(row);
      return null;
    }
    if (order.state !== 'cancel-pending') await orNull(() => ports.cancel(orderId));
    const after = await orNull(() => ports.read(orderId));
    if (after === null || after.state === 'cancelled') return null;
    return waiting('the carrier is still cancelling the port');
  }

  return async (row) => {
    const fault = await endOthers(row);
    // A failed one left nothing to give up; and the number may be somebody else's by now.
    if (row.carrierNumberId !== null) await giveUp(row);
    else if (row.fault === null) {
      const left = await (row.origin === 'bought' ? endOrder(row) : endPort(row));
      if (left !== null) return left;
    }
    await endProfile(deps, row);
    if (fault !== null) throw fault;
    return {
      to: 'done',
      *commit(tx) {
        yield* rows.move(tx, row.id, 'gone');
      },
    };
  };
}
