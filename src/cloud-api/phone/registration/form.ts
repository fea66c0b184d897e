/** The business form as stored: checked, trimmed, with its defaults, the EIN masked. */
import type { RegistrationForm } from '../../../contracts/phone/registration.ts';
import type { RegistrationKind } from '../../../contracts/phone/values.ts';

type Always =
  | 'entityType'
  | 'legalName'
  | 'brandName'
  | 'street'
  | 'city'
  | 'region'
  | 'postalCode'
  | 'country'
  | 'contactEmail'
  | 'contactPhone'
  | 'vertical'
  | 'useCase'
  | 'subUseCases'
  | 'description'
  | 'sampleMessages';

export interface CheckedForm extends Omit<RegistrationForm, Always | 'kind'>, Required<Pick<RegistrationForm, Always>> {
  readonly kind: RegistrationKind;
}

/** The error of a form, and its field; null: no field in particular. */
export interface Problem {
  readonly field: string | null;
  readonly text: string;
}

const aliases: Readonly<Record<string, RegistrationKind>> = {
  '10dlc': '10dlc',
  a2p: '10dlc',
  a2p10dlc: '10dlc',
  local: '10dlc',
  campaign: '10dlc',
  tollfree: 'toll_free',
  tollfreeverification: 'toll_free',
  tfv: 'toll_free',
  tfn: 'toll_free',
};

/** In any spelling, `Toll-Free` too; null: invalid. */
export function readKind(text: string): RegistrationKind | null {
  return aliases[text.toLowerCase().replace(/[^a-z0-9]/g, '')] ?? null;
}

export const isSoleProprietor = (form: Pick<RegistrationForm, 'entityType'>) => form.entityType === 'SOLE_PROPRIETOR';

/** Canonical spelling of one of `words`: `customer care` is `CUSTOMER_CARE`. */
export function readWord<Word extends string>(text: string, words: readonly Word[]): Word | null {
  const asked = text
    .trim()
    .toUpperCase()
    .replace(/[\s-]+/g, '_');
  return words.find((word) => word === asked) ?? null;
}
