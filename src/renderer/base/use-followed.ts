/** A call that may take long: how far it is, while it runs. Its answer is the call's own. */
import { useCallback, useState } from 'react';
import { followCall, progressHeader, type WorkProgress } from '../../contracts/common/work-progress.ts';
import type { Api } from './data/api.ts';
import { useServices } from './services.tsx';

type Headers = Readonly<Record<string, string>>;

/** Sends `call` with a key of its own, and asks under it. */
export function follow<T>(
  factory: Pick<Api['factory'], 'readProgress'>,
  call: (headers: Headers) => Promise<T>,
  onProgress: (progress: WorkProgress) => void,
): Promise<T> {
  const key = crypto.randomUUID();
  return followCall(() => call({ [progressHeader]: key }), {
    read: async () => (await factory.readProgress({ params: { progressKey: key } })).progress,
    onProgress,
    after(ms, effect) {
      const timer = setTimeout(effect, ms);
      return () => clearTimeout(timer);
    },
  });
}

export function useFollowed(): {
  readonly progress: WorkProgress | null;
  readonly follow: <T>(call: (headers: Headers) => Promise<T>) => Promise<T>;
} {
  const { api } = useServices();
  const [progress, setProgress] = useState<WorkProgress | null>(null);
  const followed = useCallback(
    <T>(call: (headers: Headers) => Promise<T>): Promise<T> =>
      follow(api.factory, call, setProgress).finally(() => setProgress(null)),
    [api],
  );
  return { progress, follow: followed };
}
