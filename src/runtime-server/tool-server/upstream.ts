/**
 * Sets the upstream of a branch for a command in the sandbox, to which git's settings are read-only (`git push -u`, `git checkout` of a remote's
 * branch). Only to an existing remote and branch. Must not know mounts.
 */
import { closeSync, constants, ftruncateSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGit, type Git } from '../../kit/process/git.ts';

interface UpstreamRequest {
  readonly cwd: string;
  /** The command, as one would type it. */
  readonly line: string;
  /** Its output, both streams. */
  readonly printed: string;
  /** Whether the folder of git that holds the settings is the command's to write. */
  readonly isOurs: (repository: string) => boolean;
}

interface Wish {
  readonly branch: string;
  readonly remote: string;
  /** The branch's name there. */
  readonly there: string;
}

const pushed = /\bpush\b[^;&|]*\s(?:-[a-zA-Z]*u[a-zA-Z]*|--set-upstream)(?:\s|$)/;
const said = /^branch '([^'\n]+)' set up to track '([^'\n]+)'/gm;

/** In sentences, which upstreams were set or could not be. Does nothing unless the command or its output mentions an upstream. */
export async function setUpstreams(request: UpstreamRequest): Promise<string[]> {
  const { cwd, line, printed } = request;
  const named = [...printed.matchAll(said)];
  if (named.length === 0 && !(/\bgit\b/.test(line) && pushed.test(line))) return [];
  const git = createGit();
  const ask = async (...args: string[]) => {
    const { exitCode, stdout } = await git.try(cwd, args);
    return exitCode === 0 ? stdout.trim() : null;
  };
  const repository = await ask('rev-parse', '--path-format=absolute', '--git-common-dir');
  if (repository === null || !request.isOurs(repository)) return [];
  const remotes = ((await ask('remote')) ?? '').split('\n').filter((name) => name !== '');
  const idOf = (ref: string) => ask('rev-parse', '--verify', '--quiet', ref);
  const wishes: Wish[] = named.flatMap(([, branch = '', target = '']) => {
    const remote = remotes.find((name) => target.startsWith(`${name}/`));
    return remote === undefined ? [] : [{ branch, remote, there: target.slice(remote.length + 1) }];
  });
  const current = await ask('symbolic-ref', '--quiet', '--short', 'HEAD');
  if (wishes.length === 0 && current !== null) {
    const words = new Set(line.split(/\s+/));
    const mine = await idOf(`refs/heads/${current}`);
    const asked = remotes.filter((remote) => words.has(remote) || remotes.length === 1);
    for (const remote of asked) {
      if (mine !== null && (await idOf(`refs/remotes/${remote}/${current}`)) === mine) {
        wishes.push({ branch: current, remote, there: current });
      }
    }
  }
  const told: string[] = [];
  for (const wish of wishes.slice(0, 20)) {
    const { branch, remote, there } = wish;
    const both = [await idOf(`refs/heads/${branch}`), await idOf(`refs/remotes/${remote}/${there}`)];
    if (both.includes(null)) continue;
    if (
      (await ask('config', '--get', `branch.${branch}.remote`)) === remote &&
      (await ask('config', '--get', `branch.${branch}.merge`)) === `refs/heads/${there}`
    )
      continue;
    try {
      await save(git, cwd, join(repository, 'config'), wish);
      told.push(`Gantry set the upstream of ${branch} to ${remote}/${there}, because the command could not.`);
    } catch (error) {
      told.push(`The upstream of ${branch} could not be set to ${remote}/${there}: ${(error as Error).message}`);
    }
  }
  return told;
}

/**
 * Writes into the file that is there, under git's own lock. A file in its place, as git would write it, would take away the mount
 * that keeps commands which run now from it.
 */
async function save(git: Git, cwd: string, file: string, { branch, remote, there }: Wish): Promise<void> {
  const lock = `${file}.lock`;
  closeSync(openSync(lock, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600));
  const folder = await mkdtemp(join(tmpdir(), 'gantry-config-'));
  try {
    const copy = join(folder, 'config');
    const old = readFileSync(file);
    writeFileSync(copy, old);
    await git.run(cwd, ['config', '--file', copy, '--replace-all', `branch.${branch}.remote`, remote]);
    await git.run(cwd, ['config', '--file', copy, '--replace-all', `branch.${branch}.merge`, `refs/heads/${there}`]);
    const next = readFileSync(copy);
    const handle = openSync(file, constants.O_WRONLY | constants.O_NOFOLLOW);
    try {
      // Mostly only lines are added at the end, so a concurrent reader sees the old file or the new one.
      const from = next.subarray(0, old.length).equals(old) ? old.length : 0;
      try {
        writeAll(handle, next, from);
      } catch (error) {
        // The disk is full: the settings are as they were, and not cut off in the middle of a line.
        if (from === 0) writeAll(handle, old, 0);
        ftruncateSync(handle, old.length);
        throw error;
      }
      ftruncateSync(handle, next.length);
    } finally {
      closeSync(handle);
    }
  } finally {
    rmSync(lock, { force: true });
    await rm(folder, { recursive: true, force: true });
  }
}

/** From this place on. A single write ends early, and without an error, where the disk is about to be full. */
function writeAll(handle: number, bytes: Uint8Array, from: number): void {
  for (let at = from; at < bytes.length; ) at += writeSync(handle, bytes, at, bytes.length - at, at);
}
