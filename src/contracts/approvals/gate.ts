/**
 * The gate "may I?". A bot asks it before an action that no tool of Gantry performs. The policy answers at once, or a person does. Must not know the
 * policy.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';

/** How long a call that needs a person waits for the answer; asking again keeps waiting. Seconds. */
export const maxGateWaitSeconds = 50;

const Word = z.string().min(1).max(200);

export const GateAction = z.strictObject({
  tool: Word.meta({ description: 'For example shell, file.write or tracker.close_ticket.' }),
  member: Word.optional(),
  path: z.string().min(1).max(2000).optional(),
  host: Word.optional(),
  command: z.string().min(1).max(100_000).optional(),
  reason: z.string().max(2000).optional().meta({ description: 'Why; shown to the person who decides.' }),
});

export const checkGate = defineRoute({
  op: 'checkGate',
  area: 'factory',
  errors: 'factory',
  summary: 'May I do this? The policy answers at once; where it asks, a person answers, once and only for this action',
  method: 'POST',
  path: '/api/factory/gate',
  auth: ['owner', 'user', 'link', 'key', 'bot'],
  scope: 'bots:act',
  owner: { none: 'the caller asks for itself' },
  body: GateAction.extend({
    waitSeconds: z
      .number()
      .int()
      .min(0)
      .max(maxGateWaitSeconds)
      .optional()
      .meta({
        description: `How long to wait for a person; default ${maxGateWaitSeconds}. Ask again to keep waiting.`,
      }),
    dryRun: z.boolean().optional().meta({ description: 'Returns only what the policy says; nobody is asked.' }),
  }),
  answers: {
    200: z.strictObject({
      verdict: z.enum(['allow', 'ask', 'deny']).meta({ description: '`ask`: nobody has answered yet.' }),
      rule: z.string().meta({ description: 'What decided: a rule, a default, or the person.' }),
      approvalId: z.string().nullable(),
      note: z.string().nullable().meta({ description: 'What the person wrote.' }),
    }),
  },
});
