/**
 * Buys a number at the carrier: profile, order, wait until it is ours, then its texts come to its address. Before the order is placed a refusal ends
 * the purchase; from then on it continues until the carrier says that it failed. Must not know plans or HTTP.
 */
import type { SharedLaneOutcome } from '../../../kit/lane/lane.ts';
import { CarrierFault, type NumberOrder } from '../carrier/port.ts';
import { surely } from './faults.ts';
import { countFees } from './fees.ts';
import type { NumberRow } from './model.ts';
import { type DoJob, failed, profileOf, type Work, type WorkDeps } from './work.ts';

export function createPurchase(
  deps: WorkDeps & {
    readonly begin: Work['begin'];
  },
): DoJob {
  const { carrier, rows, steps, store } = deps;

  async function order(row: NumberRow): Promise<NumberOrder> {
    const profileId = await profileOf(deps, row);
    const placed = await steps.run<NumberOrder>(`order ${row.id}`, {
      find: () => surely(() => carrier.numbers.findOrder(row.id)),
      act: () => carrier.numbers.order({ e164: row.e164, profileId, key: row.id }),
    });
    if (row.orderId === null) await store.write((tx) => rows.note(tx, row.id, { orderId: placed.orderId }));
    return placed.state === 'pending' ? carrier.numbers.readOrder(placed.orderId) : placed;
  }

  async function take(row: NumberRow): Promise<SharedLaneOutcome> {
    const found = await carrier.numbers.find(row.e164);
    if (found === null) return { to: 'retry', reason: 'the carrier does not list the number yet' };
    const current = (await rows.get(row.id)) ?? row;
    if (current.profileId !== null) await carrier.numbers.assignProfile(found.id, current.profileId);
    return {
      to: 'done',
      *commit(tx) {
        const facts = { carrierNumberId: found.id, voiceState: 'active', problem: null } as const;
        const held = yield* rows.move(tx, row.id, 'bought', facts);
        if (held === null) return;
        yield* countFees(tx, deps, held);
        yield* deps.resync.tell(tx, held.runtimeId);
      },
    };
  }

  return async (row) => {
    if (row.phase !== 'buying') return { to: 'done' };
    let placed: NumberOrder;
    try {
      placed = await order(row);
    } catch (fault) {
      const ours = await rows.get(row.id);
      if (!(fault instanceof CarrierFault) || fault.kind === 'unknown' || ours?.orderId !== null) throw fault;
      return failed(deps, row.id, { fault: faultOf(fault), problem: fault.message });
    }
    if (placed.state === 'failed') {
      const problem = `The carrier did not deliver it: ${placed.reason ?? 'it gave no reason'}.`;
      return failed(deps, row.id, { fault: 'refused', problem });
    }
    if (placed.state === 'done') return take(row);
    return { to: 'retry', reason: 'the carrier is still working on the order' };
  };
}

function faultOf({ kind }: CarrierFault): 'taken' | 'refused' | 'service' {
  if (kind === 'taken') return 'taken';
  return kind === 'service' ? 'service' : 'refused';
}
