/**
 * Chooses the workspace: the requested folder, else the last one used, else a new one with the sample. Never Gantry's own checkout, where bots would
 * change the program that runs them. Called by the host before the engine starts; must not know the engine.
 */
import { accessSync, constants, existsSync, mkdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { AppError } from '../../../contracts/common/errors.ts';
import { copySample, notWritable } from './demo.ts';

export interface PreparedWorkspace {
  /** Absolute, without links. */
  readonly path: string;
  /** True when it was made just now, with the sample in it. */
  readonly created: boolean;
  /** Files that Gantry wrote into it just now, relative to it. */
  readonly written: readonly string[];
}

/** `usage`: not a folder, or Gantry's own checkout. `refused`: it cannot be written to. */
export async function prepareWorkspace(options: {
  /** `--workspace`; relative to `from`. */
  readonly asked: string | null;
  /** The last one used, from the settings. */
  readonly last: string | null;
  /** `GANTRY_HOME`. */
  readonly home: string;
  readonly from: string;
}): Promise<PreparedWorkspace> {
  if (options.asked !== null)
    return { path: checked(resolve(options.from, options.asked)), created: false, written: [] };
  // A last workspace that is gone is no reason not to start.
  if (options.last !== null && isFolder(options.last))
    return { path: checked(options.last), created: false, written: [] };
  const path = join(options.home, 'workspace');
  const created = !existsSync(path);
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw notWritable(path, error);
  }
  const written = created ? await copySample(path, { dryRun: false, withMark: true }) : [];
  return { path: checked(path), created, written };
}

function checked(path: string): string {
  if (!isFolder(path)) {
    throw new AppError('usage', `The workspace ${path} is not a folder.`, 'Create it, or name another: --workspace.');
  }
  const real = realpathSync(path);
  const own = ownCheckout();
  if (own !== null && isInside(real, own)) {
    throw new AppError(
      'usage',
      `The workspace ${real} is Gantry's own checkout, where bots must not work.`,
      'Name another folder: --workspace.',
    );
  }
  if (!isWritable(real)) {
    throw new AppError(
      'refused',
      `The workspace ${real} cannot be written to.`,
      'Give yourself write permission there, or name another: --workspace.',
    );
  }
  return real;
}

export function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || (!way.startsWith(`..${sep}`) && way !== '..' && resolve(folder, way) === path);
}

/** The folder with Gantry's own `package.json` above this module. */
function ownCheckout(from: string = import.meta.dirname): string | null {
  for (let folder = from; ; folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (existsSync(file)) {
      const { name } = JSON.parse(readFileSync(file, 'utf8')) as { name?: unknown };
      if (name === 'gantry') return realpathSync(folder);
    }
    if (dirname(folder) === folder) return null;
  }
}
