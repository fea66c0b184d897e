/** How a computer forwards events to its home cloud (gaps.md G). Must not know which types there are. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Time } from '../common/values.ts';

/** `id` names what happened: the same one is kept once, however often it is sent. */
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
  summary: 'A computer forwards what happened there; signed by its device. A bad event is refused alone',
  method: 'POST',
  path: '/api/v1/runtime/events',
  auth: ['device'],
  scope: null,
  owner: { none: 'the events are of whoever the computer belongs to' },
  body: z.strictObject({ events: z.array(ForwardedEvent).min(1).max(100) }),
  answers: {
    200: z.strictObject({
      accepted: z.number().int().meta({ description: 'Kept just now; what was known already is not counted.' }),
      refused: z.array(
        z.strictObject({
          id: z.string(),
          error: z.enum(['unknown_event', 'bad_payload', 'bad_time']),
          message: z.string(),
        }),
      ),
    }),
  },
});

export const eventRoutes = [forwardEvents] as const;
