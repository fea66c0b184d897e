/**
 * A number's life: its phases and the moves between them, how many numbers a plan allows, and its wire shape. Pure.
 * Must not know the carrier or SQL.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import { type Plan, plans } from '../../../contracts/identity/plan.ts';
import type { PhoneNumber, Port, PortDetails } from '../../../contracts/phone/number.ts';
import type { PortMessagingState, PortState, SmsState } from '../../../contracts/phone/values.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { HeldNumber } from '../ports.ts';

export const phases = ['buying', 'porting', 'held', 'releasing', 'failed', 'gone'] as const;
type Phase = (typeof phases)[number];

/** Every change of a phase. `failed`: it never became ours, and its person has not dismissed it. */
export const moves = {
  bought: { from: ['buying'], to: 'held' },
  ported: { from: ['porting'], to: 'held' },
  fail: { from: ['buying', 'porting'], to: 'failed' },
  release: { from: ['buying', 'porting', 'held'], to: 'releasing' },
  putAway: { from: ['failed'], to: 'gone' },
  gone: { from: ['releasing'], to: 'gone' },
} as const satisfies Record<string, { readonly from: readonly Phase[]; readonly to: Phase }>;
export type Move = keyof typeof moves;

/** Somebody has it, or soon will. */
export const live = ['buying', 'porting', 'held'] as const satisfies readonly Phase[];
/** The phases that its person sees. */
export const shown = [...live, 'failed'] as const satisfies readonly Phase[];

/** For SQL; the words are constants of ours. */
export const phaseIn = (list: readonly Phase[]) => `phase IN (${list.map((phase) => `'${phase}'`).join(', ')})`;

/** How many numbers a plan allows, including those that are still being bought or ported. */
const limits: Readonly<Record<Plan, number>> = { free: 0, plus: 3, super: 5, ultra: 10 };

export function limitOf(plan: string): number {
  const known = plans.find((name) => name === plan);
  return known === undefined ? 0 : limits[known];
}

export interface NumberRow extends Omit<HeldNumber, 'port'> {
  readonly origin: 'bought' | 'ported';
  readonly upfrontCost: string | null;
  /** When it arrived; null: not yet, or before this was recorded. */
  readonly heldAt: number | null;
  readonly phase: Phase;
  /** A sentence for its person: what it waits for, or why it failed. */
  readonly problem: string | null;
  /** The kind of a failure. */
  readonly fault: 'taken' | 'refused' | 'service' | 'cancelled' | null;
  /** The order of the purchase, or of the port. */
  readonly orderId: string | null;
  /** Sealed; null: revoked. */
  readonly address: string | null;
  readonly portState: PortState | null;
  readonly portMessaging: PortMessagingState | null;
  /** JSON. */
  readonly portProblems: string | null;
  readonly portReadyOn: number | null;
  /** JSON: names of the fields that the carrier has. */
  readonly portGiven: string | null;
  /** Sealed: fields that it does not have yet. */
  readonly portDetails: string | null;
  /** When its port was last read from the carrier. */
  readonly lookedAt: number | null;
}

/** Every carrier requires these to let a number go. */
const neededForPort = [
  'entityName',
  'authorizedPerson',
  'accountNumber',
  'pin',
  'street',
  'locality',
  'region',
  'postalCode',
  'letterOfAuthorization',
  'invoice',
] as const satisfies readonly (keyof PortDetails)[];

/** The carrier's objections to a port, and how to mend each. */
const fieldOf: Readonly<Record<string, keyof PortDetails>> = {
  ACCOUNT_NUMBER_MISMATCH: 'accountNumber',
  AUTH_PERSON_MISMATCH: 'authorizedPerson',
  BTN_ATN_MISMATCH: 'billingNumber',
  ENTITY_NAME_MISMATCH: 'entityName',
  LOCATION_MISMATCH: 'street',
  PASSCODE_PIN_INVALID: 'pin',
  LOA_ILLEGIBLE: 'letterOfAuthorization',
};
const wordsOf: Readonly<Record<string, string>> = {
  ACCOUNT_NUMBER_MISMATCH: 'The account number does not match the other carrier’s records.',
  AUTH_PERSON_MISMATCH: 'The person who may decide does not match the other carrier’s records.',
  BTN_ATN_MISMATCH: 'The billing number does not match the other carrier’s records.',
  ENTITY_NAME_MISMATCH: 'The name on the account does not match the other carrier’s records.',
  LOCATION_MISMATCH: 'The address does not match the other carrier’s records.',
  PASSCODE_PIN_INVALID: 'The PIN is wrong.',
  LOA_ILLEGIBLE: 'The letter of authorization cannot be read.',
  FOC_EXPIRED: 'The agreed day has passed.',
  FOC_REJECTED: 'The other carrier does not agree to the day.',
  OSP_IRRESPONSIVE: 'The other carrier does not answer.',
  PHONE_NUMBER_NOT_PORTABLE: 'The other carrier does not release this number.',
};

export function portProblem(found: { readonly code: string; readonly text: string }): Port['problems'][number] {
  const { code, text } = found;
  return { code, text: wordsOf[code] ?? (text || code), field: fieldOf[code] ?? null };
}

