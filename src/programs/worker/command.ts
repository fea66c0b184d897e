/**
 * Runs a task as a command: `payload.command`, a list of words or one line for a shell, in a private folder that is removed afterwards, or in a
 * container of the task's image. Must not know the queue.
 */
import { CommandPayload, maxSeconds } from '../../contracts/work-queue/task.ts';
import { type RunResult, runProcess } from '../../kit/process/run-process.ts';
import type { Containers } from './containers.ts';
import type { TaskFiles } from './files.ts';
import { TaskFailure } from './outcome.ts';
import { changesSince, checkOut, inTree, type RunInside } from './repository.ts';
import type { Sandbox } from './sandbox.ts';
import { makeScratch, removeScratch } from './scratch.ts';
import type { LeasedTask } from './worker.ts';

const defaultSeconds = 3600;
/** Of each stream; what is more is dropped, and said so. */
const outputCap = 64 * 1024;
/** Characters of each stream in the reason of a failure. */
const shownOfEach = 2_000;

const wanted: Readonly<Record<string, string>> = {
  command: 'a shell command line, or a list of words',
  timeout_seconds: `a number of seconds above 0, at most ${maxSeconds}`,
  stdin: 'a string',
  repository: 'a bundle, a commit and a folder',
};

/**
 * `tellLeft` hears a sentence about each folder that could not be removed. A task with an image runs in `containers` or not at all. Without `files`
 * there are no tasks with a repository.
 */
export function commandRunner(
  sandbox: Sandbox,
  tellLeft: (why: string) => void,
  containers: Containers | null = null,
  files: TaskFiles | null = null,
): (leased: LeasedTask) => Promise<unknown> {
  return async ({ task, lease, signal }) => {
    const payload = CommandPayload.safeParse(task.payload);
    if (!payload.success) throw failure('bad_payload', faultOf(payload.error.issues[0]?.path));
    const image = task.sandbox_image ?? containers?.usual ?? null;
    if (image === null && containers?.usual === null) {
      throw failure('no_image', 'This worker runs tasks only in images, and this one names none.');
    }
    if (image !== null && containers === null) {
      throw failure('no_such_image', `This worker runs no images, so it cannot run ${image}.`);
    }
    const { command, timeout_seconds: seconds = defaultSeconds, stdin, repository } = payload.data;
    if (repository !== undefined && (image !== null || files === null)) {
      throw failure('no_repository', 'This worker checks out repositories only for tasks without an image.');
    }
    const words = typeof command === 'string' ? ['/bin/sh', '-c', command] : command;
    const env = {
      ...task.env,
      GANTRY_TASK_ID: task.id,
      GANTRY_TASK_ATTEMPT: String(lease.attempt),
      // For whatever the command changes: a holder that is late is found out by it.
      GANTRY_TASK_FENCE: String(lease.fence),
    };
    if (Object.entries(env).flat().some(endsEarly)) {
      throw failure('bad_env', 'A name or a value in `env` has a NUL character, which an environment cannot contain.');
    }
    const began = performance.now();
    if (image !== null && containers !== null) {
      const done = await containers.run({
        ...{ image, taskId: task.id, fence: lease.fence, command: words, shell: typeof command === 'string', env },
        ...{ input: stdin, deadlineMs: seconds * 1000, outputCap, signal },
      });
      if (done.outOfMemory && done.exitCode !== 0) {
        throw failure('out_of_memory', `It used more memory than this worker allows.${lastWords(done.last)}`);
      }
      return resultOf(done, Math.round(performance.now() - began), seconds);
    }
    const folder = await makeScratch(sandbox);
    const runInside: RunInside = (inside, itsEnv, input) =>
      runProcess({
        ...sandbox.wrap(inside, folder, itsEnv),
        cwd: folder,
        ...(input === undefined ? {} : { input }),
        deadlineMs: seconds * 1000,
        outputCap,
        signal,
      });
    try {
      if (repository === undefined || files === null) {
        const done = await runInside(words, env, stdin);
        return resultOf(done, Math.round(performance.now() - began), seconds);
      }
      const place = { at: folder, files, run: runInside, signal };
      await checkOut(repository, place);
      const done = await runInside(inTree(repository, words), env, stdin);
      const result = resultOf(done, Math.round(performance.now() - began), seconds);
      return {
        ...result,
        changes: await changesSince(repository, { ...place, name: `${task.id}-${lease.fence}.patch` }),
      };
    } finally {
      const left = await removeScratch(folder);
      if (left !== null) tellLeft(left);
    }
  };
}

/** The first thing that is wrong, by the field's name. */
function faultOf(path: readonly PropertyKey[] = []): string {
  const [field = 'command'] = path.map(String);
  return `\`${field}\` of the payload is missing or wrong: it must be ${wanted[field] ?? wanted.command}.`;
}

/** To a program it would be over there, and what follows would be something else. */
function endsEarly(text: string): boolean {
  return text.includes('\0');
}

function resultOf(done: RunResult, durationMs: number, seconds: number): Record<string, unknown> {
  const { exitCode, exitSignal, stdout, stderr, truncated, ended } = done;
  const words = lastWords(done.last);
  if (ended === 'deadline') throw failure('timeout', `It took longer than ${seconds} s.${words}`);
  if (ended === 'aborted') throw failure('ended', 'It was ended.');
  if (exitCode === 0) return { exit_code: 0, stdout, stderr, truncated, duration_ms: durationMs };
  if (exitCode === null) throw failure('killed', `It was killed by ${exitSignal}.${words}`);
  throw failure(`exit_${exitCode}`, `It ended with exit code ${exitCode}.${words}`);
}

/** Nothing else is kept of a task that failed, and many a program says what is wrong on its output. */
function lastWords({ stdout, stderr }: RunResult['last']): string {
  const [output, errors] = [stdout, stderr].map((text) => text.trim().slice(-shownOfEach));
  return `${errors === '' ? '' : ` Its last error output: ${errors}`}${output === '' ? '' : `\nIts last output: ${output}`}`;
}

function failure(code: string, message: string): TaskFailure {
  return new TaskFailure({ code, message });
}
