/**
 * A registration as the cloud keeps it: its stages, its transitions as data, and its wire shape. Pure. Must not know
 * SQL, HTTP or the carrier.
 */
import type { Registration, RegistrationStep } from '../../../contracts/phone/registration.ts';
import type { RegistrationKind, RegistrationState, SmsState } from '../../../contracts/phone/values.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { CheckedForm, Problem } from './form.ts';
import { linksOf } from './message-flow.ts';

/**
 * `filed`: the carrier has nothing yet. `brand`: the business is under review. `code`: a sole proprietor has a code to enter. `campaign`: the
 * business cleared, the campaign must be filed. `review`: the campaign is under review. `number`: it was accepted, and the number joins it.
 * `verification`: a toll-free number is under review. `correcting`: a rejected one is being corrected in place.
 */
export const stages = [
  'filed',
  'brand',
  'code',
  'campaign',
  'review',
  'number',
  'verification',
  'correcting',
  'approved',
  'blocked',
  'brand_rejected',
  'campaign_rejected',
  'verification_rejected',
] as const;
export type Stage = (typeof stages)[number];

type StepName = RegistrationStep['step'];

/** The state that people see for a stage. `blocked` keeps the previous state. */
export const stageSays: Readonly<
  Record<Stage, { readonly state: RegistrationState | 'kept'; readonly smsState: SmsState; readonly step: StepName }>
> = {
  filed: { state: 'pending', smsState: 'pending_registration', step: 'filed' },
  brand: { state: 'pending', smsState: 'pending_registration', step: 'brand' },
  code: { state: 'pending', smsState: 'pending_registration', step: 'code' },
  campaign: { state: 'pending', smsState: 'pending_registration', step: 'campaign' },
  review: { state: 'pending', smsState: 'pending_registration', step: 'campaign' },
  number: { state: 'pending', smsState: 'pending_registration', step: 'number' },
  verification: { state: 'pending', smsState: 'pending_registration', step: 'verification' },
  correcting: { state: 'pending', smsState: 'pending_registration', step: 'campaign' },
  approved: { state: 'approved', smsState: 'active', step: 'number' },
  blocked: { state: 'kept', smsState: 'blocked', step: 'campaign' },
  brand_rejected: { state: 'rejected', smsState: 'rejected', step: 'brand' },
  campaign_rejected: { state: 'rejected', smsState: 'rejected', step: 'campaign' },
  verification_rejected: { state: 'rejected', smsState: 'rejected', step: 'verification' },
};

/** For each move: the stages that allow it, and the stage it leads to. */
export const moves = {
  brandFiled: { from: ['filed'], to: 'brand' },
  codeAsked: { from: ['brand'], to: 'code' },
  codeConfirmed: { from: ['code'], to: 'brand' },
  brandCleared: { from: ['filed', 'brand', 'code'], to: 'campaign' },
  brandRefused: { from: ['filed', 'brand', 'code'], to: 'brand_rejected' },
  campaignFiled: { from: ['campaign'], to: 'review' },
  campaignAccepted: { from: ['review', 'blocked'], to: 'number' },
  campaignRefused: {
    from: ['campaign', 'review', 'correcting', 'number', 'approved', 'blocked'],
    to: 'campaign_rejected',
  },
  blocked: { from: ['review', 'number', 'approved'], to: 'blocked' },
  unblocked: { from: ['blocked'], to: 'review' },
  numberJoined: { from: ['number'], to: 'approved' },
  numberParted: { from: ['approved'], to: 'number' },
  correctionAsked: { from: ['campaign_rejected', 'verification_rejected'], to: 'correcting' },
  campaignCorrected: { from: ['correcting'], to: 'review' },
  campaignAskedAgain: { from: ['campaign_rejected'], to: 'campaign' },
  verificationAskedAgain: { from: ['verification_rejected'], to: 'filed' },
  verificationFiled: { from: ['filed', 'correcting'], to: 'verification' },
  verified: { from: ['verification'], to: 'approved' },
  verificationRefused: {
    from: ['filed', 'correcting', 'verification', 'approved'],
    to: 'verification_rejected',
  },
} as const satisfies Record<string, { readonly from: readonly Stage[]; readonly to: Stage }>;
export type Move = keyof typeof moves;

/** The stages after which nobody needs the full EIN. */
export const einGone: ReadonlySet<Stage> = new Set(
  stages.filter((stage) => !['filed', 'brand', 'code', 'verification', 'correcting'].includes(stage)),
);

/** The stages in which the carrier works on it, and may be asked for its state. */
export const underReview: ReadonlySet<Stage> = new Set(['brand', 'code', 'review', 'number', 'verification']);

/** Times in milliseconds since the epoch. */
export interface RegistrationRow {
  readonly id: string;
  readonly numberId: string;
  readonly userId: string;
  readonly e164: string;
  readonly kind: RegistrationKind;
  readonly stage: Stage;
  readonly form: CheckedForm;
  /** Counts corrections. */
  readonly revision: number;
  readonly identity: string;
  readonly texts: string;
  readonly ein: string | null;
  readonly reason: string | null;
  readonly problems: readonly Problem[];
  /** Why it waits for us or the carrier, without `waiting:`. */
  readonly waiting: string | null;
  readonly retryAt: number | null;
  readonly lookAt: number | null;
  readonly readAt: number;
  readonly brandKey: string;
  readonly brandId: string | null;
  readonly campaignKey: string;
  readonly campaignId: string | null;
  readonly requestId: string | null;
  readonly codeConfirmedAt: number | null;
  readonly approvedAt: number | null;
  /** 1: its registry must get the business again before its campaign. */
  readonly brandAsked: 0 | 1;
  readonly createdAt: number;
  readonly endedAt: number | null;
  readonly feesEndedAt: number | null;
}

export interface StepRow {
  readonly step: StepName;
  readonly state: RegistrationStep['state'];
  readonly text: string;
  readonly field: string | null;
  readonly at: number;
}

export function stateOf(row: Pick<RegistrationRow, 'stage' | 'approvedAt'>): RegistrationState {
  const { state } = stageSays[row.stage];
  if (state !== 'kept') return state;
  return row.approvedAt === null ? 'pending' : 'approved';
}

/** Why it is not approved. `waiting:` begins a reason that the person can do nothing about, `campaign:` one that a correction of the form mends. */
export function reasonOf(row: Pick<RegistrationRow, 'stage' | 'reason' | 'waiting'>): string | undefined {
  if (row.waiting !== null) return `waiting: ${row.waiting}`;
  if (row.reason === null) return undefined;
  return row.stage === 'campaign_rejected' ? `campaign: ${row.reason}` : row.reason;
}

/** All fields except those of corrections. */
export function toRegistration(
  row: RegistrationRow,
  steps: readonly StepRow[],
  origin: string,
): Omit<Registration, 'correctable' | 'correction'> {
  const reason = reasonOf(row);
  return {
    id: row.id,
    kind: row.kind,
    state: stateOf(row),
    ...(reason === undefined ? {} : { rejectionReason: reason }),
    smsState: stageSays[row.stage].smsState,
    campaignId: row.campaignId,
    form: row.form,
    nextRetryAt: row.retryAt === null ? null : iso(row.retryAt),
    steps: steps.map((step) => ({ ...step, at: iso(step.at) })),
    problems: [...row.problems],
    needsPin: row.stage === 'code',
    optInUrl: linksOf(row.form, row.numberId, origin).optInUrl,
  };
}
