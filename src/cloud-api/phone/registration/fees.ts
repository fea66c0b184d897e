/** What carriers charge for a registration, told before it is filed (phone.md 2.4 to 2.6). Their list prices. */
import { type CheckedForm, isSoleProprietor } from './form.ts';

export interface Fee {
  readonly what: string;
  readonly amount: string;
}

/** Those that are cheaper than the rest. */
const monthly: Readonly<Record<string, string>> = { LOW_VOLUME: '1.50', SOLE_PROPRIETOR: '2.00' };
const usualMonthly = '10.00';

/** `has`: what is there already and is not paid for again. */
export function feesOf(form: CheckedForm, has: { readonly brand: boolean; readonly campaign: boolean }): Fee[] {
  if (form.kind === 'toll_free') return [];
  const fees: Fee[] = [];
  if (!has.brand) fees.push({ what: 'Registration of the business, once', amount: '4.00 USD' });
  if (has.campaign) return fees;
  const months = isSoleProprietor(form) ? '' : ', three of them at once';
  return [
    ...fees,
    { what: 'Review of the campaign, once', amount: '15.00 USD' },
    { what: `Campaign, a month${months}`, amount: `${monthly[form.useCase] ?? usualMonthly} USD` },
  ];
}
