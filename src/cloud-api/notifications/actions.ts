/**
 * The rights of a notification's buttons: a token answers one approval and belongs to one device. It is stored only as a hash. The approval itself
 * has one winner, so for a used token the response names who decided. Owns `push_action`; reads whether the device still exists.
 */
import { hash } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';
import type { Clock } from '../../kit/clock/clock.ts';
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
