/**
 * Collects a backup in a folder laid out like the archive: databases as complete copies of the same moment, everything else unchanged. Must not know
 * the archive's form.
 */
import { createHash } from 'node:crypto';
import {
  constants,
  copyFileSync,
  createReadStream,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isFormName, isReportName } from '../../kit/spool/bot-spool.ts';
import { copyStores, openCopy } from '../../kit/store/copy-store.ts';
import type { Places } from '../places.ts';
import { type ArchivedFile, besides, databases, kept, leftOut, secrets, spools } from './manifest.ts';

interface Collected {
  readonly files: readonly ArchivedFile[];
  readonly workspaces: readonly string[];
  /** What lies in the data folder and is not in the backup, beside what never is. */
  readonly unknown: readonly string[];
}

/** Bytes done, of all, and the file at work. */
export type OnBytes = (done: number, total: number, what: string) => void;

export async function collect({
  places,
  staging,
  withSecrets,
  onCopied,
  onChecked,
}: {
  readonly places: Places;
  readonly staging: string;
  readonly withSecrets: boolean;
  readonly onCopied: OnBytes;
  readonly onChecked: OnBytes;
}): Promise<Collected> {
  const home = join(staging, 'home');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const stores = databases.filter((name) => existsSync(join(places.home, name)));
  // Before the databases: a report that is taken in between is in both, and known by its id.
  copySpools(join(places.run, 'bots'), join(home, spools));
  // Comes first of what changes: rows written from here on belong to the time after this backup.
  const copies = stores.map((name) => ({ from: join(places.home, name), to: join(home, name) }));
  await copyStores(copies, (done, total, from) => onCopied(done, total, basename(from)));
  const wanted = kept.filter(
    (name) =>
      !(databases as readonly string[]).includes(name) &&
      (withSecrets || !(secrets as readonly string[]).includes(name)),
  );
  for (const name of wanted) copyTree(join(places.home, name), join(home, name));
  const workspaces = (await workspacesOf(places, join(home, 'runtime.db'))).filter((path) =>
    existsSync(join(path, '.gantry')),
  );
  workspaces.forEach((path, index) => {
    copyTree(join(path, '.gantry'), join(staging, 'workspaces', String(index)), notOfWorkspace);
  });
  const files: ArchivedFile[] = [];
  const paths = [...listFiles(staging)];
  const total = paths.reduce((sum, path) => sum + lstatSync(join(staging, path)).size, 0);
  let before = 0;
  for (const path of paths) {
    const file = await describe(staging, path, (done) => onChecked(before + done, total, basename(path)));
    before += file.size;
    files.push(file);
  }
  const unknown = readdirSync(places.home).filter(
    (name) => !kept.includes(name) && !leftOut.includes(name) && !besides(name),
  );
  return { files, workspaces, unknown };
}

/** Reports and their files; what a bot's program writes at this moment has another name. */
function copySpools(bots: string, to: string): void {
  if (!existsSync(bots)) return;
  for (const bot of readdirSync(bots)) {
    const spool = join(bots, bot, 'spool');
    if (![join(bots, bot), spool].every((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory())) continue;
    for (const name of readdirSync(spool)) {
      if (!isReportName(name) && !isFormName(name)) continue;
      // A bot can write what it likes there: a folder under such a name would make a manifest that nobody can read.
      if (lstatSync(join(spool, name), { throwIfNoEntry: false })?.isFile() !== true) continue;
      try {
        copyTree(join(spool, name), join(to, bot, name));
      } catch (error) {
        // The engine has taken it since.
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
  }
}

/** Commands that are under way write there. */
const notOfWorkspace = new Set(['ledger/running']);

/** Regular files only: a link could lead anywhere, a socket is nobody's data. What is half written (`.incoming`) is left out. */
function copyTree(from: string, to: string, without: ReadonlySet<string> = new Set(), below = ''): void {
  const status = lstatSync(from, { throwIfNoEntry: false });
  if (status?.isDirectory()) {
    mkdirSync(to, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(from)) {
      const path = below === '' ? name : `${below}/${name}`;
      if (name === '.incoming' || without.has(path)) continue;
      copyTree(join(from, name), join(to, name), without, path);
    }
    return;
  }
  if (!status?.isFile()) return;
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  // A file named by its hash is never written again: a second name for it is as good as a copy.
  if (!(isBlob.test(from) && linked(from, to))) copyFileSync(from, to, constants.COPYFILE_FICLONE);
}

const isBlob = /[\\/][0-9a-f]{64}$/;

function linked(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch {
    return false;
  }
}

/** Every workspace that this computer ever had teams in, and the last one used. */
async function workspacesOf(places: Places, runtimeDb: string): Promise<string[]> {
  const found = new Set<string>();
  if (existsSync(places.lastWorkspace)) found.add(readFileSync(places.lastWorkspace, 'utf8').trim());
  if (existsSync(runtimeDb)) {
    const store = openCopy(runtimeDb);
    try {
      const sql = `SELECT 1 FROM sqlite_schema WHERE name = 'factory_team'`;
      const rows = await store.read((tx) =>
        tx.get(sql) === undefined
          ? []
          : tx.all<{ workspace: string }>('SELECT DISTINCT workspace FROM factory_team ORDER BY workspace'),
      );
      for (const row of rows) found.add(row.workspace);
    } finally {
      store.close();
    }
  }
  found.delete('');
  return [...found];
}

function* listFiles(folder: string, below = ''): Generator<string> {
  const entries = readdirSync(join(folder, below), { withFileTypes: true });
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) yield* listFiles(folder, path);
    else yield path;
  }
}

async function describe(folder: string, path: string, onRead: (bytes: number) => void): Promise<ArchivedFile> {
  const file = join(folder, path);
  const digest = createHash('sha256');
  let size = 0;
  for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) {
    digest.update(chunk);
    size += chunk.length;
    onRead(size);
  }
  const mayRun = path.startsWith('workspaces/') && (lstatSync(file).mode & 0o100) !== 0;
  return { path, size, sha256: digest.digest('hex'), ...(mayRun ? { exec: true as const } : {}) };
}
