/**
 * Files of tasks as a worker fetches and stores them: part by part, tried again while the queue is away and the lease lasts. Must not know what a file
 * means.
 */
import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, type Fetch } from '../../client/client.ts';
import { AppError } from '../../contracts/common/errors.ts';
import { filePartBytes, type TaskFile, taskFileRoutes } from '../../contracts/work-queue/files.ts';
import { TaskFailure } from './outcome.ts';
import { backoff, isPassing, patienceMs, sentence } from './queue-calls.ts';

export interface TaskFiles {
  /** Writes it to a new file `to`. Throws a `TaskFailure` where it is gone or not what its task says. */
  fetch(file: TaskFile, to: string, signal: AbortSignal): Promise<void>;
  keep(name: string, bytes: Buffer, signal: AbortSignal): Promise<TaskFile>;
}

export function createTaskFiles({
  url,
  key,
  random,
  fetch,
}: {
  readonly url: string;
  readonly key: string;
  readonly random: () => number;
  readonly fetch?: Fetch;
}): TaskFiles {
  const client = createClient(taskFileRoutes, { baseUrl: url, token: key, fetch, where: url });

  /** A queue that is away comes back, or the lease runs out. */
  async function until<T>(signal: AbortSignal, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (let failures = 0; ; failures += 1) {
      signal.throwIfAborted();
      try {
        return await call(AbortSignal.any([signal, AbortSignal.timeout(patienceMs.telling)]));
      } catch (error) {
        if (error instanceof AppError && !isPassing(error)) {
          throw new TaskFailure({ code: 'file_unavailable', message: sentence(error) });
        }
        await pause(backoff(failures, random), undefined, { signal });
      }
    }
  }

  return {
    async fetch({ name, size, sha256 }, to, signal) {
      const parts: Buffer[] = [];
      for (let part = 0; part * filePartBytes < size; part += 1) {
        const { data } = await until(signal, (one) =>
          client.getTaskFilePart({ params: { name, part } }, { signal: one }),
        );
        parts.push(Buffer.from(data, 'base64'));
      }
      const bytes = Buffer.concat(parts);
      if (bytes.length !== size || hash('sha256', bytes, 'hex') !== sha256) {
        const message = `The file ${name} is not the one that the task names: it has ${bytes.length} of ${size} bytes, or other content.`;
        throw new TaskFailure({ code: 'file_unavailable', message });
      }
      const file = await open(to, 'wx', 0o600);
      try {
        await file.writeFile(bytes);
      } finally {
        await file.close();
      }
    },
    async keep(name, bytes, signal) {
      for (let part = 0; part * filePartBytes < bytes.length; part += 1) {
        const data = bytes.subarray(part * filePartBytes, (part + 1) * filePartBytes).toString('base64');
        await until(signal, (one) =>
          client.putTaskFilePart({ params: { name, part }, body: { data } }, { signal: one }),
        );
      }
      return { name, size: bytes.length, sha256: hash('sha256', bytes, 'hex') };
    },
  };
}
