/**
 * Unpacks an archive that may be damaged or made by somebody else into a separate folder, and checks every part against the manifest. Writes nothing
 * that the manifest does not name, and no more of it than the manifest says. Must not know what parts mean.
 */
import { createHash, type Hash } from 'node:crypto';
import { once } from 'node:events';
import {
  closeSync,
  createReadStream,
  mkdirSync,
  openSync,
  readSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { Parser, type ReadEntry } from 'tar';
import { AppError } from '../../contracts/common/errors.ts';
import { type ArchivedFile, largestManifest, type Manifest, manifestName, notOne, parseManifest } from './manifest.ts';

export interface Damage {
  readonly path: string;
  /** `is missing`, `does not match its checksum` … */
  readonly what: string;
}

interface Unpacked {
  readonly manifest: Manifest;
  readonly damaged: readonly Damage[];
}

/** For headers, padding and the end of the archive, a file. */
const overhead = 4096;
/** Space left free for other programs that write to the disk. */
const spare = 64 * 1024 * 1024;

interface Open {
  readonly file: ArchivedFile;
  readonly handle: number;
  readonly digest: Hash;
  size: number;
}

/** Throws for what is no backup; what is wrong with single parts is in `damaged`. `into` exists and is empty. */
export async function unpack(
  archive: string,
  into: string,
  onProgress: (done: number, total: number) => void = () => {},
): Promise<Unpacked> {
  checkHead(archive);
  const total = statSync(archive).size;
  const reading = createReading(archive, into);
  const parser = new Parser({
    onReadEntry: (entry) => reading.entry(entry),
    onwarn: (_code, message) => reading.fault(String(message)),
    maxMetaEntrySize: 64 * 1024,
  });
  const packed = createReadStream(archive);
  const source = packed.pipe(createGunzip());
  const cut = new Promise<never>((_, reject) => {
    for (const stream of [source, parser]) (stream as NodeJS.EventEmitter).on('error', reject);
  });
  cut.catch(() => {});
  try {
    const feed = async () => {
      for await (const chunk of source as AsyncIterable<Buffer>) {
        reading.grew(chunk.length);
        onProgress(packed.bytesRead, total);
        if (reading.isOver()) return;
        if (!parser.write(chunk)) await once(parser, 'drain');
      }
      const ended = once(parser, 'end');
      parser.end();
      await ended;
    };
    await Promise.race([feed(), cut]);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOSPC' || code === 'EDQUOT') throw noSpace(into);
    reading.fault(code === 'Z_BUF_ERROR' ? 'it ends too early' : (error as Error).message);
  } finally {
    source.destroy();
    reading.close();
  }
  return reading.result();
}

function createReading(archive: string, into: string) {
  const promised = new Map<string, ArchivedFile>();
  const sound = new Set<string>();
  const wrong = new Map<string, string>();
  let manifest: Manifest | null = null;
  let text: Buffer[] = [];
  let current: Open | null = null;
  let left = largestManifest + overhead;
  let fault: string | null = null;
  let refusal: AppError | null = null;

  /** The parser calls from inside of a write: what goes wrong is kept, and told where it is waited for. */
  function guarded(work: () => void): void {
    if (refusal !== null) return;
    try {
      work();
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      refusal =
        error instanceof AppError
          ? error
          : code === 'ENOSPC' || code === 'EDQUOT'
            ? noSpace(into)
            : new AppError('transport', `${into} cannot be written: ${String(error)}.`, 'Check the disk.');
    }
  }

  function entry(given: ReadEntry): void {
    const path = given.path.replace(/^\.\//, '');
    guarded(() => {
      if (manifest === null) {
        if (path !== manifestName || given.type !== 'File') throw notOne(archive, 'it does not start with a manifest');
        if (given.size > largestManifest) throw notOne(archive, 'its manifest is too large');
        given.on('data', (chunk: Buffer) => text.push(Buffer.from(chunk)));
        given.on('end', () => guarded(readManifest));
        return;
      }
      begin(path, given);
    });
    given.resume();
  }

  function readManifest(): void {
    manifest = parseManifest(Buffer.concat(text).toString('utf8'), archive);
    text = [];
    for (const file of manifest.files) promised.set(file.path, file);
    const size = manifest.files.reduce((sum, file) => sum + file.size, 0);
    const disk = statfsSync(into);
    if (size + spare > disk.bavail * disk.bsize) throw noSpace(into, size);
    left += size + manifest.files.length * overhead;
  }

  function begin(path: string, given: ReadEntry): void {
    const file = promised.get(path);
    if (file === undefined || given.type !== 'File') {
      // A name that nobody promised is shown as data: it may hold anything.
      const what = given.type === 'File' ? 'a file' : `a ${given.type}`;
      throw notOne(
        archive,
        `it contains ${what} that its manifest does not list (${JSON.stringify(path.slice(0, 200))})`,
      );
    }
    if (sound.has(path) || wrong.has(path)) throw notOne(archive, `it contains ${JSON.stringify(path)} twice`);
    if (given.size !== file.size) {
      wrong.set(path, `has ${given.size} bytes instead of ${file.size}`);
      return;
    }
    const target = join(into, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    const open: Open = {
      file,
      handle: openSync(target, 'wx', file.exec === true ? 0o700 : 0o600),
      digest: createHash('sha256'),
      size: 0,
    };
    current = open;
    given.on('data', (chunk: Buffer) =>
      guarded(() => {
        // All of it: a single write ends early, and without an error, where the disk is about to be full.
        writeFileSync(open.handle, chunk);
        open.digest.update(chunk);
        open.size += chunk.length;
      }),
    );
    given.on('end', () => guarded(() => finish(open)));
  }

  function finish(open: Open): void {
    closeSync(open.handle);
    current = null;
    const same = open.size === open.file.size && open.digest.digest('hex') === open.file.sha256;
    if (same) sound.add(open.file.path);
    else wrong.set(open.file.path, 'does not match its checksum');
  }

  return {
    entry,
    fault(what: string): void {
      fault ??= what;
    },
    grew(bytes: number): void {
      left -= bytes;
      if (left < 0) refusal ??= notOne(archive, 'it unpacks to more than its manifest says');
    },
    isOver: () => refusal !== null,
    close(): void {
      if (current !== null) closeSync(current.handle);
    },
    result(): Unpacked {
      if (refusal !== null) throw refusal;
      if (manifest === null) throw notOne(archive, fault ?? 'it is empty');
      const damaged = [...promised.keys()]
        .filter((path) => !sound.has(path))
        .map((path) => ({ path, what: wrong.get(path) ?? `is missing${fault === null ? '' : ` (${fault})`}` }));
      return { manifest, damaged };
    },
  };
}

function checkHead(archive: string): void {
  let handle: number;
  try {
    handle = openSync(archive, 'r');
  } catch (cause) {
    throw new AppError('not_found', `${archive} cannot be read: ${(cause as Error).message}.`, 'Check the name.', {
      cause,
    });
  }
  try {
    const head = Buffer.alloc(2);
    const read = readSync(handle, head, 0, 2, 0);
    if (read === 0) throw notOne(archive, 'it is empty');
    if (head[0] !== 0x1f || head[1] !== 0x8b) throw notOne(archive, 'its first bytes are wrong');
  } catch (error) {
    throw error instanceof AppError ? error : notOne(archive, (error as Error).message);
  } finally {
    closeSync(handle);
  }
}

function noSpace(folder: string, need?: number): AppError {
  const much = need === undefined ? '' : ` It needs ${Math.ceil((need + spare) / 1024 ** 2)} MB.`;
  return new AppError(
    'transport',
    `The disk that holds ${dirname(folder)} has too little space to unpack the backup.${much} Nothing was changed.`,
    'Free some space, then restore again.',
  );
}
