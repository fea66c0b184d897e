/** The phone in a person's words. Pure. */
import type { Call } from '../../../contracts/phone/calls.ts';
import type { PhoneNumber, Port, PortDetails } from '../../../contracts/phone/number.ts';
import type { Conversation } from '../../../contracts/phone/texts.ts';
import type { ConsentBasis } from '../../../contracts/phone/values.ts';

/** `+1 202 555 0123`; what is no number of North America stays as it is. */
export function numberWords(e164: string): string {
  const [, area, office, line] = /^\+1(\d{3})(\d{3})(\d{4})$/.exec(e164) ?? [];
  return line === undefined ? e164 : `+1 ${area} ${office} ${line}`;
}

/** What a person types → as it is dialled; null: it cannot be a number. Ten digits are one of North America. */
export function readNumber(typed: string): string | null {
  const text = typed.trim();
  if (!/^\+?[\d\s().-]+$/.test(text)) return null;
  const digits = text.replace(/\D/g, '');
  if (text.startsWith('+')) return /^[1-9]\d{6,14}$/.test(digits) ? `+${digits}` : null;
  if (digits.length === 10) return `+1${digits}`;
  return digits.length === 11 && digits.startsWith('1') ? `+${digits}` : null;
}

export const noNumber = 'Enter it as +1 202 555 0123.';

/** `Local, Denver`, `Toll-free`. */
export function kindWords({ type, locality }: Pick<PhoneNumber, 'type' | 'locality'>): string {
  const word = type === 'toll_free' ? 'Toll-free' : 'Local';
  return locality === null ? word : `${word}, ${locality}`;
}

/** `1.00 USD` → `1.00 USD a month`. */
export const costWords = (cost: string | null): string => (cost === null ? 'cost unknown' : `${cost} a month`);

export const basisWords: Readonly<Record<ConsentBasis, string>> = {
  inbound_text: 'they texted this number first',
  inbound_call: 'they called this number first',
  explicit: 'they agreed to be called',
  owner_directed: 'you requested this call',
  owner_transfer_target: 'you listed them as a transfer target',
};

const sources: Readonly<Record<string, string>> = {
  invite: 'Agreed on an invite page',
  owner_transfer_target: 'Listed by you as a transfer target',
  owner_directed: 'Requested by you',
};
/** Where a consent comes from: a word of ours, else what was written. */
export const sourceWords = (source: string): string => sources[source] ?? source;

/** Why nothing can be written to them; null: it can. */
export function refusesText(number: Pick<PhoneNumber, 'smsState'>, to: Conversation): string | null {
  if (to.optedOut) return 'They said STOP. You can text them again only after they send START.';
  switch (number.smsState) {
    case 'pending_registration':
      return 'This number cannot send texts until its registration is approved.';
    case 'rejected':
      return 'This number cannot send texts: its registration was rejected. Correct it first.';
    case 'blocked':
      return 'The carriers have blocked texts from this number.';
    case 'active':
  }
  return to.mayText ? null : 'You can text people only after they text you.';
}

interface PortField {
  readonly name: keyof PortDetails;
  readonly word: string;
  readonly says: string;
  readonly kind: 'text' | 'secret' | 'file';
}

/** What the other carrier asks for, in the order of a bill. */
export const portFields: readonly PortField[] = [
  { name: 'entityName', word: 'Name on the account', says: 'The business or person, as on the bill.', kind: 'text' },
  {
    name: 'authorizedPerson',
    word: 'Authorized person',
    says: 'Who may make decisions about the number.',
    kind: 'text',
  },
  { name: 'accountNumber', word: 'Account number', says: 'Your account at the other carrier.', kind: 'secret' },
  { name: 'pin', word: 'PIN', says: 'The port-out PIN or the account passcode.', kind: 'secret' },
  {
    name: 'billingNumber',
    word: 'Billing number',
    says: 'The account’s main number, if it is a different one.',
    kind: 'text',
  },
  { name: 'street', word: 'Street', says: 'The service address.', kind: 'text' },
  { name: 'locality', word: 'City', says: '', kind: 'text' },
  { name: 'region', word: 'State', says: 'Two letters, such as CO.', kind: 'text' },
  { name: 'postalCode', word: 'ZIP code', says: '', kind: 'text' },
  { name: 'country', word: 'Country', says: 'US or CA.', kind: 'text' },
  { name: 'letterOfAuthorization', word: 'Letter of authorization', says: 'A signed PDF.', kind: 'file' },
  { name: 'invoice', word: 'Last bill', says: 'A PDF, at most 30 days old.', kind: 'file' },
];

