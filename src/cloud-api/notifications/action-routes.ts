/** The buttons of a notification. The token is the credential, and it answers only its own approval. */
import type { ApprovalDecision } from '../../contracts/approvals/approval.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { pushAction } from '../../contracts/notifications/push.ts';
import { shutOut } from '../../kit/http/admission.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { PushActions } from './actions.ts';

export interface ApprovalResolver {
  /** Throws `refused` 409 that names who answered, or 410 if it has expired. */
  resolve(
    id: string,
    decision: {
      readonly decision: ApprovalDecision;
      readonly note: null;
      readonly userId: string;
      readonly surface: string;
    },
  ): Promise<{ readonly id: string; readonly title: string }>;
}

const surface = 'push';

export function actionRoutes({
  actions,
  approvals,
  admits,
}: {
  readonly actions: PushActions;
  readonly approvals: ApprovalResolver;
  /** Whether this person may act at all; default: everybody. */
  readonly admits?: ((userId: string) => boolean | Promise<boolean>) | undefined;
}): BoundRoute[] {
  return [
    bind(pushAction, async ({ params, body: { decision } }) => {
      const { approvalId, userId } = await actions.find(params.token);
      if (!((await admits?.(userId)) ?? true)) throw shutOut();
      try {
        const { title } = await approvals.resolve(approvalId, { decision, note: null, userId, surface });
        return { body: { approvalId, title, decision } };
      } catch (error) {
        throw withoutApproval(error);
      }
    }),
  ];
}

/** Says who answered and when; the whole question is shown only to someone signed in. */
function withoutApproval(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { extra: _, ...options } = error.options;
  return new AppError(error.code, error.fact, error.action, options);
}
