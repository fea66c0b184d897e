/** Calls: consent to be called, references for one call each, and control of a call in progress. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Paging, Time } from '../common/values.ts';
import { ConsentBasis, E164, maxTransferTargets, numberOwner, phoneRoute, Sender } from './values.ts';

const numbers = '/api/v1/phone/numbers/:id';
const ofNumber = { ...phoneRoute, owner: numberOwner, params: z.strictObject({ id: Id }) } as const;

/** Kept for good, never changed. */
export const Consent = z
  .strictObject({ id: Id, e164: E164, source: z.string(), evidence: z.string(), at: Time })
  .meta({ id: 'PhoneConsent' });
export type Consent = z.infer<typeof Consent>;

export const recordConsent = defineRoute({
  ...ofNumber,
  op: 'recordPhoneConsent',
  summary: 'Records that somebody agreed to be called, and how; it allows no texts and lifts no STOP',
  method: 'POST',
  path: `${numbers}/consent`,
  idempotent: true,
  body: z.strictObject({
    e164: E164,
    source: z.string().min(1).max(100),
    evidence: z.string().min(1).max(4000),
  }),
  answers: { 201: z.strictObject({ consent: Consent }) },
});

export const listConsents = defineRoute({
  ...ofNumber,
  op: 'listPhoneConsents',
  summary: 'Lists each consent of the number, newest first',
  method: 'GET',
  path: `${numbers}/consents`,
  query: z.strictObject({ ...Paging, e164: E164.optional() }),
  answers: { 200: z.strictObject({ consents: z.array(Consent), nextCursor: z.string().nullable() }) },
});

export const askForCall = defineRoute({
  ...phoneRoute,
  op: 'askForCall',
  summary: 'Returns a consent reference for one call within 30 minutes, or 403 no_consent',
  method: 'POST',
  path: '/api/v1/phone/calls/outbound',
  owner: { none: 'the body names the number; a foreign one is 404 number_not_found' },
  body: z.strictObject({
    numberId: Id,
    to: E164,
    botId: z.string().min(1).max(200),
    purpose: z.string().min(1).max(500),
  }),
  answers: { 200: z.strictObject({ consentRef: z.string(), basis: ConsentBasis, expiresAt: Time }) },
});

export const callStatuses = ['ringing', 'active', 'held', 'transferring', 'ended'] as const;

/** A participant of a call. `consult`: the person asked to take it over. */
export const CallLeg = z.strictObject({
  role: z.enum(['person', 'consult']),
  e164: Sender,
  state: z.enum(['ringing', 'talking', 'held', 'ended']),
  endedBecause: z.string().nullable(),
});
export type CallLeg = z.infer<typeof CallLeg>;

export const Call = z
  .strictObject({
    id: Id,
    numberId: Id,
    botId: z.string(),
    direction: z.enum(['in', 'out']),
    with: Sender,
    status: z.enum(callStatuses),
    muted: z.boolean(),
    basis: ConsentBasis.nullable(),
    purpose: z.string().nullable(),
    legs: z.array(CallLeg),
    transfer: z
      .strictObject({
        to: E164,
        mode: z.enum(['warm', 'cold']),
        state: z.enum(['asking', 'accepted', 'declined', 'no_answer', 'busy', 'voicemail', 'failed', 'stopped']),
      })
      .nullable(),
    missed: z.boolean(),
    startedAt: Time,
    answeredAt: Time.nullable(),
    endedAt: Time.nullable(),
    endedBecause: z.string().nullable(),
  })
  .meta({ id: 'PhoneCall' });
export type Call = z.infer<typeof Call>;

export const listCalls = defineRoute({
  ...ofNumber,
  op: 'listPhoneCalls',
  summary: 'Lists the calls of a number, newest first',
  method: 'GET',
  path: `${numbers}/calls`,
  query: z.strictObject(Paging),
  answers: { 200: z.strictObject({ calls: z.array(Call), nextCursor: z.string().nullable() }) },
});

const dialing = {
  area: 'phone',
  errors: 'plain',
  method: 'POST',
  owner: { none: 'the reference cannot be guessed, and it is good once' },
  body: z.strictObject({ consentRef: z.string().min(1).max(200) }),
} as const;

export const dialAsWorker = defineRoute({
  ...dialing,
  op: 'dialAsVoiceWorker',
  summary: 'Dials with a consent reference, for the voice worker; STOP is checked again',
  path: '/internal/voice/calls',
  auth: ['internal'],
  scope: null,
  answers: { 201: z.strictObject({ callId: Id }) },
});

export const dial = defineRoute({
  ...dialing,
  auth: phoneRoute.auth,
  scope: phoneRoute.scope,
  op: 'dialPhoneCall',
  summary: 'Dials with one of the caller’s own consent references',
  path: '/api/v1/voice/calls',
  answers: { 201: z.strictObject({ callId: Id }) },
});

export const controlActions = ['transfer', 'hangup', 'hold', 'resume', 'mute', 'unmute', 'dtmf'] as const;

export const controlCall = defineRoute({
  ...phoneRoute,
  op: 'controlPhoneCall',
  summary:
    'Controls a call in progress; a warm transfer gets its consent reference here and is refused without consent',
  method: 'POST',
  path: '/api/v1/voice/calls/:callId/control',
  owner: { param: 'callId', noun: 'phoneCall', word: 'call', list: 'GET /api/v1/phone/numbers/{id}/calls' },
  params: z.strictObject({ callId: Id }),
  body: z.strictObject({
    action: z.enum(controlActions),
    to: E164.optional(),
    mode: z.enum(['warm', 'cold']).optional(),
    digits: z
      .string()
      .regex(/^[0-9A-D*#w]{1,32}$/, 'digits of a telephone')
      .optional(),
  }),
  answers: {
    202: z.strictObject({
      ok: z.literal(true),
      callId: Id,
      action: z.enum(controlActions),
      consentRef: z.string().optional(),
    }),
  },
});

export const TransferTarget = z.strictObject({ e164: E164, label: z.string().min(1).max(100) });
export type TransferTarget = z.infer<typeof TransferTarget>;

export const BotConfig = z
  .strictObject({ botId: z.string(), transferTargets: z.array(TransferTarget) })
  .meta({ id: 'VoiceBotConfig' });
export type BotConfig = z.infer<typeof BotConfig>;

const botConfig = {
  ...phoneRoute,
  path: '/api/v1/voice/bot-config/:botId',
  owner: { none: 'each person keeps a list of their own for a name; bots are their computers’ to know' },
  params: z.strictObject({ botId: z.string().min(1).max(200) }),
  answers: { 200: BotConfig },
} as const;

export const getBotConfig = defineRoute({
  ...botConfig,
  op: 'getVoiceBotConfig',
  summary: 'Lists to whom calls of a bot may be transferred',
  method: 'GET',
});

export const putBotConfig = defineRoute({
  ...botConfig,
  op: 'putVoiceBotConfig',
  summary:
    'Replaces that list; without the field it stays the same. Each new target is recorded as consent to be called by the bot’s numbers',
  method: 'PUT',
  body: z.strictObject({
    transferTargets: z
      .array(TransferTarget)
      .max(10 * maxTransferTargets)
      .optional(),
  }),
});

export const callRoutes = [
  recordConsent,
  listConsents,
  askForCall,
  listCalls,
  dialAsWorker,
  dial,
  controlCall,
  getBotConfig,
  putBotConfig,
] as const;
