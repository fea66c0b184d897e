/**
 * `request_approval`: a program asks its person in its own words, and gets the decision as a result. Nothing else happens. Must not know where the person
 * answers.
 */
import { requestApproval } from '../../contracts/tool-server/request-approval.ts';
import { defineTool, type Tool } from './tool.ts';

export function createApprovalTool(): Tool {
  return defineTool({
    ...requestApproval,
    readOnly: false,
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