/** Within a sentence: `Legal name` → `legal name`, and `ZIP code` as it is. */
export const inSentence = (word: string): string =>
  /^[A-Z]{2}/.test(word) ? word : word.charAt(0).toLowerCase() + word.slice(1);

export function portFieldWord(name: string): string {
  const field = portFields.find((one) => one.name === name);
  return field === undefined ? name : inSentence(field.word);
}

/** How far a port is, in a sentence. */
export function portWords({ state, messaging, missing, readyOn }: Port): string {
  if (missing.length > 0)
    return `The other carrier still needs: ${missing.map((field) => portFieldWord(field)).join(', ')}.`;
  switch (state) {
    case 'draft':
      return 'The port is being prepared.';
    case 'in-process':
      return 'The port is being checked before it goes to the other carrier.';
    case 'submitted':
      return 'The other carrier has the port and answers within a few days.';
    case 'exception':
      return 'The other carrier refused the port. Correct the details to submit it again.';
    case 'foc-date-confirmed':
      return readyOn === null ? 'Both carriers have agreed on a date.' : 'Both carriers have agreed on this date:';
    case 'cancel-pending':
      return 'The port is being cancelled.';
    case 'cancelled':
      return 'The port was cancelled. The number stays where it was.';
    case 'ported':
  }
  switch (messaging) {
    case 'ported':
      return 'The number is here.';
    case 'not_applicable':
      return 'Calls are here. Texts do not move with this number.';
    case 'exception':
      return 'Calls are here. Texts are delayed at the other carrier, for up to 72 hours.';
    case 'canceled':
      return 'Calls are here. Texts were not ported.';
    default:
      return 'Calls are here. Texts follow automatically.';
  }
}

export const isOver = ({ state }: Pick<Port, 'state'>): boolean => state === 'cancelled' || state === 'ported';

const endings: Readonly<Record<string, string>> = {
  normal_clearing: 'they hung up',
  originator_cancel: 'cancelled before anybody answered',
  call_rejected: 'they rejected it',
  user_busy: 'they were busy',
  no_answer: 'nobody answered',
  timeout: 'nobody answered',
  time_limit: 'it reached the maximum call length',
};
/** Why a call or a leg ended; what is no word of the carrier's is a sentence already. */
export const endingWords = (because: string): string => endings[because] ?? because.replaceAll('_', ' ');

export function callWords({ direction, missed }: Pick<Call, 'direction' | 'missed'>): string {
  if (missed) return 'Missed call';
  return direction === 'in' ? 'Incoming call' : 'Outgoing call';
}

/** Meanings that the letters of a name do not reveal. */
const saidBetter: Readonly<Record<string, string>> = {
  NGO: 'Non-profit or charity',
  POLLING_VOTING: 'Polls and votes',
  HUMAN_RESOURCES: 'Hiring and staff',
  PROFESSIONAL: 'Professional services',
  '2FA': 'Sign-in codes',
  MIXED: 'Several of these',
  LOW_VOLUME: 'Few texts, of any kind',
};

/** `CUSTOMER_CARE` → `Customer care`; what has digits stays. */
export function plainWord(wire: string): string {
  const better = saidBetter[wire];
  if (better !== undefined) return better;
  if (/\d/.test(wire)) return wire;
  const words = wire.toLowerCase().replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
