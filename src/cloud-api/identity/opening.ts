/** One-time addresses: how a browser signs in on the owner's own computer. Codes are stored only as hashes. */
import { iso } from '../../kit/clock/clock.ts';
import { newToken } from '../../kit/secrets/token-file.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { codeLifeMs, digestOf, localPath } from './model.ts';

export interface Opening {
  /** A fresh one-time address and when it ends (RFC 3339). */
  create(next?: string): Promise<{ url: string; expiresAt: string }>;
  /** Consumes the code, then says whether it was still valid: of many at once, one wins. */
  take(code: string): Promise<boolean>;
}

export function createOpening({
  store,
  clock,
  origin,
  random,
}: {
  readonly store: SharedStore;
  readonly clock: { now(): number };
  readonly origin: string;
  readonly random?: (bytes: number) => Buffer;
}): Opening {
  return {
    async create(next) {
      const code = newToken(random);
      const now = clock.now();
      const expiresAt = now + codeLifeMs;
      await store.write(function* (tx) {
        yield* tx.run('DELETE FROM open_code WHERE expires_at < ?', now);
        yield* tx.run('INSERT INTO open_code (digest, expires_at) VALUES (?, ?)', digestOf(code), expiresAt);
      });
      const path = localPath(next);
      const after = path === '/' ? '' : `&next=${encodeURIComponent(path)}`;
      return { url: `${origin}/open?t=${code}${after}`, expiresAt: iso(expiresAt) };
    },
    take: (code) =>
      store.write(function* (tx) {
        const digest = digestOf(code);
        const row = yield* tx.get<{ expires_at: number }>('SELECT expires_at FROM open_code WHERE digest = ?', digest);
        const { changes } = yield* tx.run('DELETE FROM open_code WHERE digest = ?', digest);
        return changes === 1 && row !== undefined && row.expires_at > clock.now();
      }),
  };
}
