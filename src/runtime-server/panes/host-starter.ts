/**
 * Starts a pane host: a process in its own session that keeps running when the runtime ends. The host's own lock settles two starters at once. It
 * knows nothing of connections.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, linkSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { newToken, readTokenFile, writePrivateFile } from '../../kit/secrets/token-file.ts';
import type { HostFiles } from '../../programs/pane-host/protocol.ts';

/**
 * Parsing makes short-lived strings, about six bytes for each byte printed. Measured over 200 MB of coloured text: a young
 * generation of 4 MB collected by the one thread that parses takes 0.2 s of processor time, one of 2 MB collected in parallel
 * 0.5 s; 16 MB saves no more and stays in memory. An idle host is 17 MB either way.
 */
const nodeOptions = ['--max-semi-space-size=4', '--no-parallel-scavenge'];

/**
 * A sleeping pane's memory lies between other allocations, and the C library returns only the end of its heap. With larger pieces in mappings of
 * their own, 60 panes that fell asleep leave 97 MB in place of 132.
 */
const memory = { MALLOC_MMAP_THRESHOLD_: '8192', MALLOC_TRIM_THRESHOLD_: '65536' };

/** The token of this data folder's hosts; made on first use, once, however many ask at the same time. */
export function hostToken(files: HostFiles): string {
  try {
    return readTokenFile(files.token);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_found') throw error;
  }
  mkdirSync(files.folder, { recursive: true, mode: 0o700 });
  const own = `${files.token}.${process.pid}.${randomBytes(4).toString('hex')}`;
  writePrivateFile(own, `${newToken()}\n`);
  try {
    // Unlike a rename a link never replaces a token that somebody already read.
    linkSync(own, files.token);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(own, { force: true });
  }
  return readTokenFile(files.token);
}

interface HostProgram {
  readonly home: string;
  /** Program and file of the host. */
  readonly command: readonly [string, ...string[]];
  /** Which Gantry it is of. */
  readonly build: string;
}

/** argv of a host; also for a host that starts the one after it. */
export function hostCommand({ home, command, build }: HostProgram): [string, ...string[]] {
  const [program, ...args] = command;
  return [program, ...nodeOptions, ...args, '--home', home, ...(build === '' ? [] : ['--build', build])];
}

/**
 * Starts a host and returns at once; whether it serves is seen by connecting. Returns whether its process still runs: one that is slow to start may
 * not be joined by another, which would take the place of the first as soon as that is stopped. Throws when no process can be started.
 */
export function startHost(
  options: Omit<HostProgram, 'build'> & { readonly build?: string; readonly files: HostFiles },
): () => boolean {
  const { files, home, build = '' } = options;
  hostToken(files);
  mkdirSync(dirname(files.log), { recursive: true, mode: 0o700 });
  const log = openSync(files.log, 'a', 0o600);
  try {
    const [program, ...args] = hostCommand({ ...options, build });
    const child = spawn(program, args, {
      cwd: home,
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...process.env, ...memory },
      windowsHide: true,
    });
    let runs = true;
    // A failed start shows, with its reason, when no host answers.
    child.on('error', () => {
      runs = false;
    });
    child.on('exit', () => {
      runs = false;
    });
    child.unref();
    return () => runs;
  } finally {
    closeSync(log);
  }
}
