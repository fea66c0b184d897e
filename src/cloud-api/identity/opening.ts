/** One-time addresses: how a browser gets in on the owner's own computer (security.md 1.4.9). Codes are kept by hash. */
import { iso } from '../../kit/clock/clock.ts';
import { newToken } from '../../kit/secrets/token-file.ts';
import type { Store } from '../../kit/store/store.ts';
import { codeLifeMs, digestOf, localPath } from './model.ts';

export interface Opening {
  /** A fresh one-time address and when it ends (RFC 3339). */
  create(next?: string): Promise<{ url: string; expiresAt: string }>;
  /** Takes the code out of the world, then says whether it was still good: of many at once, one wins. */
  take(code: string): Promise<boolean>;
}

export interface OpeningDeps {
  readonly store: Store;
  readonly clock: { now(): number };
  readonly origin: string;
  readonly random?: (bytes: number) => Buffer;
}

export function createOpening({ store, clock, origin, random }: OpeningDeps): Opening {
  return {
    async create(next) {
      const code = newToken(random);
      const now = clock.now();
      const expiresAt = now + codeLifeMs;
      await store.write((tx) => {
        tx.run('DELETE FROM open_code WHERE expires_at < ?', now);
        tx.run('INSERT INTO open_code (digest, expires_at) VALUES (?, ?)', digestOf(code), expiresAt);
      });
      const path = localPath(next);
      const after = path === '/' ? '' : `&next=${encodeURIComponent(path)}`;
      return { url: `${origin}/open?t=${code}${after}`, expiresAt: iso(expiresAt) };
    },
    take: (code) =>
      store.write((tx) => {
        const digest = digestOf(code);
        const row = tx.get<{ expires_at: number }>('SELECT expires_at FROM open_code WHERE digest = ?', digest);
        const taken = tx.run('DELETE FROM open_code WHERE digest = ?', digest).changes === 1;
        return taken && row !== undefined && row.expires_at > clock.now();
      }),
  };
}
