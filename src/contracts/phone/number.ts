/** A person's numbers: searched, bought, ported, moved, released, and the invites on them. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';
import {
  E164,
  NumberType,
  numberOwner,
  PortMessagingState,
  PortState,
  phoneRoute,
  SmsState,
  VoiceState,
} from './values.ts';

const base = '/api/v1/phone/numbers';
const ofNumber = { ...phoneRoute, owner: numberOwner, params: z.strictObject({ id: Id }) } as const;

/** The obstacle to a port, and the field of {@link PortDetails} that resolves it; null: none of ours. */
export const PortProblem = z.strictObject({ code: z.string(), text: z.string(), field: z.string().nullable() });
export type PortProblem = z.infer<typeof PortProblem>;

/** A port order. Texts are ported apart from calls, so each has its own state. */
export const Port = z
  .strictObject({
    orderId: z.string(),
    state: PortState,
    messaging: PortMessagingState.meta({ description: 'Texts are ported separately from calls.' }),
    problems: z.array(PortProblem),
    missing: z.array(z.string()).meta({ description: 'Fields that the previous carrier still needs.' }),
    readyOn: Time.nullable().meta({ description: 'When the carriers have agreed to hand it over.' }),
  })
  .meta({ id: 'PhonePort' });
export type Port = z.infer<typeof Port>;

export const PhoneNumber = z
  .strictObject({
    id: Id,
    e164: E164,
    type: NumberType,
    country: z.string(),
    locality: z.string().nullable(),
    monthlyCost: z.string().nullable().meta({ description: 'As reported by the carrier, `1.00 USD`.' }),
    carrier: z.string(),
    smsState: SmsState,
    voiceState: VoiceState,
    runtimeId: Id,
    botId: z.string(),
    port: Port.nullable(),
    problem: z
      .string()
      .nullable()
      .meta({ description: 'What it waits for, or why it could not become yours; such a number does not count.' }),
    registered: z.boolean().meta({ description: 'A registration was filed, whatever became of it.' }),
    createdAt: Time,
  })
  .meta({ id: 'PhoneNumber' });
export type PhoneNumber = z.infer<typeof PhoneNumber>;

export const OfferedNumber = z
  .strictObject({
    e164: E164,
    type: NumberType,
    locality: z.string().nullable(),
    monthlyCost: z.string().nullable(),
  })
  .meta({ id: 'OfferedPhoneNumber' });
export type OfferedNumber = z.infer<typeof OfferedNumber>;

const AssignTo = {
  e164: E164,
  runtimeId: Id,
  botId: z.string().min(1).max(200),
  botName: z.string().max(200).optional().meta({ description: 'The bot’s name as people hear it.' }),
};

export const searchNumbers = defineRoute({
  ...phoneRoute,
  op: 'searchPhoneNumbers',
  summary: 'Searches numbers that can be bought now',
  method: 'GET',
  path: `${base}/search`,
  owner: { none: 'what is for sale belongs to nobody yet' },
  query: z.strictObject({
    country: z
      .string()
      .regex(/^[A-Z]{2}$/, 'a country as US')
      .optional()
      .meta({ description: 'US or CA; default US.' }),
    areaCode: z
      .string()
      .regex(/^\d{3}$/, 'three digits')
      .optional(),
    locality: z.string().min(1).max(100).optional(),
    type: NumberType.optional().meta({ description: 'Default local.' }),
    limit: z.coerce.number().int().min(1).max(50).optional().meta({ description: 'Default 20.' }),
  }),
  answers: { 200: z.strictObject({ carrier: z.string(), numbers: z.array(OfferedNumber) }) },
});

export const listNumbers = defineRoute({
  ...phoneRoute,
  op: 'listPhoneNumbers',
  summary: 'Lists the caller’s numbers; for a device, those of its computer',
  method: 'GET',
  path: base,
  auth: ['owner', 'user', 'key', 'device'],
  owner: 'collection',
  answers: { 200: z.strictObject({ numbers: z.array(PhoneNumber) }) },
});

export const buyNumber = defineRoute({
  ...phoneRoute,
  op: 'buyPhoneNumber',
  summary: 'Buys a number for a bot, with its relay address; needs a plan with room for it',
  method: 'POST',
  path: base,
  owner: 'collection',
  idempotent: true,
  body: z.strictObject({ ...AssignTo, dryRun: z.boolean().optional() }),
  answers: {
    201: z.strictObject({ number: PhoneNumber }),
    200: z.strictObject({
      dryRun: z.literal(true),
      plan: z.strictObject({
        e164: E164,
        monthlyCost: z.string().nullable(),
        numbers: z.number().int().meta({ description: 'How many numbers the person would then have.' }),
        limit: z.number().int(),
      }),
    }),
  },
});

/** As every PDF begins. */
const Pdf = z
  .string()
  .max(7_000_000)
  .regex(/^JVBERi0[A-Za-z0-9+/]+={0,2}$/, 'a PDF in base64');

