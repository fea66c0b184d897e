/** How a computer forwards events to its home cloud. Must not know which types there are. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Time } from '../common/values.ts';

/** `id` names the event: the same one is stored once, however often it is sent. */
export const ForwardedEvent = z.strictObject({
  id: z.string().min(1).max(200),
  type: z.string().min(1).max(100),
  at: Time.meta({ description: 'When it happened, by the clock of the computer.' }),
  data: z.record(z.string(), z.unknown()),
});
export type ForwardedEvent = z.infer<typeof ForwardedEvent>;

export const forwardEvents = defineRoute({
  op: 'forwardEvents',
  area: 'link',
  errors: 'plain',
  summary: 'Forwards events from a computer; signed by its device. A bad event is refused without the others',
  method: 'POST',
  path: '/api/v1/runtime/events',
  auth: ['device'],
  scope: null,
  owner: { none: 'the events belong to the computer’s owner' },
  // Each is checked separately (`ForwardedEvent`): an invalid one must not block the others.
  body: z.strictObject({ events: z.array(z.unknown()).min(1).max(100) }).meta({
    description: 'Each {id, type, at, data}.',
  }),
  answers: {
    200: z.strictObject({
      accepted: z.number().int().meta({ description: 'How many were new; those already known are not counted.' }),
      refused: z.array(
        z.strictObject({
          index: z.number().int().meta({ description: 'Its place in the request, from 0.' }),
          id: z.string().nullable(),
          error: z.enum(['bad_event', 'unknown_event', 'bad_payload']),
          message: z.string(),
        }),
      ),
    }),
  },
});

export const eventRoutes = [forwardEvents] as const;
