/** Waiting for the state of a thing: the query and the answer of each route that holds a call until the state is there. Must not know any area. */
import { z } from 'zod';

/** A call is held open for this long at most. */
export const maxHeldSeconds = 30;

export const waitQuery = {
  for: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .meta({ description: 'States to wait for, separated by commas; default: the state in which it has ended well.' }),
  seconds: z.coerce
    .number()
    .min(0)
    .max(maxHeldSeconds)
    .optional()
    .meta({ description: `How long the call is held; default and at most ${maxHeldSeconds}.` }),
} as const;

export const waitOutcomes = ['met', 'needs_you', 'ended', 'waiting'] as const;
export type WaitOutcome = (typeof waitOutcomes)[number];

export const Waited = z
  .strictObject({
    kind: z.enum(['bot', 'step', 'run', 'task', 'approval']),
    id: z.string(),
    title: z.string().meta({ description: 'Address of a bot, otherwise its title.' }),
    state: z.string(),
    cause: z.string().nullable().meta({ description: 'Cause of the state of a step, or error code of a task.' }),
    reason: z.string().nullable().meta({ description: 'The state in words, where more is known.' }),
    outcome: z.enum(waitOutcomes).meta({
      description:
        'met: it has a state that was waited for. needs_you: it needs its person. ended: it has ended in another state. waiting: the time is over; ask again.',
    }),
  })
  .meta({ id: 'Waited' });
export type Waited = z.infer<typeof Waited>;
