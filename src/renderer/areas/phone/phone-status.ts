/**
 * The states of the phone, as `status.tsx` has all others: wire word → the word a person reads, its icon and its tone. Apart from it,
 * because only the pages of the phone need them. Must not know where a status is shown.
 */
import {
  Ban,
  Check,
  CheckCheck,
  CircleHelp,
  CirclePause,
  CircleX,
  Clock,
  Hand,
  Loader,
  PhoneIncoming,
  PhoneMissed,
  PhoneOff,
  ShieldMinus,
} from 'lucide-react';
import type { Call, CallLeg } from '../../../contracts/phone/calls.ts';
import type { PhoneNumber, Port } from '../../../contracts/phone/number.ts';
import type { Registration, RegistrationStep } from '../../../contracts/phone/registration.ts';
import type { TextMessage } from '../../../contracts/phone/texts.ts';
import { looks, type StatusLook } from '../../ui/looks.ts';

const needs = (word: string): StatusLook => ({ word, icon: Hand, tone: 'need' });
const waits = (word: string): StatusLook => ({ word, icon: Clock, tone: 'muted' });

/** Of a number whose bot cannot, or is gone. */
export const nobodyAnswers = needs('Nobody answers');
/** Of a conversation whose last word is theirs. */
export const unanswered = needs('Unanswered');

/** Nothing of its texts is left to come, whether they came or not. */
const textsSettled = ({ messaging }: Port): boolean =>
  messaging === 'ported' || messaging === 'not_applicable' || messaging === 'canceled';

/** A port under way; null: there is none, or it is over. */
export function portOf({ port }: Pick<PhoneNumber, 'port'>): Port | null {
  return port === null || (port.state === 'ported' && textsSettled(port)) ? null : port;
}

export function portStatus(port: Port): StatusLook {
  const { state, messaging, problems, missing } = port;
  if (state === 'cancelled') return { word: 'Port cancelled', icon: Ban, tone: 'faint' };
  if (state === 'cancel-pending') return { word: 'Port is being cancelled', icon: Loader, tone: 'muted' };
  if (missing.length > 0) return needs('Port needs details');
  if (state === 'exception' || messaging === 'exception' || problems.some(({ field }) => field !== null))
    return needs('Port needs correction');
  if (state === 'foc-date-confirmed') return waits('Port has a date');
  if (state === 'ported') {
    return textsSettled(port) ? { word: 'Ported', icon: Check, tone: 'muted' } : waits('Texts are being ported');
  }
  return waits('Being ported');
}

/** `null`: none was filed. */
export function registrationStatus(registration: Registration | null): StatusLook {
  if (registration === null) return needs('Needs registration');
  const { state, needsPin, rejectionReason, smsState } = registration;
  if (state === 'rejected') return needs('Needs correction');
  if (needsPin) return needs('Needs a code');
  if (state === 'approved') {
    if (smsState !== 'active') return waits('Approved, being set up');
    const corrected = registration.correction?.state === 'pending';
    return { word: corrected ? 'Registered, being corrected' : 'Registered', icon: Check, tone: 'proven' };
  }
  return waits(rejectionReason?.startsWith('waiting:') === true ? 'Waiting, will retry' : 'In review');
}

/** `registration` undefined: it is not known yet. */
export function numberStatus(number: PhoneNumber, registration: Registration | null | undefined): StatusLook {
  const port = portOf(number);
  if (port !== null) return portStatus(port);
  if (number.port === null && number.problem !== null) return { word: 'Not bought', icon: CircleX, tone: 'fail' };
  if (number.smsState === 'blocked') return { word: 'Texts blocked', icon: CircleX, tone: 'fail' };
  if (number.voiceState === 'pending') return { word: 'Being ordered', icon: Loader, tone: 'muted' };
  if (number.smsState === 'active') return { word: 'Texts and calls', icon: Check, tone: 'muted' };
  if (registration === undefined) return waits('Texts not ready');
  return registrationStatus(registration);
}

export const stepStatus: Readonly<Record<RegistrationStep['state'], StatusLook>> = {
  waiting: looks.waits,
  working: { word: 'In progress', icon: Loader, tone: 'muted' },
  done: looks.saidDone,
  failed: { word: 'Refused', icon: CircleX, tone: 'fail' },
};

export const textStatus: Readonly<Record<TextMessage['status'], StatusLook>> = {
  received: { word: 'Received', icon: Check, tone: 'muted' },
  kept_back: { word: 'Not shown to the bot', icon: ShieldMinus, tone: 'muted' },
  queued: looks.waits,
  sending: { word: 'Being sent', icon: Loader, tone: 'muted' },
  sent: { word: 'Sent', icon: Check, tone: 'muted' },
  delivered: { word: 'Delivered', icon: CheckCheck, tone: 'proven' },
  unconfirmed: { word: 'Sent, not confirmed', icon: CircleHelp, tone: 'muted' },
  failed: looks.failed,
  cancelled: { word: 'Not sent', icon: Ban, tone: 'faint' },
};

export const legStatus: Readonly<Record<CallLeg['state'], StatusLook>> = {
  ringing: { word: 'Ringing', icon: PhoneIncoming, tone: 'accent' },
  talking: { word: 'Talking', icon: 'ring', tone: 'accent' },
  held: { word: 'On hold', icon: CirclePause, tone: 'muted' },
  ended: { word: 'Ended', icon: PhoneOff, tone: 'faint' },
};

export function callStatus({ status, direction, missed }: Pick<Call, 'status' | 'direction' | 'missed'>): StatusLook {
  switch (status) {
    case 'ringing':
      return direction === 'in' ? { ...legStatus.ringing, word: 'Incoming' } : legStatus.ringing;
    case 'active':
      return legStatus.talking;
    case 'held':
      return legStatus.held;
    case 'transferring':
      return { word: 'Being transferred', icon: 'ring', tone: 'accent' };
    case 'ended':
      return missed ? { word: 'Missed', icon: PhoneMissed, tone: 'muted' } : legStatus.ended;
  }
}

export const transferStatus: Readonly<Record<NonNullable<Call['transfer']>['state'], StatusLook>> = {
  asking: { word: 'Being asked', icon: 'ring', tone: 'accent' },
  accepted: { word: 'Accepted', icon: Check, tone: 'muted' },
  declined: { word: 'Declined', icon: Ban, tone: 'muted' },
  no_answer: { word: 'Did not answer', icon: PhoneMissed, tone: 'muted' },
  busy: { word: 'Busy', icon: PhoneMissed, tone: 'muted' },
  voicemail: { word: 'Voicemail answered', icon: PhoneMissed, tone: 'muted' },
  failed: looks.failed,
  stopped: { word: 'Refused: STOP', icon: Ban, tone: 'muted' },
};
