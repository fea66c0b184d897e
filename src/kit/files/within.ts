/**
 * Reads and writes files of a folder that is not Gantry's own, such as a cloned repository, where any name can be a pipe, a device, a link to another
 * place or a file without end. Only regular files inside the folder are read, only up to a limit, and nothing here waits for another program. Must
 * not know what the files mean.
 */
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  opendirSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

type Found =
  | { readonly is: 'file'; readonly bytes: Buffer }
  | { readonly is: 'absent' }
  /** `why` is a sentence that says what is there instead. */
  | { readonly is: 'unfit'; readonly why: string };

/** Windows has neither flag; there the path of the open handle is looked up again instead. */
const guarded = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Reads one file. A path is absolute, or relative to `root`. Never throws because of the folder's content. */
export function readWithin(root: string, path: string, limit: number): Found {
  const handle = openWithin(root, path);
  if (typeof handle !== 'number') return handle;
  try {
    const { size } = fstatSync(handle);
    if (size > limit) return unfit(`It has ${size} bytes; at most ${limit} are read.`);
    // One byte more than the limit, to notice a file that grows in the meantime.
    const bytes = Buffer.alloc(Math.min(limit, Math.max(size, 4096)) + 1);
    let length = 0;
    while (length < bytes.length) {
      const read = readSync(handle, bytes, length, bytes.length - length, length);
      if (read === 0) break;
      length += read;
    }
    if (length === bytes.length) return unfit(`It is larger than ${length - 1} bytes, or grows while it is read.`);
    return { is: 'file', bytes: bytes.subarray(0, length) };
  } catch (error) {
    return unfit(`It cannot be read (${codeOf(error)}).`);
  } finally {
    closeSync(handle);
  }
}

/** Like {@link readWithin}, as UTF-8 text. */
export function readTextWithin(root: string, path: string, limit: number): string | Exclude<Found, { is: 'file' }> {
  const found = readWithin(root, path, limit);
  return found.is === 'file' ? found.bytes.toString('utf8') : found;
}

/** A file that a person named, anywhere and through any links: the same limits, and it never waits. */
export function readNamed(path: string, limit: number): Found {
  try {
    const real = realpathSync(path);
    return readWithin(dirname(real), real, limit);
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? { is: 'absent' } : unfit(`It cannot be read (${codeOf(error)}).`);
  }
}

/** Opens a regular file inside `root` to stream it. The caller closes it. */
export function openWithin(root: string, path: string): number | Exclude<Found, { is: 'file' }> {
  const asked = resolve(root, path);
  let handle: number | null = null;
  try {
    const top = realpathSync(root);
    const real = realpathSync(asked);
    if (!isWithin(top, real)) return unfit(`It leads out of ${root}: ${real}.`);
    // Checked before opening: opening a device can have an effect, and opening a socket fails without a reason.
    const kind = kindOf(lstatSync(real));
    if (kind !== null) return unfit(`It is ${kind}, not a file.`);
    handle = openSync(real, constants.O_RDONLY | guarded);
    const other = kindOf(fstatSync(handle));
    const moved = other === null && !stillWithin(handle, top, real);
    if (other === null && !moved) return handle;
    closeSync(handle);
    return unfit(other === null ? 'It was moved while it was opened.' : `It is ${other}, not a file.`);
  } catch (error) {
    if (handle !== null) closeSync(handle);
    const code = codeOf(error);
    return code === 'ENOENT' ? absentOr(asked) : unfit(`It cannot be read (${code}).`);
  }
}

/** A broken link exists and cannot be read; a name without any entry is absent. */
function absentOr(path: string): Exclude<Found, { is: 'file' }> {
  const there = lstatSync(path, { throwIfNoEntry: false });
  return there === undefined ? { is: 'absent' } : unfit('It is a link to nothing.');
}

/** A folder above may have become a link between the check of the path and the opening of the file. */
function stillWithin(handle: number, top: string, real: string): boolean {
  if (process.platform === 'linux') return isWithin(top, readlinkSync(`/proc/self/fd/${handle}`));
  const [open, named] = [fstatSync(handle), lstatSync(real)];
  return realpathSync(real) === real && open.ino === named.ino && open.dev === named.dev;
}

interface Listed {
  readonly entries: readonly { readonly name: string; readonly isFolder: boolean; readonly isFile: boolean }[];
  /** There are more entries than the limit. */
  readonly more: boolean;
}

