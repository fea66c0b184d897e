/**
 * Files inside one allowed root, and nowhere else. A checked path is not trusted, because a folder can be replaced by a link
 * between check and use: after opening, the file itself is asked where it is. On Linux every step is taken from an open folder
 * (`/proc/self/fd/N/name`, as `openat` does), so a swapped link leads nowhere. Elsewhere the real path is compared before and
 * after, which leaves a short race. Links that stay inside the root are followed. Gantry's own files do not exist for a tool,
 * even where the root holds them. Must not know tools.
 */
import { constants } from 'node:fs';
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  readlink,
  realpath,
  rename,
  rmdir,
  unlink,
} from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';

export interface Place {
  /** Relative to the root, with the system's separators; '' for the root itself. */
  readonly path: string;
  readonly handle: FileHandle;
}

export interface Jail {
  /** Real path of the root. */
  readonly root: string;
  /** The path by its text, relative to the root. `refused` outside of it. */
  locate(path: string): string;
  /**
   * The real path, over every link on its way (`last`: also a final one), relative to the root. A path that does not exist yet belongs to its
   * existing folder. `refused` outside.
   */
  lands(path: string, last: boolean): Promise<string>;
  /** Opens a file or folder for reading. The caller closes it. `not_found`, or `refused` when it lies outside. */
  open(path: string): Promise<Place>;
  /** The kind of entry at the path: null for none. `refused` outside. */
  look(path: string): Promise<'file' | 'folder' | 'other' | null>;
  /** Replaces a file as a whole, or creates it. `check` sees the current content right before. Returns whether it was created. */
  write(path: string, content: Uint8Array, options: WriteOptions): Promise<{ path: string; created: boolean }>;
  /** Removes a file, a link, or a folder (with `recursive` also one that is not empty). Never the root. `lands` as for `write`. */
  remove(path: string, options: { readonly recursive: boolean; readonly lands?: string }): Promise<void>;
  /** Real path of a folder inside, for a program that starts there. */
  folder(path: string): Promise<string>;
  /** Names in an open folder, sorted, without hidden ones. */
  names(folder: Place): Promise<string[]>;
}

interface WriteOptions {
  readonly createDirs: boolean;
  /** Where it was seen to lead before: `refused` when a link leads it elsewhere now. */
  readonly lands?: string;
  readonly check?: (now: Uint8Array | null) => void;
}

const { O_RDONLY, O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_DIRECTORY = 0 } = constants;
const linux = process.platform === 'linux';
/** Files that are read whole to be compared. Bytes. */
const largestCompared = 64 * 1024 * 1024;

