/** Texts in and out, who opted out, and the person's own phone. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Paging, Time } from '../common/values.ts';
import { E164, maxTextLength, numberOwner, phoneRoute, Sender } from './values.ts';

const numbers = '/api/v1/phone/numbers/:id';
const ofNumber = { ...phoneRoute, owner: numberOwner, method: 'GET', params: z.strictObject({ id: Id }) } as const;

export const textStatuses = [
  'received',
  'kept_back',
  'queued',
  'sending',
  'sent',
  'delivered',
  'unconfirmed',
  'failed',
  'cancelled',
] as const;

export const Media = z.strictObject({
  url: z.string(),
  contentType: z.string().nullable(),
  size: z.number().int().nullable(),
});
export type Media = z.infer<typeof Media>;

/** `kept_back`: a keyword, which no bot sees. `cancelled`: it waited when STOP came, or the number was released. */
export const TextMessage = z
  .strictObject({
    id: Id,
    numberId: Id,
    direction: z.enum(['in', 'out']),
    from: Sender,
    to: Sender,
    text: z.string(),
    media: z.array(Media),
    parts: z.number().int(),
    status: z.enum(textStatuses),
    reason: z.string().nullable().meta({ description: 'Why it failed, was withheld or waits.' }),
    by: z.enum(['person', 'bot', 'service']).nullable().meta({ description: 'For an outgoing text: who sent it.' }),
    botId: z.string().nullable().meta({ description: 'The bot whose conversation it is in.' }),
    at: Time,
  })
  .meta({ id: 'PhoneTextMessage' });
export type TextMessage = z.infer<typeof TextMessage>;

export const sendText = defineRoute({
  ...phoneRoute,
  op: 'sendText',
  summary: 'Sends a text to somebody who wrote to the number and has not sent STOP',
  method: 'POST',
  path: '/api/v1/channels/sms/send',
  auth: ['owner', 'user', 'key', 'device'],
  owner: { none: 'the body names the number; a foreign one is 404 number_not_found' },
  idempotent: true,
  body: z.strictObject({ numberId: Id, to: z.string().min(1).max(40), text: z.string().max(64 * maxTextLength) }),
  answers: { 200: z.strictObject({ ok: z.literal(true), messageId: Id, parts: z.number().int() }) },
});

const signedByCarrier = {
  area: 'phone',
  errors: 'plain',
  method: 'POST',
  auth: ['public'],
  scope: null,
  kind: 'raw',
  signed: true,
  // The tag that we gave the carrier with the address: it has no field for it where it posts.
  query: z.strictObject({ tag: z.string().max(200).optional(), ref: z.string().max(200).optional() }),
} as const;
const taken = { 200: z.strictObject({ status: z.enum(['accepted', 'duplicate', 'ignored']) }) } as const;

export const relayAddress = defineRoute({
  ...signedByCarrier,
  op: 'phoneRelayAddress',
  summary: 'Receives carrier events for one number; 200 once durable, 401 bad signature, 410 revoked',
  path: '/channels/in/:address',
  owner: { none: 'the address cannot be guessed, and the carrier’s signature proves who posts' },
  params: z.strictObject({ address: z.string().max(200) }),
  answers: taken,
});

export const carrierWebhook = defineRoute({
  ...signedByCarrier,
  op: 'phoneCarrierWebhook',
  summary: 'Receives carrier events for registrations, orders, ports and calls',
  path: '/api/v1/phone/webhooks/:carrier',
  owner: { none: 'the carrier’s signature proves who posts' },
  params: z.strictObject({ carrier: z.string().max(40) }),
  answers: taken,
});

export const Conversation = z
  .strictObject({
    with: Sender,
    name: z.string().nullable(),
    botId: z.string().nullable(),
    last: TextMessage,
    optedOut: z.boolean(),
    mayText: z.boolean(),
    mayCall: z.boolean(),
  })
  .meta({ id: 'PhoneConversation' });
export type Conversation = z.infer<typeof Conversation>;

export const listConversations = defineRoute({
  ...ofNumber,
  op: 'listPhoneConversations',
  summary: 'Lists the conversations of a number, newest first',
  path: `${numbers}/conversations`,
  query: z.strictObject(Paging),
  answers: { 200: z.strictObject({ conversations: z.array(Conversation), nextCursor: z.string().nullable() }) },
});

export const listTexts = defineRoute({
  ...ofNumber,
  op: 'listPhoneTexts',
  summary: 'Lists the texts of a number, newest first',
  path: `${numbers}/messages`,
  query: z.strictObject({ ...Paging, with: Sender.optional() }),
  answers: { 200: z.strictObject({ messages: z.array(TextMessage), nextCursor: z.string().nullable() }) },
});

