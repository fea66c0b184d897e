/**
 * git as Gantry itself uses it: argv only, with a deadline, without the hooks, prompts and signatures of a person's own call, and without the
 * programs that the repository's own settings name. Must not know bots or worktrees.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { listSettings, replacePrograms } from './git-programs.ts';
import { plainEnvironment, type RunResult, runProcess } from './run-process.ts';

interface GitOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Bytes kept of its output; more is dropped and `truncated` set. */
  readonly outputCap?: number;
  readonly input?: string;
}

export interface Git {
  /** Whatever its exit code. */
  try(cwd: string, args: readonly string[], options?: GitOptions): Promise<RunResult>;
  /** Its output without the last line feed; a failure is `refused` with the last line of its complaint. */
  run(cwd: string, args: readonly string[], options?: GitOptions): Promise<string>;
  /**
   * Stages all changed, added and removed files; with `trackedOnly` no files that git does not track. Not `git add --all`, which looks for changes inside
   * nested repositories by their own settings.
   */
  addAll(cwd: string, options?: GitOptions & { readonly trackedOnly?: boolean }): Promise<void>;
}

const deadlineMs = 60_000;
/** A bot must not be able to make us run something by writing it into the repository; nobody is there to type a passphrase. */
const settings = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'safe.bareRepository=explicit',
  'commit.gpgSign=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'submodule.recurse=false',
];
/** These read only names and settings: no setting can make them run a program. */
const runNothing = new Set(['rev-parse', 'symbolic-ref', 'check-ref-format', 'config', 'remote']);
const settingsCap = 8 * 1024 * 1024;
const pathsCap = 64 * 1024 * 1024;
const changed = ['status', '--porcelain', '-z', '--no-renames', '--ignore-submodules=dirty'];

/** Lists, in lines, what no commit holds in a folder. Gantry's own files do not count, nor do changes inside submodules. */
export const uncommitted = [
  'status',
  '--porcelain',
  '--untracked-files=normal',
  '--ignore-submodules=dirty',
  '--',
  '.',
  ':(exclude).gantry',
] as const;

export function createGit(): Git {
  const base = {
    ...plainEnvironment(),
    LC_ALL: 'C',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    GIT_EDITOR: ':',
    // For a partial clone that fetches missing objects: no protocol that names a program.
    GIT_ALLOW_PROTOCOL: 'https:http:ssh:file',
  };
  const start = (cwd: string, args: readonly string[], options: GitOptions) =>
    runProcess({
      command: ['git', '-C', cwd, ...settings.flatMap((one) => ['-c', one]), ...args],
      env: { ...base, ...options.env },
      deadlineMs,
      ...(options.outputCap === undefined ? {} : { outputCap: options.outputCap }),
      ...(options.input === undefined ? {} : { input: options.input }),
    });
  const attempt: Git['try'] = async (cwd, args, options = {}) => {
    if (runNothing.has(args[0] ?? '')) return start(cwd, args, options);
    const listed = await start(cwd, listSettings, { env: options.env ?? {}, outputCap: settingsCap });
    // The call also stops if git itself cannot read the settings.
    if (listed.exitCode !== 0) return listed;
    if (listed.truncated) {
      throw new AppError('refused', `The settings of git in ${cwd} are too long to read.`, 'Shorten its .git/config.', {
        status: 409,
      });
    }
    const { env, names } = replacePrograms(listed.stdout);
    const result = await start(cwd, args, { ...options, env: { ...options.env, ...env } });
    const refused = result.exitCode === 0 ? null : /\bfilter '?(.+?)'? failed$/m.exec(result.stderr)?.[1];
    const filter = names.find((name) => name.startsWith(`filter.${refused}.`));
    if (filter === undefined) return result;
    const why = `${filter} is set in the repository's own settings, which Gantry does not run. To allow it: git config --global ${filter} <command>`;
    return { ...result, stderr: `${result.stderr.trimEnd()}\n${why}\n` };
  };
  const run: Git['run'] = async (cwd, args, options) => {
    const result = await attempt(cwd, args, options);
    if (result.exitCode === 0) return result.stdout.replace(/\n$/, '');
    throw failed(cwd, args[0] ?? '', result);
  };
  return {
    try: attempt,
    run,
    async addAll(cwd, { trackedOnly = false, ...options } = {}) {
      const untracked = `--untracked-files=${trackedOnly ? 'no' : 'all'}`;
      for (let tries = 1; ; tries += 1) {
        const paths = (await run(cwd, [...changed, untracked], { ...options, outputCap: pathsCap }))
          .split('\0')
          // The second letter says how a file differs from the index.
          .flatMap((line) => (line === '' || line[1] === ' ' ? [] : [line.slice(3)]));
        if (paths.length === 0) return;
        const top = await run(cwd, ['rev-parse', '--show-toplevel'], options);
        const args = ['--literal-pathspecs', 'add', '--all', '--pathspec-from-file=-', '--pathspec-file-nul'];
        const added = await attempt(top, args, { ...options, input: paths.join('\0') });
        if (added.exitCode === 0) return;
        // A file that disappeared just now is missing at the next look, too.
        if (tries === 3 || !added.stderr.includes('did not match any files')) throw failed(cwd, 'add', added);
      }
    },
  };
}

function failed(cwd: string, verb: string, result: RunResult): AppError {
  return new AppError(
    'refused',
    `git ${verb} in ${cwd} failed: ${complaint(result)}`,
    'Nothing was deleted. Fix it there, then try again.',
    { status: 409 },
  );
}

export function complaint(result: RunResult): string {
  if (result.ended !== null) return 'it took too long and was ended.';
  const lines = `${result.stderr}\n${result.stdout}`.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '').at(-1) ?? 'it gave no reason.';
}
