/** `gantry backup`: one file with everything in a data folder that cannot be recreated, taken while Gantry runs. */
import {
  closeSync,
  createWriteStream,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { create, type WriteEntry } from 'tar';
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import { type Places, packageVersion } from '../places.ts';
import { collect, type OnBytes } from './collect.ts';
import { machineName } from './machine.ts';
import {
  type ArchivedFile,
  databases,
  installationOf,
  type Manifest,
  manifestName,
  stagingPrefix,
} from './manifest.ts';
import { readJson } from './read-json.ts';

interface WrittenBackup {
  readonly file: string;
  readonly bytes: number;
  readonly files: number;
  readonly workspaces: readonly string[];
  readonly databases: readonly string[];
  readonly unknown: readonly string[];
}

/** Bytes of a file: so often the progress moves. */
const packedAtOnce = 1 << 20;
const Computer = z.object({ id: z.string() });

/** Nothing is left behind when it fails, and the file is whole or not there. `refused` when there is one already. */
export async function writeBackup(options: {
  readonly places: Places;
  /** Absolute. */
  readonly file: string;
  readonly withSecrets: boolean;
  readonly clock: Clock;
  readonly machine?: string;
  /** How much is done, of all, and the file at work. */
  readonly onProgress?: OnBytes;
}): Promise<WrittenBackup> {
  const { places, file, withSecrets, clock, onProgress = () => {} } = options;
  if (existsSync(file)) throw new AppError('refused', `${file} already exists.`, 'Choose another name.');
  removeLeftOvers(places.home, clock.now());
  const staging = join(places.home, `${stagingPrefix}${process.pid}-${clock.now()}`);
  const part = join(dirname(file), `.${basename(file)}.part`);
  try {
    mkdirSync(staging, { mode: 0o700 });
    // Every byte is copied, read for its hash, and packed. Each takes about as long, so each is a third of the whole.
    const third =
      (before: number): OnBytes =>
      (done, total, what) =>
        onProgress(before + (total > 0 ? Math.min(1, done / total) : 1), 3, what);
    const { files, workspaces, unknown } = await collect({
      places,
      staging,
      withSecrets,
      onCopied: third(0),
      onChecked: third(1),
    });
    const computer = Computer.safeParse(readJson(places.computer));
    const manifest: Manifest = {
      gantry: 'backup',
      v: 1,
      version: packageVersion(),
      at: iso(clock.now()),
      home: places.home,
      computer: computer.success ? { id: computer.data.id, name: hostname() } : null,
      installation: installationOf(options.machine ?? machineName(), places.home),
      secrets: withSecrets,
      workspaces: [...workspaces],
      files: [...files],
    };
    writeFileSync(join(staging, manifestName), `${JSON.stringify(manifest)}\n`, { mode: 0o600 });
    rmSync(part, { force: true });
    // Names as they are: one with "@" in front would else be read as an archive to add.
    const names = [manifestName, ...files.map(({ path }) => path)].map((name) => `./${name}`);
    const { onWriteEntry, watched } = watchPacking(files, third(2));
    const archive = create(
      {
        cwd: staging,
        gzip: { level: 3 },
        portable: true,
        noDirRecurse: true,
        strict: true,
        maxReadSize: packedAtOnce,
        onWriteEntry,
      },
      names,
    );
    await pipeline(archive, watched, createWriteStream(part, { mode: 0o600, flags: 'wx' }));
    makeDurable(part);
    renameSync(part, file);
    const stores = databases.filter((name) => files.some(({ path }) => path === `home/${name}`));
    return { file, bytes: lstatSync(file).size, files: files.length, workspaces, databases: stores, unknown };
  } catch (error) {
    throw error instanceof AppError ? error : cannotWrite(file, error as NodeJS.ErrnoException);
  } finally {
    rmSync(part, { force: true });
    rmSync(staging, { recursive: true, force: true });
  }
}

/** One database may be nearly all of a backup: what was read of it tells how far that is. */
function watchPacking(files: readonly ArchivedFile[], onPacked: OnBytes) {
  const sizes = new Map(files.map(({ path, size }) => [path, size]));
  const total = files.reduce((sum, { size }) => sum + size, 0);
  let finished = 0;
  let open: { readonly entry: WriteEntry; readonly size: number }[] = [];
  return {
    onWriteEntry(entry: WriteEntry) {
      const size = sizes.get(entry.path.replace('./', ''));
      if (size !== undefined) open.push({ entry, size });
    },
    async *watched(archived: AsyncIterable<Buffer>) {
      for await (const chunk of archived) {
        for (const { entry, size } of open) if (entry.pos >= size) finished += size;
        open = open.filter(({ entry, size }) => entry.pos < size);
        const [first] = open;
        const done = open.reduce((sum, { entry }) => sum + entry.pos, finished);
        if (first !== undefined) onPacked(done, total, basename(first.entry.path));
        yield chunk;
      }
    },
  };
}

function makeDurable(file: string): void {
  const handle = openSync(file, 'r+');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

const day = 24 * 60 * 60_000;

/** Of backups that were killed. One that is a day old is nobody's any more. */
function removeLeftOvers(home: string, now: number): void {
  for (const name of readdirSync(home)) {
    const began = Number(/^\.backup-\d+-(\d+)$/.exec(name)?.[1] ?? Number.NaN);
    if (now - began > day) rmSync(join(home, name), { recursive: true, force: true });
  }
}

function cannotWrite(file: string, cause: NodeJS.ErrnoException): AppError {
  if (cause.code === 'ENOSPC' || cause.code === 'EDQUOT') {
    const action = 'Free some space or name a file on another disk. The unfinished copy is removed.';
    return new AppError('transport', `The disk is full: no backup was written (${cause.message}).`, action, { cause });
  }
  if (cause.code === 'ENOENT') {
    const fact = `No backup was written to ${file}: there is no folder ${dirname(file)}.`;
    return new AppError('not_found', fact, 'Create it first, or name a file elsewhere.', { cause });
  }
  return new AppError('transport', `No backup was written to ${file}: ${cause.message}.`, 'Name another file.', {
    cause,
  });
}
