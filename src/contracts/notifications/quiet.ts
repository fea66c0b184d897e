/** When a person is not pushed to, which bots they do not want to hear of, and what they learn afterwards. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';

const ClockTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'a time such as 22:00');

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

export const QuietHours = z
  .strictObject({
    from: ClockTime,
    to: ClockTime.meta({ description: 'On the next day if it is earlier than `from`.' }),
    timezone: z.string().max(100).refine(isTimeZone, 'a time zone such as Europe/Berlin'),
  })
  .refine(({ from, to }) => from !== to, 'from and to must differ');
export type QuietHours = z.infer<typeof QuietHours>;

export const Quiet = z
  .strictObject({
    quietHours: QuietHours.nullable().meta({ description: 'null: none.' }),
    questions: z
      .boolean()
      .meta({ description: 'Whether approvals and bots that need you are pushed in quiet hours all the same.' }),
    digest: z
      .boolean()
      .meta({ description: 'Whether one push after quiet hours says how many notifications were held back.' }),
    mutedBots: z.array(z.string().max(200)).meta({ description: 'Ids of bots that nothing is pushed about.' }),
  })
  .meta({ id: 'NotificationQuiet' });
export type Quiet = z.infer<typeof Quiet>;

const route = {
  area: 'notifications',
  errors: 'plain',
  path: '/api/v1/notifications/quiet',
  auth: ['owner', 'user', 'key'],
  scope: 'compute',
  owner: 'collection',
  answers: { 200: Quiet },
} as const;

export const getQuiet = defineRoute({
  ...route,
  op: 'getNotificationQuiet',
  summary: 'Reads quiet hours, the digest after them, and muted bots',
  method: 'GET',
});

export const setQuiet = defineRoute({
  ...route,
  op: 'setNotificationQuiet',
  summary:
    'Changes quiet hours, the digest and muted bots; fields left out stay the same. The list in the app is unaffected',
  method: 'PUT',
  body: z.strictObject({
    quietHours: QuietHours.nullable().optional(),
    questions: z.boolean().optional(),
    digest: z.boolean().optional(),
    mutedBots: z.array(z.string().min(1).max(200)).max(500).optional(),
  }),
});

export const quietRoutes = [getQuiet, setQuiet] as const;