export async function createJail(deps: {
  readonly root: string;
  /** Folders that are refused and not listed: Gantry's own. One that the root itself lies in is not: a worktree lies there. */
  readonly hidden: readonly string[];
  /** A name that nothing has yet. */
  readonly freshName: () => string;
}): Promise<Jail> {
  const bounds = await createBounds(deps.root, deps.hidden);
  const { root, hidden, locate, isHidden, mustShow, outside } = bounds;
  const { openAt, openParent, within } = createSteps(bounds);
  const openPath = (path: string): Promise<Place> => openAt(join(root, locate(path)), path, O_RDONLY);

  /** The path itself, or where the link that it is leads to; a link that leads nowhere is refused. */
  async function throughLink(located: string, path: string): Promise<string> {
    if (located === '') throw new AppError('usage', 'The root itself is not a file.', 'Name something in it.');
    const folder = await openParent(located, false).catch((error) => {
      if (error instanceof AppError && error.code === 'not_found') return null;
      throw error;
    });
    if (folder === null) return located;
    try {
      const found = await lstat(within(folder, basename(located))).catch(() => null);
      if (!found?.isSymbolicLink()) return join(folder.path, basename(located));
      const target = await openAt(within(folder, basename(located)), path, O_RDONLY).catch((error) => {
        throw error instanceof AppError && error.code === 'not_found' ? outside(path) : error;
      });
      await target.handle.close();
      return target.path;
    } finally {
      await folder.handle.close();
    }
  }

  async function lands(path: string, last: boolean): Promise<string> {
    const found = await leadsTo(path, last);
    mustShow(join(root, found), path);
    return found;
  }

  async function leadsTo(path: string, last: boolean): Promise<string> {
    const given = locate(path);
    if (given === '') return given;
    const located = last ? await throughLink(given, path) : given;
    const missingNames = [basename(located)];
    for (let folder = dirname(located); ; folder = dirname(folder)) {
      try {
        const place = await openAt(join(root, folder), path, O_RDONLY);
        await place.handle.close();
        return join(place.path, ...missingNames);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'not_found' || folder === '.') throw error;
        missingNames.unshift(basename(folder));
      }
    }
  }

  /** A folder on the way became a link since the check. */
  function stillThere(found: string, seen: string | undefined, path: string): void {
    if (seen === undefined || seen === found) return;
    const fact = `${JSON.stringify(path)} leads to ${JSON.stringify(found)} now instead of ${JSON.stringify(seen)}.`;
    throw new AppError('refused', fact, 'Check it, then try again.', { status: 409 });
  }

  async function removeAt(folder: Place, name: string, recursive: boolean): Promise<void> {
    const way = within(folder, name);
    const shown = join(folder.path, name);
    const found = await lstat(way).catch((cause) => {
      throw missing(shown, cause);
    });
    if (!found.isDirectory()) {
      await unlink(way);
      return;
    }
    const child = await openAt(way, shown, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      const names = await namesIn(child, root);
      if (names.length > 0 && !recursive) {
        throw new AppError(
          'usage',
          `The folder ${JSON.stringify(shown)} is not empty.`,
          'Set recursive to remove everything in it.',
        );
      }
      for (const one of names) await removeAt(child, one, true);
    } finally {
      await child.handle.close();
    }
    await rmdir(way);
  }

  return {
    root,
    locate,
    lands,
    open: openPath,
    async look(path) {
      let place: Place;
      try {
        place = await openPath(path);
      } catch (error) {
        if (error instanceof AppError && error.code === 'not_found') {
          // A link that leads nowhere may lead outside tomorrow: it does not count as missing.
          const named = await lstat(join(root, locate(path))).catch(() => null);
          return named?.isSymbolicLink() ? 'other' : null;
        }
        throw error;
      }
      try {
        const found = await place.handle.stat();
        return found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'other';
      } finally {
        await place.handle.close();
      }
    },
    async write(path, content, { createDirs, check, lands: seen }) {
      const located = await throughLink(locate(path), path);
      // Before folders are made, which would lie elsewhere too.
      if (seen !== undefined) stillThere(await lands(path, true), seen, path);
      const folder = await openParent(located, createDirs);
      const name = basename(located);
      const way = within(folder, name);
      mustShow(join(root, folder.path, name), path);
      const draft = within(folder, `.${name.slice(0, 60)}.${deps.freshName()}`);
      try {
        const found = await lstat(way).catch(() => null);
        if (found !== null && !found.isFile()) {
          throw new AppError('usage', `${JSON.stringify(path)} is not a file.`, 'Name a file.');
        }
        const handle = await open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, found?.mode ?? 0o666);
        try {
          if (found !== null) await handle.chmod(found.mode & 0o777);
          await handle.writeFile(content);
          await handle.datasync();
        } finally {
          await handle.close();
        }
        check?.(await contentOf(way));
        stillThere(join(folder.path, name), seen, path);
        await rename(draft, way);
        return { path: join(folder.path, name), created: found === null };
      } catch (error) {
        await unlink(draft).catch(() => {});
        throw error;
      } finally {
        await folder.handle.close();
      }
    },
    async remove(path, { recursive, lands: seen }) {
      const located = locate(path);
      if (located === '') throw new AppError('refused', 'The root itself cannot be removed.', 'Name something in it.');
      const folder = await openParent(located, false);
      try {
        const found = join(folder.path, basename(located));
        stillThere(found, seen, path);
        const real = join(root, found);
        mustShow(real, path);
        // Before anything beside it is gone.
        const held = hidden.find((one) => holds(real, one));
        if (held !== undefined) mustShow(held, relative(root, held));
        await removeAt(folder, basename(located), recursive);
      } finally {
        await folder.handle.close();
      }
    },
    async folder(path) {
      const place = await openPath(path);
      try {
        if (!(await place.handle.stat()).isDirectory()) {
          throw new AppError('usage', `${JSON.stringify(path)} is not a folder.`, 'Name a folder.');
        }
        return join(root, place.path);
      } finally {
        await place.handle.close();
      }
    },
    names: async (folder) => (await namesIn(folder, root)).filter((name) => !isHidden(join(root, folder.path, name))),
  };
}

