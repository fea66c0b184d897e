/**
 * The files that a page may receive: those that the tool `file.read` reads, by their real path. A link's name does not show what it would send, so a
 * question, the policy and the executor get the real path. Must not know pages.
 */
import { isAbsolute, join, relative, sep } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { createJail } from '../tool-server/jail.ts';

export interface UploadsDeps {
  /** Folders that files may lie in. Paths that are not absolute start in the first one. */
  readonly roots: readonly [string, ...string[]];
  /** Folders whose files are never handed over: Gantry's own. A root inside one of them is not refused. */
  readonly hidden: readonly string[];
}

export interface Upload {
  /** Absolute, without a link on its way. */
  readonly real: string;
  /** As rules of the policy name it: relative to the first root where it lies in it, else absolute. */
  readonly path: string;
}

export interface Uploads {
  /** Throws `refused` for a forbidden file, `not_found` or `usage` for anything but a file. */
  find(path: string): Promise<Upload>;
}

export function createUploads({ roots, hidden }: UploadsDeps): Uploads {
  const jailOf = (root: string) =>
    createJail({
      root,
      hidden,
      freshName() {
        throw new Error('Nothing can be written here.');
      },
    });

  async function findIn(root: string, path: string): Promise<string> {
    const jail = await jailOf(root);
    const place = await jail.open(path);
    try {
      if ((await place.handle.stat()).isFile()) return join(jail.root, place.path);
      throw new AppError('usage', `${JSON.stringify(path)} is not a file.`, 'Name a file.');
    } finally {
      await place.handle.close();
    }
  }

  return {
    async find(path) {
      let first: unknown;
      for (const root of roots) {
        try {
          const real = await findIn(root, path);
          return { real, path: await named(real) };
        } catch (error) {
          first ??= error;
        }
      }
      throw first;
    },
  };

  async function named(real: string): Promise<string> {
    const { root } = await jailOf(roots[0]);
    const path = relative(root, real);
    const inside = path.split(sep)[0] !== '..' && !isAbsolute(path);
    return inside ? path.replaceAll(sep, '/') : real;
  }
}
