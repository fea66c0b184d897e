/**
 * Runs a command in a sandbox by bubblewrap, if this computer has it and allows it. Says what the sandbox could not hold here. Must not know what is
 * run.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { type RunOptions, runProcess } from '../process/run-process.ts';
import { filterFor } from './filter.ts';
import { bubblewrapWords, type Sandbox } from './sandbox.ts';

export type Environment = Readonly<Record<string, string>>;
export type Wrapped = Required<Pick<RunOptions, 'command' | 'env'>> & Pick<RunOptions, 'asides'>;

interface Confinement {
  readonly sandbox: Sandbox;
  readonly command: readonly string[];
  /** The command's whole environment. */
  readonly env: Environment;
}

export interface Bubblewrap {
  /** What it does not keep a program from here, as whole sentences. */
  readonly unheld: readonly string[];
  wrap(confinement: Confinement): Wrapped;
}

interface BubblewrapWish {
  readonly path: string;
  readonly platform?: NodeJS.Platform;
  readonly architecture?: string;
  /** Of the trial run. */
  readonly sandbox: Sandbox;
}

const trialMs = 10_000;
/** What bwrap says where the kernel takes no filter, or where it is too old to be given one. */
const noFilters = /PR_SET_SECCOMP|CONFIG_SECCOMP|nknown option --seccomp/;

/** Runs a trial: an installed program may still be forbidden on this computer. Returns half a sentence if it fails: "… is not installed". It may work later: nobody keeps that answer. */
export async function findBubblewrap({
  path,
  platform = process.platform,
  architecture = process.arch,
  sandbox,
}: BubblewrapWish): Promise<Bubblewrap | string> {
  if (platform !== 'linux') return 'there is no sandbox on this system';
  const program = programIn(path, 'bwrap');
  if (program === null) return 'bubblewrap (bwrap) is not installed';
  const filtered: Bubblewrap = {
    unheld: unfiltered(architecture),
    wrap: (confinement) => confine(program, confinement, architecture),
  };
  const why = await tryOut(filtered, sandbox, path);
  if (why === null) return filtered;
  // A kernel without filters may still have namespaces. For no other reason may programs run without one.
  if (noFilters.test(why)) {
    const plain: Bubblewrap = {
      unheld: ['This kernel filters no system calls, so the sandbox does not either.'],
      wrap: (confinement) => confine(program, confinement, null),
    };
    if ((await tryOut(plain, sandbox, path)) === null) return plain;
  }
  return `bubblewrap does not work here (${why.trim().slice(0, 200)})`;
}

function unfiltered(architecture: string): string[] {
  if (filterFor(architecture, 'host') !== null) return [];
  return [`Gantry has no filter of system calls for ${architecture}, so the sandbox refuses none.`];
}

/** Why not; null if it works. */
async function tryOut({ wrap }: Bubblewrap, sandbox: Sandbox, path: string): Promise<string | null> {
  try {
    const tried = wrap({ sandbox, command: ['true'], env: { PATH: path } });
    const { exitCode, stderr, ended } = await runProcess({ ...tried, deadlineMs: trialMs });
    if (ended !== null) return `a trial took longer than ${trialMs / 1000} seconds`;
    return exitCode === 0 ? null : stderr || `a trial ended with ${exitCode}`;
  } catch (error) {
    return String(error);
  }
}

/**
 * `program` is absolute or comes from a PATH of Gantry's own, and its own environment is empty: anybody who chose either would choose what runs outside.
 * The command's environment comes through a pipe, where nobody can read it, unlike in a list of processes. `architecture` null: without a filter.
 */
export function confine(
  program: string,
  { sandbox, command, env }: Confinement,
  architecture: string | null = process.arch,
): Wrapped {
  const filter = architecture === null ? null : filterFor(architecture, sandbox.network);
  const torn = Object.entries(env).find((pair) => pair.some((part) => part.includes('\0')));
  // It would be read as more arguments.
  if (torn !== undefined) throw new AppError('usage', 'A variable has a NUL character in it.', 'Leave it out.');
  const variables = Object.entries(env)
    .flatMap(([name, value]) => ['--setenv', name, value])
    .map((word) => `${word}\0`)
    .join('');
  return {
    command: [
      ...[program, ...bubblewrapWords(sandbox), '--clearenv', '--args', '3'],
      ...(filter === null ? [] : ['--seccomp', '4']),
      ...['--', ...command],
    ] as [string, ...string[]],
    env: {},
    asides: [variables, ...(filter === null ? [] : [filter])],
  };
}

/** Only in absolute folders: a relative one would be the working folder's. */
export function programIn(path: string, name: string): string | null {
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Not here.
    }
  }
  return null;
}
