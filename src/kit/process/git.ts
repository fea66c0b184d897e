/**
 * git as Gantry itself uses it: argv only, with a deadline, and without the hooks, prompts and signatures that a person's own call
 * would bring up. Must not know bots or worktrees.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { plainEnvironment, type RunResult, runProcess } from './run-process.ts';

export interface GitOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Bytes kept of what it prints; more is dropped and `truncated` set. */
  readonly outputCap?: number;
}

export interface Git {
  /** Whatever its exit code. */
  try(cwd: string, args: readonly string[], options?: GitOptions): Promise<RunResult>;
  /** What it printed, without the last line feed; a failure is `refused` with the last line of its complaint. */
  run(cwd: string, args: readonly string[], options?: GitOptions): Promise<string>;
}

const deadlineMs = 60_000;
/** A bot must not be able to have us run something by writing it into the repository; nobody is there to type a passphrase. */
const settings = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'safe.bareRepository=explicit',
  'commit.gpgSign=false',
  'gc.auto=0',
];

export function createGit(): Git {
  const base = { ...plainEnvironment(), LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0', GIT_OPTIONAL_LOCKS: '0' };
  const attempt: Git['try'] = (cwd, args, options = {}) =>
    runProcess({
      command: ['git', '-C', cwd, ...settings.flatMap((one) => ['-c', one]), ...args],
      env: { ...base, ...options.env },
      deadlineMs,
      ...(options.outputCap === undefined ? {} : { outputCap: options.outputCap }),
    });
  return {
    try: attempt,
    async run(cwd, args, options) {
      const result = await attempt(cwd, args, options);
      if (result.exitCode === 0) return result.stdout.replace(/\n$/, '');
      throw new AppError(
        'refused',
        `git ${args[0] ?? ''} in ${cwd} failed: ${complaint(result)}`,
        'Nothing was deleted. Mend it there, then try again.',
        { status: 409 },
      );
    },
  };
}

export function complaint(result: RunResult): string {
  if (result.ended !== null) return 'it took too long and was ended.';
  const lines = `${result.stderr}\n${result.stdout}`.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').at(-1) ?? 'it gave no reason.';
}
