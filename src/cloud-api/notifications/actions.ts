/**
 * The rights of a notification's buttons: a token answers one approval and belongs to one device. It is stored only as a hash. The approval itself
 * has one winner, so for a used token the response names who decided. Owns `push_action`; reads whether the device still exists.
 */
import { hash } from 'node:crypto';
import type { ApprovalDecision } from '../../contracts/approvals/approval.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { pushAction } from '../../contracts/notifications/push.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { shutOut } from '../../kit/http/admission.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { newToken } from '../../kit/secrets/token-file.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';

interface PushAction {
  readonly userId: string;
  readonly approvalId: string;
  readonly deviceId: string;
}

export interface PushActions {
  /** A new token, valid until `expiresAt` (milliseconds since the epoch). */
  mint(action: PushAction & { readonly expiresAt: number }): Promise<string>;
  /** Throws `not_found` for an unknown token. */
  find(token: string): Promise<PushAction>;
}

/** For a while, an expired approval still says that it expired. */
const retentionAfterExpiryMs = 24 * 60 * 60_000;

export function createPushActions({ store, clock }: { store: SharedStore; clock: Clock }): PushActions {
  const hashOf = (token: string) => hash('sha256', token, 'base64url');
  return {
    mint: ({ userId, approvalId, deviceId, expiresAt }) => {
      const token = newToken();
      return store.write(function* (tx) {
        yield* tx.run('DELETE FROM push_action WHERE expires_at < ?', clock.now() - retentionAfterExpiryMs);
        const sql = `INSERT INTO push_action (token_hash, user_id, approval_id, device_id, expires_at)
          VALUES (?, ?, ?, ?, ?)`;
        yield* tx.run(sql, hashOf(token), userId, approvalId, deviceId, expiresAt);
        return token;
      });
    },
    async find(token) {
      // Tokens of a device that its person removed, such as a lost one, are void.
      const sql = `SELECT a.user_id AS "userId", a.approval_id AS "approvalId", a.device_id AS "deviceId"
        FROM push_action a JOIN push_device d ON d.id = a.device_id WHERE a.token_hash = ?`;
      const found = await store.get<PushAction>(sql, hashOf(token));
      if (found !== undefined) return found;
      throw new AppError('not_found', 'This button no longer works.', 'Open Gantry and answer there.', {
        wireCode: 'action_not_found',
      });
    },
  };
}

/** The buttons of a notification. The token is the credential, and it answers only its own approval. */
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
