/**
 * Calls of this computer to the work queue of its cloud, each tried until the cloud answers. Reads only the fields that it needs: the cloud may be of
 * another version. Must not know steps.
 */
import { hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { AppError } from '../../../contracts/common/errors.ts';
import type { Route } from '../../../contracts/common/route.ts';
import {
  filePartBytes,
  getTaskFilePart,
  putTaskFilePart,
  removeTaskFile,
  type TaskFile,
} from '../../../contracts/work-queue/files.ts';
import { createTask, getQueueStats, getTask, stopTask, waitForTask } from '../../../contracts/work-queue/routes.ts';
import { type NewTask, TaskError, TaskStatus } from '../../../contracts/work-queue/task.ts';
import { pause, type Timers } from '../../../kit/clock/timers.ts';
import type { SignedAnswer, SignedCall } from '../../../kit/signing/signed-call.ts';

/** The work queue of this computer's cloud. */
export interface WorkQueue {
  /** Why no step can go there, as a sentence; null: it can. */
  problem(): string | null;
  /** Throws when the cloud cannot be reached. */
  call(request: SignedCall): Promise<SignedAnswer>;
}

const SeenTask = z.object({
  id: z.string(),
  status: TaskStatus,
  attempts: z.number(),
  last_worker_id: z.string().nullable(),
  waiting_for: z.string().nullish(),
  result: z.unknown(),
  error: TaskError.nullable(),
});
export type SeenTask = z.infer<typeof SeenTask>;

const callMs = 12_000;
const firstPauseMs = 500;
const maxPauseMs = 15_000;

/** Each call throws `refused` or `not_found` when the cloud refuses it, and the signal's reason once that is aborted. */
export function createQueueCalls({ queue, timers }: { readonly queue: WorkQueue; readonly timers: Timers }) {
  /** `away` hears why the cloud cannot be asked. */
  async function ask<T>(
    { method, path }: Route,
    { params = {}, body = {}, key, answer }: Asking<T>,
    signal: AbortSignal,
    away: (why: string) => void = () => {},
  ): Promise<T> {
    const place = path.replace(/:(\w+)/g, (_, name: string) => String(params[name]));
    for (let failures = 0; ; failures += 1) {
      signal.throwIfAborted();
      const one = AbortSignal.any([signal, AbortSignal.timeout(callMs)]);
      const request = { method, path: place, body: method === 'GET' ? undefined : body, signal: one };
      const reply = await queue
        .call({ ...request, ...(key === undefined ? {} : { idempotencyKey: key }) })
        .catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
      const read = typeof reply === 'string' ? null : answer.safeParse(reply.body);
      if (typeof reply !== 'string' && reply.status < 300 && read?.success === true) return read.data;
      if (typeof reply !== 'string' && isFinal(reply.status)) throw refusal(reply);
      signal.throwIfAborted();
      away(typeof reply === 'string' ? reply : `it answered ${reply.status}`);
      await pause(timers, Math.min(maxPauseMs, firstPauseMs * 2 ** failures), signal);
    }
  }

  const Named = z.object({ task: SeenTask });

  return {
    async add(key: string, task: NewTask, signal: AbortSignal, away: (why: string) => void): Promise<SeenTask> {
      return (await ask(createTask, { body: task, key, answer: Named }, signal, away)).task;
    },
    async find(id: string, signal: AbortSignal, away: (why: string) => void): Promise<SeenTask> {
      return (await ask(getTask, { params: { id }, answer: Named }, signal, away)).task;
    },
    /** Resolves when the task may have ended, at the latest after some seconds. */
    async waitForEnd(id: string, signal: AbortSignal): Promise<void> {
      await ask(waitForTask, { params: { id }, answer: z.object({ outcome: z.string() }) }, signal);
    },
    /** One that is at work does not poll. */
    async hasWorkers(signal: AbortSignal): Promise<boolean> {
      const answer = z.object({ workers_polling: z.number(), leased: z.number(), running: z.number() });
      const { workers_polling: polling, leased, running } = await ask(getQueueStats, { answer }, signal);
      return polling + leased + running > 0;
    },
    /** One that has ended already stays as it is. */
    async stop(id: string, signal: AbortSignal, away: (why: string) => void): Promise<void> {
      await ask(stopTask, { params: { id }, answer: z.object({ task: SeenTask }) }, signal, away).catch(
        (error: unknown) => {
          if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
        },
      );
    },
    async store(name: string, file: string, signal: AbortSignal, away: (why: string) => void): Promise<void> {
      const handle = await open(file, 'r');
      try {
        const chunk = Buffer.alloc(filePartBytes);
        for (let part = 0; ; part += 1) {
          const { bytesRead } = await handle.read(chunk, 0, filePartBytes, part * filePartBytes);
          if (bytesRead === 0) return;
          const body = { data: chunk.subarray(0, bytesRead).toString('base64') };
          await ask(
            putTaskFilePart,
            { params: { name, part }, body, answer: z.object({ part: z.number() }) },
            signal,
            away,
          );
        }
      } finally {
        await handle.close();
      }
    },
    /** Parts of a file whose content is what its description says. */
    async fetch({ name, size, sha256 }: TaskFile, signal: AbortSignal, away: (why: string) => void): Promise<Buffer> {
      const parts: Buffer[] = [];
      for (let part = 0; part * filePartBytes < size; part += 1) {
        const answer = z.object({ data: z.string() });
        const { data } = await ask(getTaskFilePart, { params: { name, part }, answer }, signal, away);
        parts.push(Buffer.from(data, 'base64'));
      }
      const bytes = Buffer.concat(parts);
      if (bytes.length === size && hash('sha256', bytes, 'hex') === sha256) return bytes;
      throw new AppError('refused', `The file ${name} is not the one that the worker described.`, 'Retry the step.', {
        status: 409,
      });
    },
    async remove(name: string, signal: AbortSignal): Promise<void> {
      await ask(removeTaskFile, { params: { name }, answer: z.object({ removed: z.boolean() }) }, signal);
    },
  };
}

interface Asking<T> {
  readonly params?: Readonly<Record<string, string | number>>;
  readonly body?: unknown;
  /** `Idempotency-Key`. */
  readonly key?: string;
  readonly answer: z.ZodType<T>;
}

/** 401: the clock is off, or the pairing is being changed. 408, 429 and faults pass. */
const isFinal = (status: number) => status >= 400 && status < 500 && ![401, 408, 429].includes(status);

function refusal({ status, body }: SignedAnswer): AppError {
  const { message } = (body ?? {}) as { message?: unknown };
  const fact = `The work queue refused it (${status})${typeof message === 'string' ? `: ${message}` : '.'}`;
  return status === 404
    ? new AppError('not_found', fact, 'Retry the step.')
    : new AppError('refused', fact, 'Mend that, then retry the step.', { status: 409 });
}
