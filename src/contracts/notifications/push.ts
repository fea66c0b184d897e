/** Web push: devices, the key that a browser subscribes with, the buttons of a notification, and the payload of a service worker. */
import { z } from 'zod';
import { ApprovalDecision } from '../approvals/approval.ts';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';

const area = 'notifications';
const errors = 'plain' as const;
const person = { area, errors, auth: ['owner', 'user', 'key'], scope: 'compute' } as const;
const base = '/api/v1/push';

/** How the last push to a device ended. `refused`: the push service did not take our key. */
export const DeviceOutcome = z.enum(['sent', 'refused', 'too_large', 'unreachable']);
export type DeviceOutcome = z.infer<typeof DeviceOutcome>;

export const PushDevice = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    createdAt: Time,
    lastSentAt: Time.nullable(),
    lastOutcome: DeviceOutcome.nullable(),
  })
  .meta({ id: 'PushDevice' });
export type PushDevice = z.infer<typeof PushDevice>;

/** Number of bytes in a base64url text of this length; the browser has no Buffer. */
const bytesOf = (text: string): number => Math.floor((text.replace(/=+$/, '').length * 3) / 4);
const key = (bytes: number, what: string) =>
  z
    .string()
    .regex(/^[A-Za-z0-9_-]+=*$/, 'base64url')
    .refine((text) => bytesOf(text) === bytes, `${what} of ${bytes} bytes in base64url`);

export const getPushKey = defineRoute({
  ...person,
  op: 'getPushKey',
  summary: 'Reads the public key that a browser subscribes with; 503 push_not_configured without one',
  method: 'GET',
  path: `${base}/key`,
  owner: 'collection',
  answers: { 200: z.strictObject({ publicKey: z.string() }) },
});

export const listPushDevices = defineRoute({
  ...person,
  op: 'listPushDevices',
  summary: 'Lists devices that receive pushes',
  method: 'GET',
  path: `${base}/subscriptions`,
  owner: 'collection',
  answers: { 200: z.strictObject({ devices: z.array(PushDevice) }) },
});

export const addPushDevice = defineRoute({
  ...person,
  op: 'addPushDevice',
  summary: 'Registers a browser’s subscription; the same endpoint stays the same device',
  method: 'POST',
  path: `${base}/subscriptions`,
  owner: 'collection',
  idempotent: true,
  body: z.strictObject({
    endpoint: z.url({ protocol: /^https?$/ }).max(2000),
    keys: z.strictObject({ p256dh: key(65, 'a key'), auth: key(16, 'a secret') }),
    name: z.string().min(1).max(100).optional().meta({ description: 'The person’s name for the device.' }),
    /** As in `PushSubscription.toJSON()`; not used. */
    expirationTime: z.number().nullable().optional(),
  }),
  answers: { 201: PushDevice },
});

export const removePushDevice = defineRoute({
  ...person,
  op: 'removePushDevice',
  summary: 'Removes a device',
  method: 'DELETE',
  path: `${base}/subscriptions/:id`,
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'device', list: 'GET /api/v1/push/subscriptions' },
  answers: { 204: z.undefined() },
});

export const testPush = defineRoute({
  ...person,
  op: 'testPush',
  summary: 'Sends a test to one device now and returns the outcome',
  method: 'POST',
  path: `${base}/test`,
  owner: { none: 'the device is looked for among the caller’s own' },
  body: z.strictObject({ deviceId: Id }),
  answers: {
    200: z.strictObject({
      outcome: z.enum([...DeviceOutcome.options, 'gone']).meta({ description: 'gone: the device is removed.' }),
      detail: z.string().nullable(),
    }),
  },
});

/** Random bytes in base64url: one in 32 begins with `-` or `_`, which no id does. */
const ActionToken = z.string().regex(/^[A-Za-z0-9_-]{1,200}$/, 'a token of base64url');

/** The token is good for one approval on one device until it is answered or expires. */
export const pushAction = defineRoute({
  op: 'pushAction',
  area,
  errors,
  summary:
    'Answers the one approval that the token of a notification’s button is for; afterwards 409 says who answered',
  method: 'POST',
  path: `${base}/actions/:token`,
  auth: ['public'],
  scope: null,
  params: z.strictObject({ token: ActionToken }),
  owner: { none: 'the token is the credential' },
  body: z.strictObject({ decision: ApprovalDecision }),
  answers: {
    200: z.strictObject({ approvalId: z.string(), title: z.string(), decision: ApprovalDecision }),
  },
});

export const pushRoutes = [getPushKey, listPushDevices, addPushDevice, removePushDevice, testPush, pushAction] as const;

/** The payload of a service worker, as JSON of at most 3,900 bytes. `tag` replaces the notification of the same matter. */
export const PushPayload = z
  .strictObject({
    type: z.enum(['event', 'message', 'test']),
    title: z.string(),
    body: z.string(),
    url: z.string().meta({ description: 'A path of this origin that a click opens.' }),
    tag: z.string(),
    data: z.strictObject({
      event: z.string(),
      botId: z.string().nullable(),
      threadId: z.string().nullable(),
      approvalId: z.string().optional(),
      approve: z
        .string()
        .optional()
        .meta({ description: 'Token for POST /api/v1/push/actions/:token, for both buttons.' }),
    }),
  })
  .meta({ id: 'PushPayload' });
export type PushPayload = z.infer<typeof PushPayload>;
