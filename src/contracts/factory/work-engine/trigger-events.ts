/** Outsiders' posts to a trigger: the public route of the cloud API, and how the cloud brings them to the computer that the key names. */
import { z } from 'zod';
import { defineRoute } from '../../common/route.ts';
import { Id, Time } from '../../common/values.ts';
import { largestTriggerBody } from './triggers.ts';

export const postTrigger = defineRoute({
  op: 'postTrigger',
  area: 'factory',
  errors: 'plain',
  summary:
    'Turns a post of up to 256 KiB (JSON, a form or text) into a ticket of the trigger’s bot; a repeated event makes only one',
  method: 'POST',
  path: '/webhooks/triggers/:key',
  auth: ['public'],
  scope: null,
  params: z.strictObject({ key: Id }),
  owner: { none: 'the key is the credential; only the computer knows which are good' },
  kind: 'raw',
  answers: {
    200: z.strictObject({ challenge: z.string() }).meta({ description: 'Slack’s check that this address exists.' }),
    202: z.strictObject({ status: z.literal('accepted'), eventId: z.string() }),
  },
});

export const TriggerEvent = z.strictObject({
  key: z.string().max(200),
  eventId: z.string().min(1).max(100),
  receivedAt: Time,
  data: z.unknown(),
});
export type TriggerEvent = z.infer<typeof TriggerEvent>;

export const TriggerOutcome = z.strictObject({ status: z.enum(['triggered', 'duplicate']), ticketId: z.string() });
export type TriggerOutcome = z.infer<typeof TriggerOutcome>;

export const deliverTrigger = defineRoute({
  op: 'deliverTrigger',
  area: 'link',
  errors: 'plain',
  summary: 'Delivers a trigger event from the cloud to this computer; signed for its device',
  method: 'POST',
  path: '/api/v1/runtime/trigger-events',
  auth: ['device'],
  scope: null,
  owner: { none: 'the signature is the computer’s own; an unknown key is 404' },
  body: TriggerEvent,
  // Escaped as JSON, a body may take several times its size.
  bodyLimit: 8 * largestTriggerBody,
  answers: { 200: TriggerOutcome },
});
