/** The events that a person wants to be notified of. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { notifiableEventNames } from '../events/registry.ts';

export const Preferences = z
  .strictObject({
    pushConfigured: z
      .boolean()
      .meta({ description: 'false: no push keys are configured, so nothing is sent whatever the settings are.' }),
    preferences: z.array(
      z.strictObject({
        event: z.enum(notifiableEventNames),
        title: z.string(),
        description: z.string(),
        enabled: z.boolean(),
        default: z.boolean(),
      }),
    ),
  })
  .meta({ id: 'NotificationPreferences' });
export type Preferences = z.infer<typeof Preferences>;

const route = {
  area: 'notifications',
  errors: 'plain',
  path: '/api/v1/notifications/preferences',
  auth: ['owner', 'user', 'key'],
  scope: 'compute',
  owner: 'collection',
  answers: { 200: Preferences },
} as const;

export const getPreferences = defineRoute({
  ...route,
  op: 'getNotificationPreferences',
  summary: 'Lists the preferences: one row per event type, in the order of the registry',
  method: 'GET',
});

export const setPreferences = defineRoute({
  ...route,
  op: 'setNotificationPreferences',
  summary: 'Turns event types on (true), off (false) or to their default (null); all or nothing',
  method: 'PUT',
  // The handler checks it, with its own error codes: unknown_event and bad_value.
  body: z.unknown().meta({
    description: 'A map from event type to true, false or null, on its own or as {"preferences": {…}}.',
  }),
});

export const preferenceRoutes = [getPreferences, setPreferences] as const;
