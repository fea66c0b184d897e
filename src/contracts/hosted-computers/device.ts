/**
 * Routes of a hosted computer's engine beside those of every device, only on its socket: its API user sends decisions here. Must not know who may
 * decide.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id } from '../common/values.ts';

/** `gone`: no asker waits for it any more, and nothing was done. */
export const answerHostedApproval = defineRoute({
  area: 'computer-use',
  errors: 'computers',
  op: 'answerHostedApproval',
  summary: 'Delivers the answer to an approval of a call of this computer',
  method: 'POST',
  path: '/api/v1/computers/this-device/approvals/:approvalId',
  auth: ['link'],
  scope: null,
  owner: { none: 'a hosted computer has one caller, its cloud' },
  params: z.strictObject({ approvalId: Id }),
  body: z.strictObject({ decision: z.enum(['approve', 'deny']), by: z.string().min(1).max(200) }),
  answers: { 200: z.strictObject({ state: z.enum(['applied', 'gone']) }) },
});
