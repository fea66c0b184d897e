/**
 * Routes of approvals. The cloud API owns them: the engine serves only the list, from its own open questions, and takes answers that the cloud has
 * signed.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id } from '../common/values.ts';
import { Waited, waitQuery } from '../common/waiting.ts';
import { AnswerOutcome, Approval, ApprovalAnswerBody, ApprovalDecision, ApprovalReport, Note } from './approval.ts';

const area = 'approvals';
const base = '/api/factory/approvals';

export const listApprovals = defineRoute({
  op: 'listApprovals',
  area,
  errors: 'factory',
  summary: 'Lists approvals, newest first; state=pending: those that can still be answered',
  method: 'GET',
  path: base,
  auth: ['owner', 'user', 'key', 'link'],
  scope: 'agents:read',
  owner: 'collection',
  query: z.strictObject({
    state: z.enum(['pending', 'resolved']).optional(),
    limit: z.coerce.number().int().min(1).max(200).optional(),
  }),
  answers: {
    200: z.strictObject({
      approvals: z.array(Approval),
      waits: z.string().optional().meta({
        description:
          'Set only by the engine, for the approvals that wait there: why they cannot be answered here, or that none wait.',
      }),
    }),
  },
});

export const resolveApproval = defineRoute({
  op: 'resolveApproval',
  area,
  errors: 'factory',
  summary: 'Answers an approval; the first answer wins. A conflict (409) returns the approval beside the error',
  method: 'POST',
  path: `${base}/:id/resolve`,
  auth: ['owner', 'user'],
  scope: null,
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'approval', list: 'gantry workspace approvals' },
  body: z.strictObject({ decision: ApprovalDecision, note: Note.optional(), dryRun: z.boolean().optional() }),
  answers: {
    200: z.union([
      Approval,
      z.strictObject({
        dryRun: z.literal(true),
        plan: z.strictObject({ id: z.string(), title: z.string(), decision: ApprovalDecision }),
      }),
    ]),
  },
});

export const waitForApproval = defineRoute({
  op: 'waitForApproval',
  area,
  errors: 'factory',
  summary: 'Answers when an approval was answered, withdrawn or has expired, or when the time is over',
  method: 'GET',
  path: `${base}/:id/wait`,
  auth: ['owner', 'user', 'key'],
  scope: 'agents:read',
  params: z.strictObject({ id: Id }),
  owner: { param: 'id', noun: 'approval', list: 'gantry workspace approvals' },
  query: z.strictObject(waitQuery),
  answers: { 200: Waited },
});

export const putApproval = defineRoute({
  op: 'putApproval',
  area: 'link',
  errors: 'plain',
  summary: 'Lets a runtime ask for an approval or withdraw it; signed by its device',
  method: 'PUT',
  path: '/api/v1/runtime/approvals/:id',
  auth: ['device'],
  scope: null,
  params: z.strictObject({ id: Id }),
  owner: { none: 'the runtime makes the id; one of another runtime answers as unknown' },
  body: ApprovalReport,
  // Escaped as JSON, a summary may take six times its size.
  bodyLimit: 2 * 1024 * 1024,
  answers: { 200: Approval },
});

export const answerApproval = defineRoute({
  op: 'answerApproval',
  area: 'link',
  errors: 'plain',
  summary: 'Delivers a person’s answer from the cloud to the computer that asked; signed for its device',
  method: 'POST',
  path: '/api/v1/runtime/approval-answers',
  auth: ['device'],
  scope: null,
  owner: { none: 'the signature is the computer’s own; an unknown id is gone' },
  body: ApprovalAnswerBody,
  answers: { 200: AnswerOutcome },
});

/** Served by the cloud API. */
export const approvalRoutes = [listApprovals, resolveApproval, waitForApproval, putApproval] as const;
/** Served by the engine. */
export const heldApprovalRoutes = [listApprovals, answerApproval] as const;
