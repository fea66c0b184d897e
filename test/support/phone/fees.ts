/** Fees as they are counted, each line once by its id, without the rest of usage. */
import { createFees, type RecordFees } from '../../../src/cloud-api/phone/fees.ts';
import { answered } from '../../../src/kit/store/answered.ts';

export type FeeLine = Parameters<RecordFees>[2][number] & { readonly userId: string };

export function countedFees() {
  const lines = new Map<string, FeeLine>();
  const recordFees: RecordFees = function* (_tx, userId, given) {
    const fresh = given.filter(({ id }) => !lines.has(id));
    for (const line of fresh) lines.set(line.id, { ...line, userId });
    return yield* answered(fresh.length);
  };
  return {
    recordFees,
    fees: createFees(recordFees),
    /** `<kind> <dollars>`, in the order in which they were counted. */
    counted: () => [...lines.values()].map(({ kind, microUsd }) => `${kind} ${microUsd / 1e6}`),
    lines,
  };
}
