/** Fees as usage counts them, each line once by its id, without other usage. */
import { createFees } from '../../../src/cloud-api/phone/fees.ts';
import type { RecordUsage } from '../../../src/cloud-api/usage/index.ts';
import { answered } from '../../../src/kit/store/answered.ts';

export type FeeLine = Parameters<RecordUsage>[2][number] & { readonly userId: string };

export function countedFees() {
  const lines = new Map<string, FeeLine>();
  const recordUsage: RecordUsage = function* (_tx, userId, given) {
    const fresh = given.filter(({ id }) => !lines.has(id));
    for (const line of fresh) lines.set(line.id, { ...line, userId });
    return yield* answered(fresh.length);
  };
  return {
    recordUsage,
    fees: createFees(recordUsage),
    /** `<kind> <dollars>`, in the order in which they were counted. */
    counted: () => [...lines.values()].map(({ kind, microUsd }) => `${kind} ${microUsd / 1e6}`),
    lines,
  };
}
