/**
 * `gantry restore`: unpacks and checks a backup beside the data, says what would change, and only then exchanges both. The old data is moved aside,
 * never deleted.
 */
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { verifyLedger } from '../../kit/ledger/create-ledger.ts';
import { inspectCopy, openCopy } from '../../kit/store/copy-store.ts';
import { stamp } from '../../kit/store/damage.ts';
import { takeInstanceLock } from '../../kit/store/instance-lock.ts';
import { cloudMigrations } from '../cloud-migrations.ts';
import type { Places } from '../places.ts';
import { runtimeMigrations } from '../runtime-migrations.ts';
import { exchange, type Move, undoCutOff } from './exchange.ts';
import { machineName } from './machine.ts';
import {
  asidePrefix,
  besides,
  databases,
  installationOf,
  kept,
  type Manifest,
  spools,
  stagingPrefix,
} from './manifest.ts';
import { type Damage, unpack } from './unpack.ts';

interface RestoreOptions {
  readonly places: Places;
  /** Absolute. */
  readonly file: string;
  /** Takes the parts that are whole. */
  readonly salvage: boolean;
  readonly dryRun: boolean;
  readonly clock: Clock;
  readonly machine?: string;
  /** Bytes of the archive that were read, of all. */
  readonly onProgress?: (done: number, total: number) => void;
}

export interface Restored {
  readonly manifest: Pick<Manifest, 'version' | 'at' | 'home' | 'computer' | 'secrets'>;
  /** What is put where. */
  readonly put: readonly string[];
  /** Where what was there lies now; null when nothing was there. */
  readonly aside: string | null;
  /** Parts that were left out, with `salvage`. */
  readonly damaged: readonly Damage[];
  readonly pairing: 'kept' | 'dropped' | 'none';
  /** Where the parts of a workspace lie that is not at the same place here. */
  readonly elsewhere: readonly Elsewhere[];
  readonly ledger: { readonly rows: number; readonly problem: string | null } | null;
  readonly undone: boolean;
}

interface Elsewhere {
  readonly workspace: string;
  readonly in: string;
  /** `taken`: the folder is here and has teams, which may be another Gantry's. */
  readonly why: 'absent' | 'taken';
}

const lookMs = 250;

