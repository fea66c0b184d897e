/** Values that every part of the phone shares. Must not know routes. */
import { z } from 'zod';

/** As it is written: `+` and digits. Whether such a number can exist, the cloud decides. */
export const E164 = z.string().regex(/^\+[1-9]\d{6,14}$/, 'a number as +12025550123');

/** The sender or caller as the carrier gives it: a number, a short code or a name of letters. */
export const Sender = z.string().min(1).max(40);

export const numberTypes = ['local', 'toll_free'] as const;
export const NumberType = z.enum(numberTypes);
export type NumberType = z.infer<typeof NumberType>;

export const smsStates = ['pending_registration', 'active', 'rejected', 'blocked'] as const;
export const SmsState = z.enum(smsStates);
export type SmsState = z.infer<typeof SmsState>;

/** `pending`: ordered or being ported. */
export const voiceStates = ['pending', 'active'] as const;
export const VoiceState = z.enum(voiceStates);
export type VoiceState = z.infer<typeof VoiceState>;

export const registrationKinds = ['10dlc', 'toll_free'] as const;
export const RegistrationKind = z.enum(registrationKinds);
export type RegistrationKind = z.infer<typeof RegistrationKind>;

export const registrationStates = ['pending', 'approved', 'rejected'] as const;
export const RegistrationState = z.enum(registrationStates);
export type RegistrationState = z.infer<typeof RegistrationState>;

/** The states of Telnyx's porting orders, which cover calls. */
export const portStates = [
  'draft',
  'in-process',
  'submitted',
  'exception',
  'foc-date-confirmed',
  'ported',
  'cancel-pending',
  'cancelled',
] as const;
export const PortState = z.enum(portStates);
export type PortState = z.infer<typeof PortState>;

/** States of a port's texting part: the number texts only once it is `ported`. */
export const portMessagingStates = [
  'not_applicable',
  'pending',
  'activating',
  'exception',
  'canceled',
  'partial_port_complete',
  'ported',
] as const;
export const PortMessagingState = z.enum(portMessagingStates);
export type PortMessagingState = z.infer<typeof PortMessagingState>;

/** Why a call may be made. */
export const consentBases = [
  'inbound_text',
  'inbound_call',
  'explicit',
  'owner_directed',
  'owner_transfer_target',
] as const;
export const ConsentBasis = z.enum(consentBases);
export type ConsentBasis = z.infer<typeof ConsentBasis>;

/** Characters of one text; it may have ten parts at most. */
export const maxTextLength = 1600;
export const maxParts = 10;
export const maxTransferTargets = 20;

/** Routes of the phone take a session, or a key with the scope `compute`. */
export const phoneRoute = {
  area: 'phone',
  errors: 'plain',
  auth: ['owner', 'user', 'key'],
  scope: 'compute',
} as const;

/** The object that a path names by `:id`; a foreign or released one is 404. */
export const numberOwner = {
  param: 'id',
  noun: 'phoneNumber',
  word: 'number',
  list: 'GET /api/v1/phone/numbers',
} as const;