export const OptOutEntry = z
  .strictObject({
    e164: Sender,
    action: z.enum(['stop', 'start']),
    source: z.enum(['text', 'carrier', 'owner']),
    evidence: z.string().nullable(),
    at: Time,
  })
  .meta({ id: 'PhoneOptOutEntry' });
export type OptOutEntry = z.infer<typeof OptOutEntry>;

export const listOptOuts = defineRoute({
  ...ofNumber,
  op: 'listPhoneOptOuts',
  summary: 'Lists each STOP and START of the number, newest first',
  path: `${numbers}/opt-outs`,
  query: z.strictObject(Paging),
  answers: { 200: z.strictObject({ entries: z.array(OptOutEntry), nextCursor: z.string().nullable() }) },
});

export const addOptOut = defineRoute({
  ...ofNumber,
  op: 'addPhoneOptOut',
  summary: 'Records that somebody asked in another way not to be texted or called; it holds until they send START',
  method: 'POST',
  path: `${numbers}/opt-outs`,
  body: z.strictObject({ e164: E164, evidence: z.string().min(1).max(2000) }),
  answers: { 201: z.strictObject({ entry: OptOutEntry }) },
});

/** The person's own phone: a yes or no to an approval is taken from it by text. */
export const OwnPhone = z
  .strictObject({ e164: E164.nullable(), confirmed: z.boolean(), numberId: Id.nullable() })
  .meta({ id: 'OwnPhone' });
export type OwnPhone = z.infer<typeof OwnPhone>;

const own = {
  ...phoneRoute,
  auth: ['owner', 'user'],
  scope: null,
  owner: 'collection',
  path: '/api/v1/phone/own',
} as const;

export const getOwnPhone = defineRoute({
  ...own,
  op: 'getOwnPhone',
  summary: 'Reads the person’s own phone, which may answer approvals',
  method: 'GET',
  answers: { 200: OwnPhone },
});

export const putOwnPhone = defineRoute({
  ...own,
  op: 'putOwnPhone',
  summary: 'Sets the person’s own phone; it counts once a text with the shown code arrives from it',
  method: 'PUT',
  body: z.strictObject({ e164: E164, numberId: Id }),
  answers: { 200: z.strictObject({ own: OwnPhone, code: z.string(), expiresAt: Time }) },
});

export const deleteOwnPhone = defineRoute({
  ...own,
  op: 'deleteOwnPhone',
  summary: 'Removes the person’s own phone',
  method: 'DELETE',
  answers: { 204: z.undefined() },
});

export const textRoutes = [
  sendText,
  relayAddress,
  carrierWebhook,
  listConversations,
  listTexts,
  listOptOuts,
  addOptOut,
  getOwnPhone,
  putOwnPhone,
  deleteOwnPhone,
] as const;

/** A text that the cloud brings to the computer of its number. */
export const RelayedText = z.strictObject({
  provider: z.literal('sms'),
  messageId: Id,
  numberId: Id,
  botId: z.string(),
  from: Sender,
  to: E164,
  text: z.string(),
  media: z.array(Media),
  flag: z
    .literal('may_mean_stop')
    .optional()
    .meta({ description: 'It may be a request to stop texting in unclear words; the person sees this.' }),
  receivedAt: Time,
  attempt: z.number().int().min(1),
});
export type RelayedText = z.infer<typeof RelayedText>;

const ofDevice = {
  area: 'phone',
  errors: 'plain',
  method: 'POST',
  auth: ['device'],
  scope: null,
  owner: { none: 'the signature is the computer’s own' },
} as const;

export const deliverText = defineRoute({
  ...ofDevice,
  op: 'deliverText',
  summary:
    'Delivers a text from the cloud to the bot of its number; a repeated one is a duplicate. 410: the bot is gone for good',
  path: '/webhooks/channels/sms',
  body: RelayedText,
  answers: { 200: z.strictObject({ status: z.enum(['delivered', 'duplicate']) }) },
});

export const resync = defineRoute({
  ...ofDevice,
  op: 'resyncRuntime',
  summary: 'Tells the computer that something changed in the cloud, so that it reads it again',
  path: '/api/v1/runtime/resync',
  body: z.strictObject({ scope: z.literal('phone') }),
  answers: { 202: z.strictObject({ ok: z.literal(true) }) },
});

/** Only on the computer. */
export const phoneEngineRoutes = [deliverText, resync] as const;
