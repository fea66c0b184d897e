/** Gantry's own files on this computer, as a sandbox shows them to programs that call Gantry. */
import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { programFile } from '../process/programs.ts';

/** Source or built. */
export interface Code {
  readonly root: string;
  /** The shown part: below the root. */
  readonly shown: readonly string[];
  /** Where its packages are; beside it, if it is a package itself. */
  readonly modules: string;
  /** The program of a hosted computer, below the root. */
  readonly program: string;
}

export function findCode(): Code {
  const program = programFile('hosted-device');
  const built = program.endsWith('.js');
  const root = dirname(dirname(dirname(program)));
  const own = join(root, 'node_modules');
  const modules = existsSync(join(own, 'better-sqlite3')) ? own : dirname(root);
  return { root, shown: ['package.json', built ? 'out/server' : 'src'], modules, program: relative(root, program) };
}
