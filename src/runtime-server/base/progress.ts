/**
 * How far calls are that take long, for their callers to ask. In memory only: an entry ends with its call. Must not know what the calls do.
 */
import { AppError } from '../../contracts/common/errors.ts';
import {
  type OnProgress,
  ProgressKey,
  progressHeader,
  type WorkProgress,
} from '../../contracts/common/work-progress.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { Principal } from '../../kit/http/types.ts';

interface Asked {
  readonly principal: Principal;
  readonly request: { readonly headers: Readonly<Record<string, string | readonly string[] | undefined>> };
}

export interface ProgressBook {
  /** Keeps what `work` reports for its caller, as long as it runs. Undefined where the caller named no key. */
  follow<T>(asked: Asked, work: (onProgress: OnProgress | undefined) => Promise<T>): Promise<T>;
  read(principal: Principal, key: string): WorkProgress | null;
}

export function createProgressBook({ clock }: { readonly clock: Clock }): ProgressBook {
  const entries = new Map<string, WorkProgress | null>();
  const nameOf = ({ userId, agentId = '' }: Principal, key: string) => `${userId}\n${agentId}\n${key}`;

  return {
    async follow({ principal, request }, work) {
      const key = request.headers[progressHeader];
      if (key === undefined) return work(undefined);
      if (!ProgressKey.safeParse(key).success) {
        throw new AppError('usage', 'Gantry-Progress is not a key.', 'Send 8 to 64 letters, digits, _ or -.');
      }
      const name = nameOf(principal, String(key));
      if (entries.has(name)) {
        throw new AppError('usage', 'A call with this Gantry-Progress is under way.', 'Use a new key for each call.');
      }
      const startedAt = iso(clock.now());
      entries.set(name, null);
      try {
        return await work((report) => {
          // What still reports after the call has ended has nobody to tell.
          if (entries.has(name)) entries.set(name, { ...report, startedAt });
        });
      } finally {
        entries.delete(name);
      }
    },
    read: (principal, key) => entries.get(nameOf(principal, key)) ?? null,
  };
}