/** Details that the number's current carrier requires. Secrets among them are never returned. */
export const PortDetails = z.strictObject({
  entityName: z.string().min(1).max(200).optional(),
  authorizedPerson: z.string().min(1).max(200).optional(),
  accountNumber: z.string().min(1).max(100).optional(),
  pin: z.string().min(1).max(30).optional(),
  billingNumber: E164.optional(),
  street: z.string().min(1).max(200).optional(),
  locality: z.string().min(1).max(100).optional(),
  region: z.string().min(2).max(50).optional(),
  postalCode: z.string().min(3).max(12).optional(),
  country: z
    .string()
    .regex(/^[A-Z]{2}$/, 'a country of two capital letters, such as US')
    .optional(),
  /** Base64 of a PDF. */
  letterOfAuthorization: Pdf.optional(),
  invoice: Pdf.optional(),
});
export type PortDetails = z.infer<typeof PortDetails>;

export const portNumber = defineRoute({
  ...phoneRoute,
  op: 'portPhoneNumber',
  summary: 'Starts porting a number from another carrier; the answer lists what is missing, which can be sent later',
  method: 'POST',
  path: `${base}/port`,
  owner: 'collection',
  idempotent: true,
  bodyLimit: 16 * 1024 * 1024,
  body: z.strictObject({ ...AssignTo, details: PortDetails.optional() }),
  answers: { 201: z.strictObject({ number: PhoneNumber, port: Port }) },
});

export const getPort = defineRoute({
  ...ofNumber,
  op: 'getPhonePort',
  summary: 'Reads the state of a port, from the carrier while it is in progress',
  method: 'GET',
  path: `${base}/:id/port`,
  answers: { 200: z.strictObject({ number: PhoneNumber, port: Port }) },
});

export const correctPort = defineRoute({
  ...ofNumber,
  op: 'correctPhonePort',
  summary: 'Adds or corrects what the previous carrier needs, and submits the order again',
  method: 'PATCH',
  path: `${base}/:id/port`,
  bodyLimit: 16 * 1024 * 1024,
  body: z.strictObject({ details: PortDetails }),
  answers: { 200: z.strictObject({ number: PhoneNumber, port: Port }) },
});

export const moveNumber = defineRoute({
  ...ofNumber,
  op: 'movePhoneNumber',
  summary: 'Moves the number to another bot, or another computer; consent, opt-outs and registration stay with it',
  method: 'PATCH',
  path: `${base}/:id`,
  body: z.strictObject({
    botId: z.string().max(200),
    runtimeId: Id.optional(),
    botName: z.string().max(200).optional(),
  }),
  answers: { 200: z.strictObject({ number: PhoneNumber, previousBotId: z.string() }) },
});

export const releaseNumber = defineRoute({
  ...ofNumber,
  op: 'releasePhoneNumber',
  summary: 'Releases the number for good: its relay address and its fees end',
  method: 'DELETE',
  path: `${base}/:id`,
  answers: { 204: z.undefined() },
});

export const Invite = z
  .strictObject({ id: Id, url: z.string(), expiresAt: Time, usedAt: Time.nullable() })
  .meta({ id: 'PhoneInvite' });
export type Invite = z.infer<typeof Invite>;

export const listInvites = defineRoute({
  ...ofNumber,
  op: 'listPhoneInvites',
  summary: 'Lists invites that are open or were used',
  method: 'GET',
  path: `${base}/:id/invites`,
  answers: { 200: z.strictObject({ invites: z.array(Invite) }) },
});

export const createInvite = defineRoute({
  ...ofNumber,
  op: 'createPhoneInvite',
  summary: 'Creates an invite: a page on which one person can agree once to be called, valid for 7 days',
  method: 'POST',
  path: `${base}/:id/invites`,
  body: z.strictObject({}).optional(),
  answers: { 201: z.strictObject({ invite: Invite }) },
});

export const deleteInvite = defineRoute({
  ...ofNumber,
  op: 'deletePhoneInvite',
  summary: 'Withdraws an unused invite',
  method: 'DELETE',
  path: `${base}/:id/invites/:invite`,
  params: z.strictObject({ id: Id, invite: Id }),
  answers: { 204: z.undefined() },
});

const invitePage = {
  area: 'phone',
  errors: 'plain',
  auth: ['public'],
  scope: null,
  owner: { none: 'the address of an invite cannot be guessed, and it is good once' },
  kind: 'raw',
  path: '/sms/invite/:token',
  params: z.strictObject({ token: z.string().max(200) }),
} as const;

export const showInvite = defineRoute({
  ...invitePage,
  op: 'showPhoneInvite',
  summary: 'The page of an invite: who would call, and a field for the person’s number',
  method: 'GET',
  answers: { 200: z.string() },
});

export const acceptInvite = defineRoute({
  ...invitePage,
  op: 'acceptPhoneInvite',
  summary: 'Takes the form of that page: consent to calls, with the number and the text that was shown',
  method: 'POST',
  answers: { 200: z.string() },
});

export const numberRoutes = [
  searchNumbers,
  listNumbers,
  buyNumber,
  portNumber,
  getPort,
  correctPort,
  moveNumber,
  releaseNumber,
  listInvites,
  createInvite,
  deleteInvite,
  showInvite,
  acceptInvite,
] as const;
