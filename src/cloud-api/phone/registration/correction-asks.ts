/**
 * What a correction sends to the carriers, and for which numbers of the business: each request can be repeated. Must not know the order of its steps.
 */
import type { Op, SharedReader } from '../../../kit/store/shared-store.ts';
import type { BrandAsked, CampaignAsked } from '../carrier/port.ts';
import type { Bench } from './bench.ts';
import { type CorrectionRow, formAfter } from './correction.ts';
import { brandOf, campaignOf } from './filing.ts';
import type { CheckedForm } from './form.ts';
import type { RegistrationRow } from './model.ts';
import { repliesOf } from './replies.ts';

/** One campaign, filed in the words of one of its numbers. */
interface Filed {
  readonly campaignId: string;
  readonly before: CampaignAsked;
  readonly after: CampaignAsked;
}

/** The fields that an update of a campaign sends. */
const sent = ({ samples, messageFlow, helpMessage }: CampaignAsked) =>
  JSON.stringify([samples, messageFlow, helpMessage]);
export const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

export const isDecided = ({ stage }: RegistrationRow) => stage === 'approved' || stage === 'blocked';

export type CorrectionAsks = ReturnType<typeof createCorrectionAsks>;

export function createCorrectionAsks(deps: Bench) {
  const { store, registrations, carrier, paid, numbers } = deps;

  /** Requests it once, and once more if nobody answered: repeating a finished update changes nothing. */
  const send = (key: string, act: () => Promise<unknown>) =>
    paid.run(key, {
      find: async () => null,
      act: async () => {
        await act();
        return true;
      },
    });

  const brandIn = (row: RegistrationRow, form: CheckedForm): BrandAsked => ({
    ...brandOf(form, null, deps.webhookUrl),
    key: row.brandKey,
  });
  const factsOf = (row: RegistrationRow) => ({ ...deps, number: { id: row.numberId, e164: row.e164 } });

  /** Registrations of current numbers of one business. */
  function* ofBusiness(tx: SharedReader, { userId, brandKey }: RegistrationRow): Op<readonly RegistrationRow[]> {
    const rows = yield* registrations.ofPerson(tx, userId);
    return rows.filter(
      (row) =>
        row.brandKey === brandKey && row.endedAt === null && row.feesEndedAt === null && row.stage !== 'brand_rejected',
    );
  }

  /** The campaigns with changed details, among numbers that text. One still in review is decided as it was filed. */
  async function campaignsOf(row: RegistrationRow, change: CorrectionRow): Promise<Filed[]> {
    const rows = (await store.read((tx) => ofBusiness(tx, row))).filter(isDecided);
    const ids = [...new Set(rows.map(({ campaignId }) => campaignId))].filter((id) => id !== null);
    return ids.flatMap((campaignId) => {
      const of = rows.filter((one) => one.campaignId === campaignId);
      const one =
        of.find(({ id }) => id === change.registrationId) ?? of.find((each) => each.id === each.campaignKey) ?? of[0];
      if (one === undefined) return [];
      const asked = (form: CheckedForm) =>
        campaignOf(form, factsOf(one), { brandId: one.brandId ?? '', key: one.campaignKey });
      const filed = { campaignId, before: asked(one.form), after: asked(formAfter(one, change)) };
      return sent(filed.before) === sent(filed.after) ? [] : [filed];
    });
  }

  const changesBrand = (row: RegistrationRow, { before, form }: CorrectionRow) =>
    row.kind === '10dlc' && !isSame(brandIn(row, before), brandIn(row, form));

  /** The carrier's own automatic answers to STOP, START and HELP. */
  async function setReplies(
    rows: readonly RegistrationRow[],
    formOf: (row: RegistrationRow) => CheckedForm,
  ): Promise<void> {
    for (const row of rows.filter(isDecided)) {
      const replies = repliesOf(row, formOf(row));
      if (isSame(replies, repliesOf(row, row.form))) continue;
      const number = await numbers.find(row.numberId);
      if (number === null || number.profileId === null) continue;
      await carrier.numbers.setAutoResponses(number.profileId, replies);
    }
  }

  return { send, brandIn, factsOf, ofBusiness, campaignsOf, changesBrand, setReplies };
}
