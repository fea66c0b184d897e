/**
 * The working tree of a task with a repository: made from its bundle before the command, compared with its commit after it. git runs in the sandbox of
 * the command: what the command leaves in `.git` may name programs, and they reach no further than the command did. Must not know the queue.
 */
import { join } from 'node:path';
import { maxChangesBytes, type TaskChanges, type TaskRepository } from '../../contracts/work-queue/task.ts';
import { readWithin } from '../../kit/files/within.ts';
import type { RunResult } from '../../kit/process/run-process.ts';
import type { TaskFiles } from './files.ts';
import { TaskFailure } from './outcome.ts';

/** Runs words in the task's sandbox, with its folder as the working folder. */
export type RunInside = (
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  input?: string,
) => Promise<RunResult>;

const bundleName = 'input.bundle';
const patchName = 'changes.patch';
const tree = 'tree';
/** Settings of the computer and of a person have no say. */
const ownSettings = { GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_GLOBAL: '/dev/null', GIT_TERMINAL_PROMPT: '0' };

const checkOutScript = `set -e
git init --quiet --initial-branch=gantry ${tree}
cd ${tree}
git fetch --quiet ../${bundleName} '+refs/*:refs/gantry/*'
git reset --quiet --hard "$1"
mkdir -p "./$2"
rm ../${bundleName}`;

const compareScript = `set -e
cd ${tree}
git add --all
exec git diff --cached --binary --full-index --no-color --no-ext-diff --no-textconv --no-renames "$1" > ../${patchName}`;

export async function checkOut(
  { bundle, commit, folder = '' }: TaskRepository,
  { at, files, run, signal }: { at: string; files: TaskFiles; run: RunInside; signal: AbortSignal },
): Promise<void> {
  await files.fetch(bundle, join(at, bundleName), signal);
  const done = await run(['/bin/sh', '-c', checkOutScript, 'sh', commit, folder], ownSettings);
  if (done.exitCode !== 0) throw failed('bad_repository', 'Its repository could not be checked out', done);
}

/** The words that run `words` in the working tree. */
export function inTree({ folder = '' }: TaskRepository, words: readonly string[]): string[] {
  return ['/bin/sh', '-c', 'cd "$0" && exec "$@"', `./${tree}/${folder}`, ...words];
}

/** What differs from the commit; what git ignores does not count. */
export async function changesSince(
  { commit }: TaskRepository,
  { at, name, files, run, signal }: { at: string; name: string; files: TaskFiles; run: RunInside; signal: AbortSignal },
): Promise<TaskChanges> {
  const done = await run(['/bin/sh', '-c', compareScript, 'sh', commit], ownSettings);
  if (done.exitCode !== 0) throw failed('bad_repository', 'The changes of its command could not be read', done);
  const found = readWithin(at, patchName, maxChangesBytes);
  if (found.is !== 'file') {
    const why = found.is === 'unfit' ? found.why : 'It is gone.';
    const message = `The changes of its command cannot be taken. ${why} A task may change at most ${maxChangesBytes} bytes.`;
    throw new TaskFailure({ code: 'changes_too_large', message });
  }
  const patch = found.bytes.length === 0 ? null : await files.keep(name, found.bytes, signal);
  return { commit, patch };
}

function failed(code: string, what: string, { exitCode, exitSignal, ended, last }: RunResult): TaskFailure {
  const how = ended === 'deadline' ? 'it took too long' : exitCode === null ? `${exitSignal}` : `exit code ${exitCode}`;
  return new TaskFailure({
    code: ended === 'aborted' ? 'ended' : code,
    message: `${what} (${how}). ${last.stderr.trim()}`,
  });
}
