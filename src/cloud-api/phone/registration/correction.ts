/**
 * A correction of a registration: the fields of a form that may still change, the stages of a change as data, and its wire shape. The number keeps
 * texting, and the old registration holds until the carriers have accepted the whole correction. Pure. Must not know SQL, HTTP or the carrier.
 */
import { RegistrationForm, type Correction as WireCorrection } from '../../../contracts/phone/registration.ts';
import { iso } from '../../../kit/clock/clock.ts';
import { isMasked, maskEin, readEin } from './ein.ts';
import { type CheckedForm, isSoleProprietor, type Problem } from './form.ts';
import { type RegistrationRow, stateOf } from './model.ts';
import { readForm } from './preflight.ts';

/**
 * `brand`: the registry gets the business's changes and reviews them. `campaign`: each campaign with changed details likewise. `verification`: a
 * toll-free number likewise. `replies`: the numbers' answers to STOP, START and HELP. `restoring`: the carriers refused after accepting a part, and
 * get the previous state.
 */
const correctionStages = ['brand', 'campaign', 'verification', 'replies', 'restoring', 'taken', 'refused'] as const;
type CorrectionStage = (typeof correctionStages)[number];

/** For each move: the stages that allow it, and the stage it leads to. */
export const correctionMoves = {
  brandTaken: { from: ['brand'], to: 'campaign' },
  textsTaken: { from: ['campaign', 'verification'], to: 'replies' },
  repliesSet: { from: ['replies'], to: 'taken' },
  refused: { from: ['brand', 'verification'], to: 'refused' },
  undoing: { from: ['brand', 'campaign', 'verification'], to: 'restoring' },
  undone: { from: ['restoring'], to: 'refused' },
} as const satisfies Record<string, { readonly from: readonly CorrectionStage[]; readonly to: CorrectionStage }>;
export type CorrectionMove = keyof typeof correctionMoves;

export const isOver = (stage: CorrectionStage) => stage === 'taken' || stage === 'refused';

/** One at a time for each business. Times in milliseconds since the epoch. */
export interface CorrectionRow {
  readonly id: string;
  /** The registration that carries it out: the one that requested it, until its number goes. */
  readonly registrationId: string;
  readonly brandKey: string;
  /** The number that requested it. */
  readonly campaignKey: string;
  readonly stage: CorrectionStage;
  /** The form's changed fields. */
  readonly fields: readonly FormField[];
  readonly form: CheckedForm;
  /** The previous state. */
  readonly before: CheckedForm;
  readonly reason: string | null;
  readonly problems: readonly Problem[];
  /** Why it waits for us or the carrier, without `waiting:`. */
  readonly waiting: string | null;
  readonly retryAt: number | null;
  readonly createdAt: number;
  readonly endedAt: number | null;
}

export type FormField = keyof RegistrationForm;
const formFields = Object.keys(RegistrationForm.shape) as FormField[];

/** The fields that the registry holds for a business: the same for all of its numbers. */
const ofBusiness: ReadonlySet<FormField> = new Set<FormField>([
  ...(['brandName', 'vertical', 'website', 'street', 'city', 'region', 'postalCode'] as const),
  ...(['contactFirstName', 'contactLastName', 'contactEmail', 'contactPhone', 'stockSymbol', 'stockExchange'] as const),
]);

/** The fields by which the registry verified a business: it refuses to change these, and another value means another business. */
const verified = ['entityType', 'legalName', 'ein', 'country'] as const satisfies readonly FormField[];
const verifiedOfPerson = [
  ...verified,
  ...(['contactFirstName', 'contactLastName', 'mobilePhone'] as const),
] as const satisfies readonly FormField[];

/** Fields that a filed campaign keeps: the carrier's update accepts only samples, message flow and HELP. */
const ofCampaign = ['useCase', 'subUseCases', 'description', 'termsUrl', 'privacyUrl'] as const satisfies FormField[];

type Registered = Pick<RegistrationRow, 'kind' | 'stage' | 'approvedAt' | 'campaignId' | 'form'>;

