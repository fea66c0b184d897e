/**
 * A folder of packages as one text: a line a package with its version, its number of files and a hash of all of them. Programs load such folders as
 * code, and nobody reads thousands of files: a person agrees that these packages are unchanged. Looks within limits, and follows no link out of the
 * folder. Must not know who agreed.
 */
import { createHash, type Hash } from 'node:crypto';
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isWithin, listWithin, printOf, readWithin } from '../../kit/files/within.ts';

/** More are not looked through: what holds them cannot be agreed to. */
const maxFiles = 10_000;
const maxBytes = 64 * 1024 * 1024;
const deepest = 32;

type ReadPackages = string | { readonly is: 'unfit'; readonly why: string };

interface Packages {
  /** As it is now. Reads what changed since the last time, and asks about the rest. */
  read(folder: string): ReadPackages;
}

interface Package {
  readonly hash: Hash;
  files: number;
  version: string;
}

class TooMuch extends Error {}

/** By its name. */
export const isPackageFolder = (path: string): boolean => basename(path) === 'node_modules';

export function createPackages(): Packages {
  /** By folder, the last seen state of each file and its hash then. */
  const known = new Map<
    string,
    Map<string, { readonly print: string; readonly hash: string; readonly size: number }>
  >();

  function read(folder: string): ReadPackages {
    const before = known.get(folder);
    const now: NonNullable<typeof before> = new Map();
    const packages = new Map<string, Package>();
    let bytes = 0;
    let entries = 0;

    const refuse = (what: string): never => {
      throw new TooMuch(what);
    };
    const packageOf = (way: readonly string[]): Package => {
      const name = way.slice(0, way[0]?.startsWith('@') === true ? 2 : 1).join('/');
      const there = packages.get(name);
      if (there !== undefined) return there;
      const fresh = { hash: createHash('sha256'), files: 0, version: '' };
      packages.set(name, fresh);
      return fresh;
    };
    const hashOf = (path: string, way: readonly string[]): string => {
      const print = printOf(path);
      const earlier = before?.get(path);
      const isSame = earlier?.print === print;
      const found = isSame ? null : readWithin(folder, path, maxBytes - bytes);
      if (found !== null && found.is !== 'file') {
        return refuse(`${way.join('/')}: ${found.is === 'unfit' ? found.why : 'It was removed while it was read.'}`);
      }
      const size = isSame ? earlier.size : (found?.bytes.length ?? 0);
      bytes += size;
      if (bytes > maxBytes) return refuse(`It has more than ${maxBytes} bytes.`);
      const hash = isSame
        ? earlier.hash
        : createHash('sha256')
            .update(found?.bytes ?? '')
            .digest('hex');
      now.set(path, { print, hash, size });
      return hash;
    };
    /** A link's target counts under its own name; it must lie in the folder. */
    const targetOf = (path: string, way: readonly string[]): string => {
      try {
        if (!isWithin(realpathSync(folder), realpathSync(path))) return refuse(`${way.join('/')} links outside it.`);
      } catch (fault) {
        if (fault instanceof TooMuch) throw fault;
        // A link without a target loads nothing; it counts by its text.
      }
      return readlinkSync(path);
    };
    const enter = (at: string, way: readonly string[]): void => {
      if (way.length > deepest) refuse(`${way.join('/')} is nested too deep.`);
      const listed = listWithin(folder, at, maxFiles - entries);
      if (listed.more) refuse(`It has more than ${maxFiles} files.`);
      entries += listed.entries.length;
      for (const { name, isFolder, isFile } of listed.entries) {
        const [path, inner] = [join(at, name), [...way, name]];
        if (isFolder) enter(path, inner);
        else {
          const isLink = !isFile && lstatSync(path).isSymbolicLink();
          const said = isLink ? `link ${targetOf(path, inner)}` : hashOf(path, inner);
          const own = packageOf(inner);
          own.hash.update(`${JSON.stringify(inner)} ${said}\n`);
          own.files += 1;
        }
      }
    };

    try {
      if (!lstatSync(folder).isDirectory()) return { is: 'unfit', why: 'It is not a folder.' };
      enter(folder, []);
    } catch (fault) {
      return { is: 'unfit', why: fault instanceof TooMuch ? fault.message : 'It cannot be read.' };
    }
    known.set(folder, now);
    return [...packages]
      .map(([name, { hash, files }]) => {
        const version = versionOf(folder, name);
        return `${JSON.stringify(name)}${version} (${files} ${files === 1 ? 'file' : 'files'}) sha256 ${hash.digest('hex')}\n`;
      })
      .join('');
  }

  return { read };
}

/** As it names itself; for reading only, its files count. */
function versionOf(folder: string, name: string): string {
  const found = readWithin(folder, join(folder, name, 'package.json'), 256 * 1024);
  if (found.is !== 'file') return '';
  try {
    const { version } = JSON.parse(found.bytes.toString('utf8')) as { version?: unknown };
    return typeof version === 'string' && /^[\w.+-]{1,64}$/.test(version) ? ` ${version}` : '';
  } catch {
    return '';
  }
}
