/**
 * The workspace of a team from another computer: a clone of the repository that the team works on. Only https and ssh, because
 * other git transports can run commands. Nothing of the repository is run, and local changes are never thrown away. Must not know
 * bots or HTTP.
 */
import { existsSync } from 'node:fs';
import { appendFile, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import type { OnProgress } from '../../contracts/common/work-progress.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { complaint, uncommitted } from '../../kit/process/git.ts';
import { listSettings, replacePrograms } from '../../kit/process/git-programs.ts';
import { plainEnvironment, type RunOptions, type RunResult } from '../../kit/process/run-process.ts';

interface Repository {
  readonly url: string;
  readonly commit: string;
}

export interface Clones {
  /** `usage` for a URL or commit that is not taken. */
  check(repo: Repository): void;
  /** Brings `root` to the commit. 409 where that would lose work or pull the ground from under a live bot; 502 where git fails. */
  prepare(root: string, repo: Repository, live: boolean, onProgress?: OnProgress): Promise<void>;
}

const deadlineMs = 15 * 60_000;
const quickMs = 60_000;
const largestClone = 4 * 1024 ** 3;
const measureEveryMs = 2000;
const fullHash = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

/** Blocks other effects that a URL or a repository could have on git: other protocols, hooks, links, redirects. */
const settings = [
  'protocol.allow=never',
  'protocol.https.allow=always',
  'protocol.ssh.allow=always',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.symlinks=false',
  'core.protectHFS=true',
  'core.protectNTFS=true',
  'http.followRedirects=false',
  'submodule.recurse=false',
  'safe.bareRepository=explicit',
  'gc.auto=0',
];

export function createClones(deps: {
  readonly run: (options: RunOptions) => Promise<RunResult>;
  readonly timers: Timers;
  /** A fresh name part. */
  readonly mark: () => string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Bytes that a clone may have; default 4 GiB. */
  readonly largest?: number;
}): Clones {
  const largest = deps.largest ?? largestClone;
  const env: Record<string, string> = {
    ...plainEnvironment({ ...deps.env }),
    // A key that is unlocked there is the person's own; nothing else of the environment is git's business.
    ...(deps.env.SSH_AUTH_SOCK === undefined ? {} : { SSH_AUTH_SOCK: deps.env.SSH_AUTH_SOCK }),
    LC_ALL: 'C',
    GIT_ALLOW_PROTOCOL: 'https:ssh',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    GIT_SSH_COMMAND: 'ssh -oBatchMode=yes -oStrictHostKeyChecking=yes -oClearAllForwardings=yes',
  };

  const start = (args: readonly string[], more: Partial<RunOptions>): Promise<RunResult> =>
    deps.run({
      command: ['git', ...settings.flatMap((one) => ['-c', one]), ...args],
      env,
      deadlineMs: quickMs,
      ...more,
    });
  const git = async (args: readonly string[], more: Partial<RunOptions> = {}): Promise<RunResult> => {
    const [option, folder] = args;
    if (option !== '-C' || folder === undefined) return start(args, more);
    // Bots have worked there: its settings may name programs by now.
    const listed = await start(['-C', folder, ...listSettings], {});
    if (listed.exitCode !== 0 || listed.truncated) return { ...listed, exitCode: listed.exitCode || 1 };
    return start(args, { ...more, env: { ...env, ...replacePrograms(listed.stdout).env } });
  };
  const must = async (what: string, args: readonly string[], more?: Partial<RunOptions>): Promise<string> => {
    const ran = await git(args, more);
    if (ran.exitCode === 0) return ran.stdout.trim();
    const why =
      ran.ended === 'aborted' ? `it grew over ${largest} bytes and was ended.` : complaint(withoutProgress(ran));
    const action =
      'Check that this computer can reach the repository with its own keys, and that the commit is pushed.';
    throw new AppError('transport', `${what} failed: ${why}`, action);
  };
  /** Fetches with a limit of time and size: git itself knows none. */
  const fetched = async (
    what: string,
    folder: string,
    args: readonly string[],
    onProgress: OnProgress | undefined,
  ): Promise<void> => {
    const tooLarge = new AbortController();
    let cancel = () => {};
    const measure = async () => {
      if ((await bytesIn(folder, largest)) > largest) tooLarge.abort();
      else cancel = deps.timers.after(measureEveryMs, () => void measure());
    };
    cancel = deps.timers.after(measureEveryMs, () => void measure());
    try {
      onProgress?.({ what: 'Asking for the repository', done: 0, total: null, unit: null });
      const onStderr = onProgress === undefined ? undefined : gitProgress(onProgress);
      await must(what, args, { deadlineMs, signal: tooLarge.signal, onStderr });
    } finally {
      tooLarge.abort();
      cancel();
    }
  };
  const checkout = async (folder: string, repo: Repository, onProgress: OnProgress | undefined) => {
    onProgress?.({ what: 'Checking out its files', done: 0, total: null, unit: null });
    const what = `The checkout of ${repo.commit}`;
    await must(what, ['-C', folder, 'checkout', '--quiet', '--detach', '--no-recurse-submodules', repo.commit, '--']);
    const head = await must(what, ['-C', folder, 'rev-parse', '--verify', 'HEAD']);
    if (head !== repo.commit)
      throw new AppError('transport', `${what} ended at ${head}.`, 'Push the commit, then try again.');
  };

  const clone = async (root: string, repo: Repository, onProgress: OnProgress | undefined) => {
    const fresh = join(dirname(root), `.${deps.mark()}`);
    await mkdir(dirname(root), { recursive: true, mode: 0o700 });
    try {
      const options = [
        loudness(onProgress),
        '--no-checkout',
        '--no-recurse-submodules',
        '--template=',
        '--origin',
        'origin',
      ];
      await fetched(`The clone of ${repo.url}`, fresh, ['clone', ...options, '--', repo.url, fresh], onProgress);
      // Links stay files for the bots as well: one would show the other's as changed.
      await must('The clone', ['-C', fresh, 'config', 'core.symlinks', 'false']);
      await mkdir(join(fresh, '.git', 'info'), { recursive: true });
      await appendFile(join(fresh, '.git', 'info', 'exclude'), '/.gantry/ledger/\n');
      await checkout(fresh, repo, onProgress);
      await replaceEmpty(root, fresh);
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
  };

  const move = async (root: string, repo: Repository, live: boolean, onProgress: OnProgress | undefined) => {
    const url = (await git(['-C', root, 'config', '--get', 'remote.origin.url'])).stdout.trim();
    if (url !== repo.url) throw keeps(root, `is a clone of ${url || 'something else'}`);
    const head = (await git(['-C', root, 'rev-parse', '--verify', 'HEAD'])).stdout.trim();
    if (head === repo.commit) return;
    if (live) throw inUse(root);
    if ((await must('git status', ['-C', root, ...uncommitted])) !== '') throw keeps(root, 'has uncommitted changes');
    const own = await must('git rev-list', ['-C', root, 'rev-list', '-n', '1', 'HEAD', '--not', '--remotes']);
    if (own !== '') throw keeps(root, 'has commits that were not pushed');
    const fetch = ['-C', root, 'fetch', loudness(onProgress), '--no-recurse-submodules', 'origin'];
    await fetched(`The fetch of ${repo.url}`, root, fetch, onProgress);
    await checkout(root, repo, onProgress);
  };

  return {
    check(repo) {
      const problem = urlProblem(repo.url);
      if (problem !== null) {
        const shown = JSON.stringify(repo.url.slice(0, 200));
        throw new AppError(
          'usage',
          `repo.url ${shown} ${problem}.`,
          'Name it as https://host/path or ssh://user@host/path.',
        );
      }
      if (fullHash.test(repo.commit)) return;
      const shown = JSON.stringify(repo.commit.slice(0, 80));
      throw new AppError(
        'usage',
        `repo.commit ${shown} is not a full commit hash.`,
        'Send what `git rev-parse HEAD` prints.',
      );
    },
    async prepare(root, repo, live, onProgress) {
      if (existsSync(join(root, '.git'))) await move(root, repo, live, onProgress);
      else if (live) throw inUse(root);
      else await clone(root, repo, onProgress);
    },
  };
}

/** Where nobody asks how far it is, git need not count. */
const loudness = (onProgress: OnProgress | undefined): string => (onProgress === undefined ? '--quiet' : '--progress');

/** What git counts of its own work; what the other end counts (`remote: …`) comes before that and is quick. */
const counted = /(?:^|[\r\n])(Receiving objects|Resolving deltas):\s+\d+% \((\d+)\/(\d+)\)/g;
const unitOf: Readonly<Record<string, string>> = { 'Receiving objects': 'objects', 'Resolving deltas': 'deltas' };

function gitProgress(onProgress: OnProgress): (text: string) => void {
  let rest = '';
  return (text) => {
    // A line may come in two pieces.
    const whole = rest + text;
    rest = whole.slice(Math.max(0, whole.lastIndexOf('\r'), whole.lastIndexOf('\n'), whole.length - 200));
    const last = [...whole.matchAll(counted)].at(-1);
    if (last === undefined) return;
    const [, what = '', done, total] = last;
    onProgress({ what, done: Number(done), total: Number(total), unit: unitOf[what] ?? null });
  };
}

/** Keeps the error that git printed and drops its progress lines. */
function withoutProgress(ran: RunResult): RunResult {
  const lines = ran.stderr.split(/[\r\n]+/).filter((line) => !/^(?:remote: )?[A-Z][a-z ]+:\s+\d+/.test(line));
  return { ...ran, stderr: lines.join('\n') };
}

/** The problem of a repository's URL, in words; null when it is valid. */
export function urlProblem(text: string): string | null {
  if (!/^[\x21-\x7e]{1,2000}$/.test(text)) return 'has characters other than plain ASCII';
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return 'is not a URL';
  }
  if (url.protocol !== 'https:' && url.protocol !== 'ssh:') return `has the protocol ${url.protocol.slice(0, -1)}`;
  // Not only `https:` without slashes: git must read the same URL that was checked here.
  if (!text.startsWith(`${url.protocol}//`)) return 'is not written as protocol://host/path';
  if (url.password !== '') return 'contains a password';
  if (url.protocol === 'https:' && url.username !== '') return 'contains a user name';
  if (url.username !== '' && !/^[A-Za-z0-9_][A-Za-z0-9._-]*$/.test(url.username))
    return 'contains an invalid user name';
  if (!/^(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-f:.]+\])$/.test(url.hostname)) return 'has no valid host';
  if (url.search !== '' || url.hash !== '') return 'has a query or fragment';
  if (/^\/+-/.test(url.pathname) || /%(?:0|1|7f)/i.test(url.pathname)) return 'has an invalid path';
  return url.pathname.length > 1 ? null : 'names no repository';
}

/** Puts the clone where only the team folder of an earlier start may lie. */
async function replaceEmpty(root: string, fresh: string): Promise<void> {
  const there = await readdir(root).catch(() => null);
  if (there === null) {
    await rename(fresh, root);
    return;
  }
  if (there.some((name) => name !== '.gantry')) throw keeps(root, 'has files that belong to no repository');
  const old = `${fresh}.old`;
  await rename(root, old);
  await rename(fresh, root);
  await rm(old, { recursive: true, force: true });
}

function keeps(root: string, what: string): AppError {
  const action = 'Push or remove what is there (a shell bot can reach it), or start the team under another name.';
  return new AppError('refused', `${root} ${what}.`, action, { status: 409 });
}

function inUse(root: string): AppError {
  const action = 'Stop the team there, then start it again.';
  return new AppError('refused', `Bots are working in ${root} on another commit.`, action, { status: 409 });
}

/** Counts until it is more than `enough`. */
async function bytesIn(folder: string, enough: number): Promise<number> {
  let sum = 0;
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (!entry.isFile() || sum > enough) continue;
    sum += (await lstat(join(entry.parentPath, entry.name)).catch(() => null))?.size ?? 0;
  }
  return sum;
}
