/**
 * `request_approval`: a program asks its person in its own words, and gets the decision as a result. Nothing else happens. Must not know where the person
 * answers.
 */
import { z } from 'zod';
import { ApprovalRisk } from '../../contracts/approvals/approval.ts';
import { defineTool, type Tool } from './tool.ts';

export function createApprovalTool(): Tool {
  return defineTool({
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
    readOnly: false,
    annotations: { destructiveHint: false, openWorldHint: false },
    decides: true,
    plan: ({ title, summary, reason, risk = 'medium' }) => ({
      risk,
      title,
      summary,
      ...(reason === undefined ? {} : { reason }),
      run: async (_signal, _may, answer) => {
        if (answer?.kind !== 'approve' && answer?.kind !== 'reject') {
          return { decision: answer?.kind ?? 'withdrawn', note: null, by: null };
        }
        const { kind, note, by } = answer;
        return { decision: kind, note, by: { user: by.user, surface: by.surface } };
      },
    }),
    say: ({ decision, note }) => `${words[decision]}${note === null ? '' : ` Their note: ${note}`}`,
  });
}

const words = {
  approve: 'The person approved.',
  reject: 'The person said no. Do not do it, and do not try to achieve the same another way.',
  expired: 'Nobody answered in time. Do not do it.',
  withdrawn: 'The question was withdrawn. Do not do it.',
} as const;
