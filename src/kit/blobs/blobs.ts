/**
 * Files by the hash of their content: written once, never changed, equal content stored once. Owns a folder; must not know what the files mean. First
 * user: proofs of nodes; second: files that people send through channels.
 */
import { createHash, randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fsync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { AppError } from '../../contracts/common/errors.ts';

export interface Blob {
  readonly sha256: string;
  /** Bytes. */
  readonly size: number;
  /** Relative to the folder, with "/". */
  readonly path: string;
}

/** A complete file that is not stored yet. */
interface Draft {
  readonly sha256: string;
  readonly size: number;
  /** Stores it durably under its hash. */
  keep(): Promise<Blob>;
  /** Does nothing once it is kept or dropped. */
  drop(): void;
}

export interface Blobs {
  /** Reads a stream; more than `limit` bytes are `usage`, a cut stream rejects with its own error. Nothing remains of a failed one. */
  receive(source: AsyncIterable<Uint8Array>, limit: number): Promise<Draft>;
  /** Keeps an open file of the same file system under its hash and closes it; the file moves. */
  adopt(file: string, handle: number): Promise<Blob>;
  /** Absolute path of a blob, whether it exists or not. */
  fileOf(sha256: string): string;
}

const sync = promisify(fsync);
const chunkSize = 64 * 1024;

export function createBlobs(folder: string): Blobs {
  const incoming = join(folder, '.incoming');
  mkdirSync(incoming, { recursive: true, mode: 0o700 });
  // Half-written files of a killed program belong to nobody.
  for (const name of readdirSync(incoming)) rmSync(join(incoming, name), { force: true });

  const pathOf = (sha256: string) => `${sha256.slice(0, 2)}/${sha256}`;
  const fileOf = (sha256: string) => join(folder, pathOf(sha256));

  /** The file has been synced; after the rename its folder is, too. */
  async function place(from: string, sha256: string, size: number): Promise<Blob> {
    const to = fileOf(sha256);
    const blob = { sha256, size, path: pathOf(sha256) };
    if (sizeOf(to) === size) {
      rmSync(from, { force: true });
      return blob;
    }
    mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
    mustBeFolder(dirname(to));
    renameSync(from, to);
    await syncFolder(dirname(to));
    return blob;
  }

  return {
    fileOf,
    async receive(source, limit) {
      const file = join(incoming, randomBytes(12).toString('hex'));
      const handle = openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
      const hash = createHash('sha256');
      let size = 0;
      try {
        for await (const chunk of source) {
          size += chunk.byteLength;
          if (size > limit) {
            throw new AppError('usage', `The file is larger than ${limit} bytes.`, 'Send a smaller one.', {
              wireCode: 'too_large',
            });
          }
          hash.update(chunk);
          writeAll(handle, chunk);
        }
      } catch (error) {
        closeSync(handle);
        rmSync(file, { force: true });
        throw error;
      }
      const sha256 = hash.digest('hex');
      let open = true;
      return {
        sha256,
        size,
        async keep() {
          open = false;
          try {
            await sync(handle);
          } finally {
            closeSync(handle);
          }
          return place(file, sha256, size);
        },
        drop() {
          if (!open) return;
          open = false;
          closeSync(handle);
          rmSync(file, { force: true });
        },
      };
    },
    async adopt(file, handle) {
      try {
        const hash = createHash('sha256');
        const chunk = Buffer.allocUnsafe(chunkSize);
        let size = 0;
        for (
          let read = readSync(handle, chunk, 0, chunkSize, 0);
          read > 0;
          read = readSync(handle, chunk, 0, chunkSize, size)
        ) {
          hash.update(read === chunkSize ? chunk : chunk.subarray(0, read));
          size += read;
        }
        const sha256 = hash.digest('hex');
        if (sizeOf(fileOf(sha256)) !== size) await sync(handle);
        return await place(file, sha256, size);
      } finally {
        closeSync(handle);
      }
    },
  };
}

function writeAll(handle: number, chunk: Uint8Array): void {
  for (let from = 0; from < chunk.byteLength; ) from += writeSync(handle, chunk, from);
}

/** Only for a regular file: a link under this name is not followed. */
function sizeOf(file: string): number {
  const there = lstatSync(file, { throwIfNoEntry: false });
  return there?.isFile() ? there.size : -1;
}

/** The folder may be in a workspace, where other programs can replace a file of ours. */
function mustBeFolder(folder: string): void {
  if (lstatSync(folder).isDirectory()) return;
  throw new AppError('refused', `${folder} is not a folder.`, 'Remove what is there.', { status: 409 });
}

async function syncFolder(folder: string): Promise<void> {
  // Windows has no handle for a folder; the rename has to be enough there.
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    await sync(handle);
  } finally {
    closeSync(handle);
  }
}