/** Throws before anything is changed. `refused` while Gantry runs for this folder, unless it is a dry run. */
export async function restoreBackup(options: RestoreOptions): Promise<Restored> {
  const { places, clock } = options;
  for (const folder of [places.home, places.run]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(places.home, 0o700);
  // A dry run only reads what is there: it may look while Gantry runs.
  const release = options.dryRun ? () => {} : takeInstanceLock(places.lock, lookMs);
  if (release === null) {
    throw new AppError('refused', `Gantry runs in ${places.home}.`, 'Stop it first: `gantry stop`');
  }
  const staging = join(places.home, `${stagingPrefix}${process.pid}-${clock.now()}`);
  try {
    const undone = !options.dryRun && undoCutOff(places.home);
    mkdirSync(staging, { mode: 0o700 });
    return { ...(await restore(options, staging)), undone };
  } finally {
    rmSync(staging, { recursive: true, force: true });
    release();
  }
}

async function restore(options: RestoreOptions, staging: string): Promise<Omit<Restored, 'undone'>> {
  const { places, file, clock } = options;
  const { manifest, damaged: unpacked } = await unpack(file, staging, options.onProgress);
  const damaged = [...unpacked, ...inspect(staging, unpacked, file)];
  if (damaged.length > 0 && !options.salvage) throw isDamaged(file, damaged);
  // A database with a hole is worse than none; a folder of single files is not.
  for (const { path } of damaged) rmSync(join(staging, path), { force: true });
  const ledger = await ledgerIn(staging);

  const asideFolder = join(places.home, `${asidePrefix}${stamp(clock.now())}`);
  const sameOne = manifest.installation === installationOf(options.machine ?? machineName(), places.home);
  const hasPairing = existsSync(join(staging, 'home', 'pairing.json'));
  const pairing = hasPairing ? (sameOne ? 'kept' : 'dropped') : 'none';
  if (pairing === 'dropped') rmSync(join(staging, 'home', 'pairing.json'));
  const found = new Set(existsSync(join(staging, 'home')) ? readdirSync(join(staging, 'home')) : []);
  const present = readdirSync(places.home);
  const leaves = (name: string) =>
    found.has(name) ||
    [...found].some((one) => name.startsWith(`${one}-`) || name === `${one}.id`) ||
    (name === 'pairing.json' && pairing !== 'kept' && found.has('computer.json') && !sameOne);
  const aside: Move[] = present
    .filter((name) => (kept.includes(name) || (besides(name) && !name.includes('.damaged-'))) && leaves(name))
    .map((name) => ({ from: join(places.home, name), to: join(asideFolder, name) }));
  const put: Move[] = [...found]
    .filter((name) => name !== spools)
    .map((name) => ({ from: join(staging, 'home', name), to: join(places.home, name) }));
  for (const move of spoolsOf(staging, places)) {
    if (existsSync(move.to)) aside.push({ from: move.to, to: join(asideFolder, spools, basename(dirname(move.to))) });
    put.push(move);
  }
  const elsewhere: Elsewhere[] = [];
  followHome(join(staging, 'home', 'last-workspace'), manifest.home, places.home);
  manifest.workspaces.forEach((workspace, index) => {
    const from = join(staging, 'workspaces', String(index));
    if (!existsSync(from)) return;
    const own = join(places.home, 'workspaces', `${index}-${basename(workspace)}`);
    const found = placeOf(workspace, manifest.home, places.home);
    // A Gantry that still works there must not have its teams exchanged under it.
    const taken = found !== null && !sameOne && existsSync(join(found, '.gantry'));
    const to = found === null || taken ? own : found;
    if (to !== workspace) elsewhere.push({ workspace, in: to, why: taken ? 'taken' : 'absent' });
    const target = join(to, '.gantry');
    // Beside it: a rename never crosses disks.
    if (existsSync(target)) aside.push({ from: target, to: `${target}.${asidePrefix}${stamp(clock.now())}` });
    put.push({ from, to: target });
  });
  const answer = {
    manifest,
    put: put.map(({ to }) => to),
    aside: aside.length === 0 ? null : asideFolder,
    damaged,
    pairing,
    elsewhere,
    ledger,
  } as const;
  if (options.dryRun) return answer;
  let near: ReturnType<typeof broughtNear> | null = null;
  try {
    near = broughtNear(put, `restored-${stamp(clock.now())}`);
    exchange(places.home, [...aside, ...near.moves]);
  } catch (cause) {
    near?.remove();
    throw new AppError(
      'transport',
      `The backup could not be restored: ${(cause as Error).message}. Nothing was changed.`,
      'Fix the cause, then restore again.',
      { cause },
    );
  }
  return answer;
}

/** Where the reports of bots go that nobody had taken. */
function spoolsOf(staging: string, { run }: Places): Move[] {
  const folder = join(staging, 'home', spools);
  const bots = existsSync(folder) ? readdirSync(folder) : [];
  return bots.map((bot) => ({ from: join(folder, bot), to: join(run, 'bots', bot, 'spool') }));
}

/** Databases are read whole: what a hash cannot say is whether they were sound when they were saved. */
function inspect(staging: string, before: readonly Damage[], archive: string): Damage[] {
  const steps = { 'runtime.db': runtimeMigrations, 'cloud.db': cloudMigrations };
  const found: Damage[] = [];
  for (const name of databases) {
    const path = `home/${name}`;
    const copy = join(staging, path);
    if (!existsSync(copy) || before.some((damage) => damage.path === path)) continue;
    const problem = inspectCopy(copy, steps[name], `${name} in ${archive}`);
    if (problem !== null) found.push({ path, what: `is damaged (${problem})` });
  }
  return found;
}

async function ledgerIn(staging: string): Promise<Restored['ledger']> {
  const file = join(staging, 'home', 'runtime.db');
  if (!existsSync(file)) return null;
  const store = openCopy(file);
  try {
    const known = await store.read((tx) => tx.get(`SELECT 1 FROM sqlite_schema WHERE name = 'ledger_head'`));
    if (known === undefined) return null;
    const verdict = await verifyLedger(store);
    return { rows: verdict.rows, problem: verdict.ok ? null : verdict.fact };
  } finally {
    store.close();
  }
}

/** A start with this data folder must not work in the workspace of another one. */
function followHome(file: string, homeThen: string, homeNow: string): void {
  if (!existsSync(file)) return;
  const moved = insideHome(readFileSync(file, 'utf8').trim(), homeThen, homeNow);
  if (moved !== null) writeFileSync(file, `${moved}\n`);
}

/** The workspace that Gantry made itself lies in the data folder. */
function insideHome(workspace: string, homeThen: string, homeNow: string): string | null {
  const inside = relative(homeThen, workspace);
  return inside !== '' && !inside.startsWith('..') && !isAbsolute(inside) ? join(homeNow, inside) : null;
}

/** Where a workspace is now; null when it is not there. */
function placeOf(workspace: string, homeThen: string, homeNow: string): string | null {
  const moved = insideHome(workspace, homeThen, homeNow);
  if (moved !== null) return moved;
  if (!isAbsolute(workspace) || resolve(workspace) !== workspace.replace(trailing, '')) return null;
  return statSync(workspace, { throwIfNoEntry: false })?.isDirectory() === true ? workspace : null;
}

const trailing = sep === '/' ? /(?<=.)\/+$/ : /(?<=.)[\\/]+$/;

/** A workspace may lie on another disk than the data folder, and a rename never crosses disks. */
function broughtNear(put: readonly Move[], at: string): { moves: Move[]; remove: () => void } {
  const copies: string[] = [];
  const moves = put.map((move) => {
    if (basename(move.to) !== '.gantry') return move;
    const near = `${move.to}.${at}`;
    mkdirSync(dirname(move.to), { recursive: true });
    copies.push(near);
    cpSync(move.from, near, { recursive: true, errorOnExist: true, force: false });
    return { from: near, to: move.to };
  });
  return {
    moves,
    remove() {
      for (const copy of copies) rmSync(copy, { recursive: true, force: true });
    },
  };
}

const shown = 10;

function isDamaged(file: string, damaged: readonly Damage[]): AppError {
  const named = damaged.slice(0, shown).map(({ path, what }) => `${path} ${what}`);
  const more = damaged.length > shown ? `; and ${damaged.length - shown} more` : '';
  return new AppError(
    'refused',
    `${file} is damaged: ${named.join('; ')}${more}. Nothing was changed.`,
    'Restore another backup, or restore only the undamaged files of this one with --salvage.',
  );
}
