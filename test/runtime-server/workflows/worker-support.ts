/** A run's workspace in git, a real work queue behind HTTP, and real workers in the process of the test. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Task } from '../../../src/contracts/work-queue/task.ts';
import { commandRunner } from '../../../src/programs/worker/command.ts';
import { createTaskFiles } from '../../../src/programs/worker/files.ts';
import { findSandbox } from '../../../src/programs/worker/sandbox.ts';
import { startWorker, type WorkerOptions } from '../../../src/programs/worker/worker.ts';
import type { WorkQueue } from '../../../src/runtime-server/workflows/worker-steps/calls.ts';
import { type QueueOptions, startQueue } from '../../cloud-api/work-queue/support.ts';
import { engines } from '../../support/engines.ts';
import { openWorld, scratch, type World, type WorldOptions } from './support.ts';

const sandbox = await findSandbox({ wanted: true, network: false, path: process.env.PATH ?? '' });

export function git(cwd: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
  return execFileSync('git', ['-C', cwd, ...who, ...args], { encoding: 'utf8' }).replace(/\n$/, '');
}

/** A folder of a world whose workspace has these files committed. */
export function repository(files: Record<string, string> = { 'a.txt': 'one\n' }): string {
  const folder = scratch();
  const workspace = join(folder, 'workspace');
  mkdirSync(workspace, { recursive: true });
  git(workspace, 'init', '--quiet', '--initial-branch=main');
  for (const [name, content] of Object.entries(files)) writeFileSync(join(workspace, name), content);
  git(workspace, 'add', '--all');
  git(workspace, 'commit', '--quiet', '-m', 'first');
  return folder;
}

export async function openQueue(options: QueueOptions = {}) {
  const q = await startQueue(engines[0]!, { real: true, ...options });
  const url = `http://127.0.0.1:${q.server.port}`;
  const state = { away: false };
  /** As the home link calls, but for the signature. */
  const queue: WorkQueue = {
    problem: () => null,
    async call({ method, path, body, signal, idempotencyKey }) {
      if (state.away) throw new Error('the cable is pulled');
      const headers = { authorization: 'Bearer ada', 'content-type': 'application/json' };
      const answer = await fetch(url + path, {
        method,
        headers: { ...headers, ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }) },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
      });
      return { status: answer.status, body: (await answer.json()) as unknown };
    },
  };
  const files = createTaskFiles({ url, key: 'ada', random: () => 0 });
  const work = (more: Partial<WorkerOptions> = {}) => {
    const run = commandRunner(sandbox, () => {}, null, files);
    const worker = startWorker({ url, key: 'ada', workerId: 'w1', run, random: () => 0, ...more });
    onTestFinished(async () => {
      worker.abort();
      await worker.ended.catch(() => {});
    });
    return worker;
  };
  const tasks = async (): Promise<readonly Task[]> => (await q.send('GET', '')).tasks;
  return { ...q, url, queue, files, work, tasks, state };
}

export type StepQueue = Awaited<ReturnType<typeof openQueue>>;

export async function openWorkerWorld(
  q: StepQueue,
  options: WorldOptions = {},
): Promise<World & { workspace: string }> {
  const folder = options.folder ?? repository();
  const world = await openWorld({ queue: q.queue, ...options, folder });
  return { ...world, workspace: join(folder, 'workspace') };
}
