/** Notifications as a person sees them in the app, and the person's reachable devices. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Paging, QueryFlag, Time } from '../common/values.ts';
import { preferenceRoutes } from './preferences.ts';
import { pushRoutes } from './push.ts';
import { quietRoutes } from './quiet.ts';

const person = {
  area: 'notifications',
  errors: 'plain',
  auth: ['owner', 'user', 'key'],
  scope: 'compute',
  owner: 'collection',
} as const;

/**
 * The result of the push. `claimed`: being sent, or cut off during that. `sent`: a device took it. `off`: the person does not want this type.
 * `unreachable`: no device took it. `skipped`: too old, too many, or reported in another way.
 */
export const notificationOutcomes = ['claimed', 'sent', 'off', 'unreachable', 'skipped'] as const;
export const NotificationOutcome = z.enum(notificationOutcomes);
export type NotificationOutcome = z.infer<typeof NotificationOutcome>;

export const Notification = z
  .strictObject({
    id: z.string(),
    event: z.string(),
    title: z.string(),
    body: z.string(),
    url: z.string(),
    at: Time,
    readAt: Time.nullable(),
    outcome: NotificationOutcome,
    approvalId: z.string().optional().meta({ description: 'The approval that it is about.' }),
    mailId: z.string().optional().meta({ description: 'The mail that it is about.' }),
  })
  .meta({ id: 'Notification' });
export type Notification = z.infer<typeof Notification>;

export const listNotifications = defineRoute({
  ...person,
  op: 'listNotifications',
  summary: 'Lists notifications, newest first; event types that are turned off count as read',
  method: 'GET',
  path: '/api/v1/notifications',
  query: z.strictObject({ ...Paging, unread: QueryFlag }),
  answers: {
    200: z.strictObject({
      notifications: z.array(Notification),
      total: z.number().int().meta({ description: 'Number of all kept notifications, whatever the filter.' }),
      unread: z.number().int(),
      questions: z
        .strictObject({ total: z.number().int(), unread: z.number().int() })
        .meta({ description: 'How many of both are about approvals, which the inbox shows as cards.' }),
      nextCursor: z.string().nullable(),
    }),
  },
});

export const readNotifications = defineRoute({
  ...person,
  op: 'readNotifications',
  summary: 'Marks notifications as read: the given ones, or all; `undo` reverts what was marked at that time',
  method: 'POST',
  path: '/api/v1/notifications/read',
  body: z.union([
    z.strictObject({ ids: z.array(z.string().max(200)).min(1).max(200) }),
    z.strictObject({ all: z.literal(true) }),
    z.strictObject({ undo: Time.meta({ description: 'The `at` of an answer to `all`.' }) }),
  ]),
  answers: {
    200: z.strictObject({
      read: z.number().int(),
      unread: z.number().int(),
      at: Time.meta({ description: 'When they were marked.' }),
    }),
  },
});

export const getReach = defineRoute({
  ...person,
  op: 'getReach',
  summary: 'Reads what can reach the person now',
  method: 'GET',
  path: '/api/v1/notifications/reach',
  answers: {
    200: z.strictObject({
      pushConfigured: z.boolean(),
      working: z.boolean().meta({ description: 'Whether events are being turned into pushes now.' }),
      devices: z.number().int().meta({ description: 'How many devices receive pushes.' }),
      reachable: z.number().int().meta({ description: 'How many of these received the last push or had none yet.' }),
      lastOutcome: z
        .strictObject({ event: z.string(), outcome: NotificationOutcome, at: Time })
        .nullable()
        .meta({ description: 'The outcome of the newest event.' }),
      away: z
        .array(z.strictObject({ id: z.string(), name: z.string(), since: Time }))
        .meta({ description: 'Computers whose events cannot arrive now.' }),
    }),
  },
});

export const notificationRoutes = [
  listNotifications,
  readNotifications,
  getReach,
  ...preferenceRoutes,
  ...quietRoutes,
  ...pushRoutes,
] as const;
