/**
 * A released number leaves its campaign, and a campaign without other numbers is ended, since its monthly fee would continue. The business stays
 * registered.
 */
import type { Op } from '../../../kit/store/shared-store.ts';
import type { Bench } from './bench.ts';
import type { RegistrationRow } from './model.ts';

/** Repeatable. Throws the carrier's faults. */
type EndFees = (numberId: string) => Promise<void>;

export function createEnding({ store, registrations, carrier }: Bench): EndFees {
  const { registry } = carrier;

  /** Numbers of the same person that the campaign still has. */
  function* others(tx: Parameters<typeof registrations.find>[0], row: RegistrationRow): Op<number> {
    const rows = yield* registrations.ofPerson(tx, row.userId);
    return rows.filter(
      (one) =>
        one.campaignKey === row.campaignKey &&
        one.numberId !== row.numberId &&
        one.endedAt === null &&
        one.feesEndedAt === null,
    ).length;
  }

  async function endCampaign(row: RegistrationRow): Promise<void> {
    const { brandId, campaignKey } = row;
    if (brandId === null) return;
    // Filed, and ended before its result was recorded.
    const campaignId =
      row.campaignId ?? (await registry.findCampaign({ brandId, key: campaignKey }))?.campaignId ?? null;
    if (campaignId === null) return;
    await registry.unassign(row.e164);
    if ((await store.read((tx) => others(tx, row))) === 0) await registry.endCampaign(campaignId);
  }

  async function endVerification(row: RegistrationRow): Promise<void> {
    const requestId = row.requestId ?? (await registry.findTollFree(row.e164))?.requestId ?? null;
    if (requestId !== null) await registry.endTollFree(requestId);
  }

  return async (numberId) => {
    // Runs first: the next number to leave must not count this one.
    const rows = await store.write(function* (tx) {
      yield* registrations.endFees(tx, numberId);
      return yield* registrations.ofNumber(tx, numberId);
    });
    for (const row of rows) await (row.kind === 'toll_free' ? endVerification(row) : endCampaign(row));
  };
}
