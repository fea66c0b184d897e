/** `request_approval` as it is listed and answered, the same at the tool server and at the edge. Must not know who asks the person. */
import { z } from 'zod';
import { ApprovalRisk } from '../approvals/approval.ts';

export const requestApproval = {
  name: 'request_approval',
  title: 'Ask the person',
  description:
    'Asks your person to approve something that you will do yourself, and returns their decision. Say exactly what will be done in summary: they approve that and nothing else. Do it only if the decision is approve.',
  input: z.strictObject({
    title: z.string().min(1).max(160).describe('The question in a few words.'),
    summary: z.string().min(1).max(50_000).describe('Exactly what will be done, in full.'),
    reason: z.string().max(2000).optional().describe('Why, shown beside the summary.'),
    risk: ApprovalRisk.optional().describe('Default medium.'),
  }),
  output: z.strictObject({
    decision: z.enum(['approve', 'reject', 'expired', 'withdrawn']),
    note: z.string().nullable().describe('What the person wrote with the decision.'),
    by: z
      .strictObject({ user: z.string(), surface: z.string() })
      .nullable()
      .describe('Who decided, and where; null if nobody did.'),
  }),
  annotations: { destructiveHint: false, openWorldHint: false },
} as const;