const nothing: Listed = { entries: [], more: false };

/** Entries of one folder inside `root`, sorted; empty if there is no such folder. Links are neither file nor folder. */
export function listWithin(root: string, folder: string, limit: number): Listed {
  const entries: Listed['entries'][number][] = [];
  try {
    const real = realpathSync(resolve(root, folder));
    if (!isWithin(realpathSync(root), real) || !lstatSync(real).isDirectory()) return nothing;
    const open = opendirSync(real);
    try {
      for (let entry = open.readSync(); entry !== null; entry = open.readSync()) {
        if (entries.length === limit) return { entries: sorted(entries), more: true };
        entries.push({ name: entry.name, isFolder: entry.isDirectory(), isFile: entry.isFile() });
      }
    } finally {
      open.closeSync();
    }
  } catch {
    return nothing;
  }
  return { entries: sorted(entries), more: false };
}

const sorted = (entries: Listed['entries'][number][]) => entries.sort((a, b) => (a.name < b.name ? -1 : 1));

/** Changes when the file is replaced or written; empty while it does not exist. Reads metadata only. */
export function printOf(path: string): string {
  try {
    // One system call for a file and for none: this is read before each call of a tool.
    const named = lstatSync(path, { bigint: true, throwIfNoEntry: false });
    const found = named?.isSymbolicLink() ? statSync(path, { bigint: true, throwIfNoEntry: false }) : named;
    if (found !== undefined) return `${found.ino}.${found.size}.${found.mtimeNs}.${found.ctimeNs}`;
    return named === undefined ? '' : 'link to nothing';
  } catch (error) {
    return `unreadable ${codeOf(error)}`;
  }
}

/**
 * Makes a folder for Gantry's own files inside `root`. Anything in its way (a link, a pipe, a file) is not followed or overwritten: it is moved aside
 * under another name, and `onAside` is called.
 */
export function ownFolder(root: string, path: string, onAside: (from: string, to: string) => void = () => {}): string {
  let at = root;
  for (const part of path.split(/[/\\]/)) {
    at = join(at, part);
    const there = lstatSync(at, { throwIfNoEntry: false });
    if (there?.isDirectory()) continue;
    if (there !== undefined) putAside(at, onAside);
    mkdirSync(at, { mode: 0o700, recursive: true });
  }
  return at;
}

/** What is told to the log of what was moved aside. */
export const toldAside =
  (log: { warn(message: string): void }) =>
  (from: string, to: string): void =>
    log.warn(`${from} was in the way and is ${to} now.`);

/** Writes a file of Gantry's own inside `root`, whole or not at all: an existing entry of its name is replaced, never followed. */
export function writeWithin(
  root: string,
  path: string,
  text: string | Uint8Array,
  onAside: (from: string, to: string) => void = () => {},
): void {
  const folder = ownFolder(root, dirname(path), onAside);
  const file = join(root, path);
  if (lstatSync(file, { throwIfNoEntry: false })?.isDirectory()) putAside(file, onAside);
  const draft = join(folder, `.${relative(folder, file)}.new`);
  rmSync(draft, { force: true, recursive: true });
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_NOFOLLOW ?? 0);
  try {
    const handle = openSync(draft, flags, 0o644);
    try {
      // Repeats until all is written: near a full disk, a single write ends early without an error.
      writeFileSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(draft, file);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

function putAside(path: string, onAside: (from: string, to: string) => void): void {
  for (let number = 1; ; number += 1) {
    const to = `${path}.aside-${number}`;
    if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) continue;
    renameSync(path, to);
    onAside(path, to);
    return;
  }
}

/** Describes the entry that is there instead of a file; null for a file. */
function kindOf(status: Stats): string | null {
  if (status.isFile()) return null;
  if (status.isDirectory()) return 'a folder';
  if (status.isFIFO()) return 'a named pipe';
  if (status.isSocket()) return 'a socket';
  if (status.isSymbolicLink()) return 'a link';
  return 'a device';
}

export function isWithin(root: string, path: string): boolean {
  const way = relative(root, path);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && resolve(root, way) === path);
}

const unfit = (why: string): { readonly is: 'unfit'; readonly why: string } => ({ is: 'unfit', why });
const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? String(error);