/** Why a registered field cannot change; null: it can. */
function fixedBecause({ kind, form, campaignId }: Registered, field: FormField): string | null {
  const sole = isSoleProprietor(form);
  if ((sole ? verifiedOfPerson : verified).some((one) => one === field)) {
    return sole
      ? 'The carriers verified you with this and do not change it. Register another number under other details.'
      : 'The carriers verified the business with this and do not change it. Register another number for another business.';
  }
  if (kind === '10dlc' && campaignId !== null && ofCampaign.some((one) => one === field)) {
    return 'This cannot change once the campaign is filed. Register another number for other texts.';
  }
  return null;
}

/** The fields of the form that can be changed now. */
export function correctableIn(row: Registered): FormField[] {
  const state = stateOf(row);
  if (state === 'pending') return [];
  const other = formFields.filter((field) => field !== 'kind');
  if (state === 'rejected' && row.stage !== 'campaign_rejected') return other;
  return other.filter((field) => fixedBecause(row, field) === null);
}

const sameValue = (one: unknown, other: unknown) => JSON.stringify(one ?? null) === JSON.stringify(other ?? null);

/** Whether `given` names the EIN whose mask is kept. */
const isUnchangedEin = (given: string, masked: string | undefined) => {
  const ein = isMasked(given) ? given.trim() : readEin(given);
  return ein !== null && (isMasked(ein) ? ein : maskEin(ein)) === masked;
};

/** Each changed field that cannot change. */
export function fixedProblems(row: RegistrationRow, given: RegistrationForm): Problem[] {
  const asked = readForm({ ...row.form, ...given }, row.kind);
  const isOther = (field: FormField) =>
    field === 'ein'
      ? given.ein !== undefined && given.ein.trim() !== '' && !isUnchangedEin(given.ein, row.form.ein)
      : !sameValue(asked[field], row.form[field]);
  return formFields.flatMap((field) => {
    const text = field in given && isOther(field) ? fixedBecause(row, field) : null;
    return text === null ? [] : [{ field, text }];
  });
}

export const changedFields = (before: CheckedForm, after: CheckedForm): FormField[] =>
  formFields.filter((field) => !sameValue(before[field], after[field]));

/** A form with another one's fields of their business. */
export const withBusinessOf = (form: CheckedForm, other: CheckedForm): CheckedForm => ({
  ...form,
  ...Object.fromEntries([...ofBusiness].map((field) => [field, other[field]])),
});

/** The change to another form of the same business, or of the same campaign if it had the same fields. */
export function formAfter(
  row: Pick<RegistrationRow, 'id' | 'campaignKey' | 'form'>,
  change: Pick<CorrectionRow, 'registrationId' | 'campaignKey' | 'fields' | 'form' | 'before'>,
): CheckedForm {
  const taken = change.fields.filter(
    (field) =>
      row.id === change.registrationId ||
      ofBusiness.has(field) ||
      (row.campaignKey === change.campaignKey && sameValue(row.form[field], change.before[field])),
  );
  return { ...row.form, ...Object.fromEntries(taken.map((field) => [field, change.form[field]])) };
}

/**
 * Whether a refusal is obsolete: its subject has changed in another way since, as with the form of a rejected campaign of the same business.
 * `leader`: the registration that requested it; null: it is gone.
 */
export const isPassed = (
  { stage, fields, before, campaignKey }: Pick<CorrectionRow, 'stage' | 'fields' | 'before' | 'campaignKey'>,
  leader: Pick<RegistrationRow, 'campaignKey' | 'form'> | null,
): boolean =>
  stage === 'refused' &&
  leader !== null &&
  fields.some(
    (field) =>
      (ofBusiness.has(field) || leader.campaignKey === campaignKey) && !sameValue(leader.form[field], before[field]),
  );

export function toCorrection(correction: CorrectionRow, row: RegistrationRow): WireCorrection {
  const { stage, waiting, reason } = correction;
  const state = isOver(stage) ? (stage as 'taken' | 'refused') : 'pending';
  const why = state === 'pending' ? (waiting === null ? null : `waiting: ${waiting}`) : reason;
  return {
    state,
    fields: [...correction.fields],
    form: state === 'taken' ? row.form : formAfter(row, correction),
    ...(why === null ? {} : { reason: why }),
    problems: [...correction.problems],
    nextRetryAt: correction.retryAt === null ? null : iso(correction.retryAt),
    askedAt: iso(correction.createdAt),
    decidedAt: correction.endedAt === null ? null : iso(correction.endedAt),
  };
}
