/**
 * Bearer tokens in files that only their owner can read: making, reading, comparing. First user: the owner token; second: bot tokens. Must not know
 * whom a token represents.
 */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';

/** 32 random bytes as base64url. */
export function newToken(random: (bytes: number) => Buffer = randomBytes): string {
  return random(32).toString('base64url');
}

/** A token shorter than this is refused wherever it is read: 128 bits as base64url. */
const shortestToken = 22;
const largestFile = 4096;
const posix = process.platform !== 'win32';

/**
 * Writes a file of mode 0600 that is whole or absent at any moment, and replaces an existing one. Never through `writeFile(…, {mode})`: that leaves
 * an existing 0644 unchanged.
 */
export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}`;
  const file = openSync(temporary, 'wx', 0o600);
  try {
    // Repeats until all is written: near a full disk, a single write ends early without an error.
    writeFileSync(file, text);
    fsyncSync(file);
    closeSync(file);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** Makes the names in a folder durable; Windows has no such call. */
function syncFolder(path: string): void {
  if (!posix) return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/**
 * Text of a private file. Refuses (`refused`) a link, anything but a regular file, another user's file, one that others may read or write, and one
 * above 4 KiB. `not_found` if there is none.
 */
export function readPrivateFile(path: string): string {
  const file = openPrivate(path);
  try {
    const status = fstatSync(file);
    const refuse = (what: string, action: string) => new AppError('refused', `${path} ${what}.`, action);
    if (!status.isFile()) throw refuse('is not a regular file', 'Remove it and start Gantry again to get a new one.');
    if (posix && status.uid !== process.getuid?.()) {
      throw refuse(`belongs to user ${status.uid}`, 'Remove it, or run Gantry as the user who owns it.');
    }
    if (posix && (status.mode & 0o077) !== 0) {
      const mode = (status.mode & 0o777).toString(8).padStart(4, '0');
      throw refuse(
        `has mode ${mode}: others may read it`,
        `Remove it and start Gantry again, or run: chmod 600 ${path}`,
      );
    }
    if (status.size > largestFile) throw refuse(`has ${status.size} bytes`, 'Remove it and start Gantry again.');
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function openPrivate(path: string): number {
  try {
    // O_NONBLOCK: opening a FIFO put in its place must not wait for a writer.
    return openSync(
      path,
      posix ? constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK : constants.O_RDONLY,
    );
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT')
      throw new AppError('not_found', `${path} does not exist.`, 'Start Gantry to create the file.');
    if (code === 'ELOOP') throw new AppError('refused', `${path} is a link.`, 'Remove it and start Gantry again.');
    throw new AppError('refused', `${path} cannot be read (${code}).`, 'Check who owns it, or remove it.', {
      cause: error,
    });
  }
}

/** The token in a private file. Refuses an empty or short one: nobody may start with it. */
export function readTokenFile(path: string): string {
  const token = readPrivateFile(path).trim();
  if (token.length < shortestToken || !/^[\x21-\x7e]+$/.test(token)) {
    const fact = token === '' ? `${path} is empty.` : `${path} has no usable token (${token.length} characters).`;
    throw new AppError('refused', fact, 'Remove it and start Gantry again: it makes a new token.');
  }
  return token;
}

/** Makes a new token in `path`, replacing an old one, and returns it. */
export function createTokenFile(path: string, token: string = newToken()): string {
  writePrivateFile(path, `${token}\n`);
  return token;
}

/** The token in `path`; makes one first if there is no file. A faulty existing file is refused, not repaired. */
export function ensureTokenFile(path: string): string {
  try {
    return readTokenFile(path);
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return createTokenFile(path);
    throw error;
  }
}

/** Hash under which a token is stored if it only has to be compared. */
export function tokenHash(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** Whether `given` is the token with this hash, in constant time. */
export function tokenMatches(expected: Buffer, given: string): boolean {
  return timingSafeEqual(expected, tokenHash(given));
}
