/** The carriers' list prices for a registration, shown before it is filed. */
import { type FeeOf, registryPrices } from '../fees.ts';
import { type CheckedForm, isSoleProprietor } from './form.ts';
import type { RegistrationRow } from './model.ts';

export interface Fee {
  readonly what: string;
  readonly amount: string;
}

/** The use cases that are cheaper than the rest. */
const monthly: Readonly<Record<string, string>> = { LOW_VOLUME: '1.50', SOLE_PROPRIETOR: '2.00' };
const defaultMonthly = '10.00';

/** In US dollars; `ahead`: months that are paid when it is filed. */
export const campaignPrices = (form: CheckedForm): { readonly monthly: string; readonly ahead: number } => ({
  monthly: monthly[form.useCase] ?? defaultMonthly,
  ahead: isSoleProprietor(form) ? 1 : 3,
});

/** A registration is the business's, not a bot's. */
export const feeOf = ({ userId, e164 }: Pick<RegistrationRow, 'userId' | 'e164'>): FeeOf => ({
  userId,
  e164,
  botId: null,
  computerId: null,
});

/** `has`: exists already and is not paid for again. */
export function feesOf(form: CheckedForm, has: { readonly brand: boolean; readonly campaign: boolean }): Fee[] {
  if (form.kind === 'toll_free') return [];
  const fees: Fee[] = [];
  if (!has.brand) fees.push({ what: 'Registration of the business, once', amount: `${registryPrices.brand} USD` });
  if (has.campaign) return fees;
  const prices = campaignPrices(form);
  const months = prices.ahead === 1 ? '' : ', three of them at once';
  return [
    ...fees,
    { what: 'Review of the campaign, once', amount: `${registryPrices.review} USD` },
    { what: `Campaign, a month${months}`, amount: `${prices.monthly} USD` },
  ];
}