/** Fields of a draft that the carrier does not have yet. */
export function missingOf({ portState, portGiven }: Pick<NumberRow, 'portState' | 'portGiven'>): string[] {
  const given = new Set<string>(portGiven === null ? [] : (JSON.parse(portGiven) as string[]));
  return portState === 'draft' ? neededForPort.filter((field) => !given.has(field)) : [];
}

/** The port is complete, for calls as well as texts. */
export function isPorted({ phase, portMessaging }: Pick<NumberRow, 'phase' | 'portMessaging'>): boolean {
  return phase === 'held' && (portMessaging === 'ported' || portMessaging === 'canceled');
}

export function portOf(row: NumberRow): Port | null {
  if (row.portState === null) return null;
  return {
    // Until the carrier has assigned one, its own name for the order.
    orderId: row.orderId ?? row.id,
    state: row.portState,
    messaging: row.portMessaging ?? 'pending',
    problems: row.portProblems === null ? [] : (JSON.parse(row.portProblems) as Port['problems']),
    missing: missingOf(row),
    readyOn: row.portReadyOn === null ? null : iso(row.portReadyOn),
  };
}

const lostAs = new Set(['ported-out', 'deleted']);
/** Whether the number, as the carrier reports it, is no longer ours. */
export const isLost = ({ status }: { readonly status: string }) => lostAs.has(status);
/** Recorded for a number until the carrier has it again. */
export const lostSays = 'The carrier no longer has this number: it was moved to another one. Release it here.';

/**
 * A number that the carrier does not have sends no texts. A ported number sends texts only once the messaging part of
 * its port is done, even if its registration was approved before, because voice and messaging are ported separately.
 */
function smsStateOf(row: NumberRow): SmsState {
  if (row.problem === lostSays) return 'blocked';
  const waits = row.portState !== null && row.portMessaging !== 'ported';
  return waits && row.smsState === 'active' ? 'pending_registration' : row.smsState;
}

/** What the other parts of the phone and its person see alike. */
function seenOf(row: NumberRow) {
  const { id, e164, type, country, locality, monthlyCost, carrier, voiceState, runtimeId, botId } = row;
  const states = { smsState: smsStateOf(row), voiceState, port: portOf(row) };
  return { id, e164, type, country, locality, monthlyCost, carrier, runtimeId, botId, ...states };
}

export function toHeld(row: NumberRow): HeldNumber {
  const { userId, carrierNumberId, profileId, botName, createdAt } = row;
  return { ...seenOf(row), userId, carrierNumberId, profileId, botName, createdAt };
}

/** `registered`: a registration was filed for it. */
export function toPhoneNumber(row: NumberRow, registered: boolean): PhoneNumber {
  return { ...seenOf(row), problem: row.problem, registered, createdAt: iso(row.createdAt) };
}

const refused = (wireCode: string, fact: string, action: string, status?: 409) =>
  new AppError('refused', fact, action, { wireCode, ...(status === undefined ? {} : { status }) });

export const requiresPlan = (plan: string) =>
  refused('phone_requires_plan', `The plan ${plan} includes no numbers.`, 'Ask your administrator for a paid plan.');

export function limitReached(has: number, onTheirWay: number, limit: number): AppError {
  const way = onTheirWay === 0 ? '' : `, ${onTheirWay} of them still on ${onTheirWay === 1 ? 'its' : 'their'} way`;
  const fact = `You have ${has} of the ${limit} numbers that your plan includes${way}.`;
  return refused('number_limit', fact, 'Release one, or ask for a larger plan.');
}

export const numberTaken = (e164: string) =>
  refused('number_taken', `${e164} is no longer for sale.`, 'Search again and choose another one.', 409);

export const numberTakenHere = (e164: string) =>
  refused('number_taken', `${e164} is already in use here.`, 'List your numbers; choose another one.', 409);

export const notPortable = (e164: string, reason: string | null) =>
  refused(
    'not_portable',
    `${e164} cannot be ported${reason === null ? '' : `: ${reason.replace(/[.\s]+$/, '')}`}.`,
    'Keep it where it is, and buy another number.',
    409,
  );

export const carrierUnavailable = (what: string) =>
  refused('carrier_unavailable', `The carrier could not do it: ${what}`, 'Nothing was bought. Try again later.');

export const carrierRefused = (what: string) =>
  refused('carrier_refused', `The carrier refused it: ${what}`, 'Nothing was bought. Choose another number.');

export const badRequest = (fact: string, action: string) =>
  new AppError('usage', fact, action, { wireCode: 'bad_request' });

export const unknownNumber = (id: string) =>
  new AppError(
    'not_found',
    `There is no number ${JSON.stringify(id.slice(0, 200))}.`,
    'List them: GET /api/v1/phone/numbers',
    {
      wireCode: 'number_not_found',
    },
  );

export const unknownRuntime = (id: string) =>
  new AppError('not_found', `There is no computer ${JSON.stringify(id)}.`, 'List your computers.', {
    wireCode: 'runtime_not_found',
  });

export const cannotMoveThere = (id: string) =>
  refused(
    'runtime_cannot_move_number',
    `${id} is a hosted computer: it has none of your bots.`,
    'Name a computer that you have paired.',
  );