/** What belongs to the jail, by the text of a path alone: inside the root, and none of Gantry's own folders. */
interface Bounds {
  readonly root: string;
  /** Folders that are refused, by each of their names. */
  readonly hidden: readonly string[];
  locate(path: string): string;
  isInside(real: string): boolean;
  isHidden(real: string): boolean;
  /** Throws `refused` for what is hidden. `shown`: as the caller named it. */
  mustShow(real: string, shown: string): void;
  outside(path: string): AppError;
}

async function createBounds(folder: string, ownFolders: readonly string[]): Promise<Bounds> {
  const given = resolve(folder);
  const root = await realpath(given).catch((cause) => {
    throw new AppError('not_found', `The folder ${given} is not there.`, 'Create it, or name another one.', { cause });
  });
  const isInside = (path: string) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
  // By both names: a link to such a folder is not to be taken away either.
  const ways = await Promise.all(
    ownFolders.map(async (path) => [resolve(path), await realpath(path).catch(() => path)]),
  );
  const hidden = ways.filter(([, real]) => !(holds(real!, root) && alike(real!) !== alike(root))).flat();
  const isHidden = (path: string) => hidden.some((own) => holds(own, path));
  const outside = (path: string): AppError =>
    new AppError('refused', `${JSON.stringify(path)} is outside ${given}.`, 'Name a path inside that folder.');

  function locate(path: string): string {
    if (path.includes('\0')) throw new AppError('usage', 'A path has a NUL character in it.', 'Name a real path.');
    if (process.platform === 'win32' && /[:*?"<>|]/.test(path.replace(/^[A-Za-z]:/, ''))) throw outside(path);
    const whole = resolve(root, path);
    // The root may be named as it was given, where a link leads to it.
    const from = isAbsolute(path) && !isInside(whole) ? given : root;
    const located = relative(from, whole);
    if (located === '..' || located.startsWith(`..${sep}`) || isAbsolute(located)) throw outside(path);
    return located;
  }

  return {
    root,
    hidden,
    locate,
    isInside,
    isHidden,
    mustShow(real, shown) {
      if (!isHidden(real)) return;
      throw new AppError('refused', `${JSON.stringify(shown)} is in Gantry's own folder.`, 'Tools cannot reach it.');
    },
    outside,
  };
}

/** Opens what lies within the bounds, each step from an open folder. Whoever opens a place closes it. */
interface Steps {
  /** `way`: the path that is opened; `shown`: as the caller named it. */
  openAt(way: string, shown: string, flags: number): Promise<Place>;
  /** The folder that holds the last name of a path, step by step from the root. */
  openParent(located: string, createDirs: boolean): Promise<Place>;
  /** A name inside an open folder, so that its path is not walked again. */
  within(folder: Place, name: string): string;
}

function createSteps({ root, isInside, mustShow, outside }: Bounds): Steps {
  /** Where the open file lies now. */
  async function whereIs(handle: FileHandle, path: string): Promise<string> {
    if (linux) return (await readlink(`/proc/self/fd/${handle.fd}`)).replace(/ \(deleted\)$/, '');
    const real = await realpath(path);
    const [held, named] = await Promise.all([handle.stat(), lstat(real)]);
    if (held.dev !== named.dev || held.ino !== named.ino) throw outside(path);
    return real;
  }

  async function openAt(way: string, shown: string, flags: number): Promise<Place> {
    let handle: FileHandle;
    try {
      // Without O_NONBLOCK a named pipe would block us forever.
      handle = await open(way, flags | O_NONBLOCK);
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ENOTDIR') throw missing(shown, cause);
      if (code === 'ELOOP') throw outside(shown);
      throw new AppError(
        'refused',
        `${JSON.stringify(shown)} cannot be opened: ${code ?? message}.`,
        'Fix its permissions.',
        { cause },
      );
    }
    try {
      const real = await whereIs(handle, way);
      if (!isInside(real)) throw outside(shown);
      mustShow(real, shown);
      return { path: relative(root, real), handle };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async function openParent(located: string, createDirs: boolean): Promise<Place> {
    let folder = await openAt(root, '.', O_RDONLY | O_DIRECTORY);
    for (const name of dirname(located).split(sep)) {
      if (name === '' || name === '.') continue;
      const shown = join(folder.path, name);
      try {
        const way = wayTo(folder, root, name);
        if (createDirs) await makeFolder(way, shown);
        const next = await openAt(way, shown, O_RDONLY | O_DIRECTORY);
        await folder.handle.close();
        folder = next;
      } catch (error) {
        await folder.handle.close();
        throw error;
      }
    }
    return folder;
  }

  return { openAt, openParent, within: (folder, name) => wayTo(folder, root, name) };
}

async function makeFolder(way: string, shown: string): Promise<void> {
  try {
    await mkdir(way);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    throw new AppError(
      'refused',
      `The folder ${JSON.stringify(shown)} cannot be created: ${code ?? message}.`,
      'Fix its permissions.',
      { cause },
    );
  }
}

const missing = (path: string, cause?: unknown): AppError =>
  new AppError('not_found', `${JSON.stringify(path)} is not there.`, 'List its folder to see what is there.', {
    cause,
  });

/** Disks of these systems ignore case. */
const alike = (path: string): string => (linux ? path : path.toLowerCase());

function holds(folder: string, path: string): boolean {
  const [outer, inner] = [alike(folder), alike(path)];
  return inner === outer || inner.startsWith(outer.endsWith(sep) ? outer : outer + sep);
}

const wayTo = (folder: Place, root: string, name: string): string =>
  linux ? `/proc/self/fd/${folder.handle.fd}/${name}` : join(root, folder.path, name);

/** All names in an open folder, sorted. */
async function namesIn(folder: Place, root: string): Promise<string[]> {
  const names = await readdir(linux ? `/proc/self/fd/${folder.handle.fd}` : join(root, folder.path));
  return names.sort();
}

/** The kind of a name in an open folder; its link is not followed. */
export async function kindIn(
  folder: Place,
  root: string,
  name: string,
): Promise<{ kind: EntryKind; size: number } | null> {
  const found = await lstat(wayTo(folder, root, name)).catch(() => null);
  if (found === null) return null;
  const kind = found.isFile() ? 'file' : found.isDirectory() ? 'folder' : found.isSymbolicLink() ? 'link' : 'other';
  return { kind, size: found.size };
}
export type EntryKind = 'file' | 'folder' | 'link' | 'other';

async function contentOf(way: string): Promise<Uint8Array | null> {
  const handle = await open(way, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null);
  if (handle === null) return null;
  try {
    const found = await handle.stat();
    if (!found.isFile() || found.size > largestCompared) return null;
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}
