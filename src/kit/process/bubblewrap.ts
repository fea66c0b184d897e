/**
 * Runs a command in bubblewrap if this computer has it and allows it. The caller chooses what the command may see and change. First user: tasks of
 * the work queue; second: commands of tools. Must not know what is run.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { type RunOptions, runProcess } from './run-process.ts';

export type Environment = Readonly<Record<string, string>>;
export type Wrapped = Required<Pick<RunOptions, 'command' | 'env'>> & Pick<RunOptions, 'aside'>;

interface Confinement {
  /** Arguments of bwrap: namespaces and mounts. None of them come from the person who chose the command. */
  readonly words: readonly string[];
  readonly command: readonly string[];
  /** The command's whole environment. */
  readonly env: Environment;
}

export interface Bubblewrap {
  wrap(confinement: Confinement): Wrapped;
}

interface BubblewrapWish {
  readonly path: string;
  readonly platform?: NodeJS.Platform;
  /** The namespaces and mounts of the trial run. */
  readonly words: readonly string[];
}

const probeMs = 10_000;

/** Runs a trial: an installed program may still be forbidden on this computer. Returns half a sentence if it fails: "… is not installed". */
export async function findBubblewrap({
  path,
  platform = process.platform,
  words,
}: BubblewrapWish): Promise<Bubblewrap | string> {
  if (platform !== 'linux') return 'there is no sandbox on this system';
  const program = programIn(path, 'bwrap');
  if (program === null) return 'bubblewrap (bwrap) is not installed';
  const found: Bubblewrap = { wrap: (confinement) => wrap(program, confinement) };
  const refused = (why: string) => `bubblewrap does not work here (${why.trim().slice(0, 200)})`;
  try {
    const tried = found.wrap({ words, command: ['true'], env: { PATH: path } });
    const { exitCode, stderr } = await runProcess({ ...tried, deadlineMs: probeMs });
    return exitCode === 0 ? found : refused(stderr);
  } catch (error) {
    return refused(String(error));
  }
}

/**
 * `program` is absolute, and its own environment is empty: anybody who chose either would choose what runs outside. The command's environment comes
 * through a pipe, where nobody can read it, unlike in a list of processes.
 */
function wrap(program: string, { words, command, env }: Confinement): Wrapped {
  const torn = Object.entries(env).find((pair) => pair.some((part) => part.includes('\0')));
  // It would be read as more arguments.
  if (torn !== undefined) throw new AppError('usage', 'A variable has a NUL character in it.', 'Leave it out.');
  return {
    command: [program, ...words, '--clearenv', '--args', '3', '--', ...command],
    env: {},
    aside: Object.entries(env)
      .flatMap(([name, value]) => ['--setenv', name, value])
      .map((word) => `${word}\0`)
      .join(''),
  };
}

function programIn(path: string, name: string): string | null {
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
