/**
 * The data folder of one computer, or of a cloud: made 0700, locked for one program, with its keys; for a computer also with its
 * owner's token and its id.
 * Must not know servers.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';
import { AppError } from '../contracts/common/errors.ts';
import { type Clock, iso } from '../kit/clock/clock.ts';
import type { Ids } from '../kit/ids/ids.ts';
import { sealedPrefix } from '../kit/secrets/sealer.ts';
import { ensureTokenFile, writePrivateFile } from '../kit/secrets/token-file.ts';
import { takeInstanceLock } from '../kit/store/instance-lock.ts';
import { rowsBeginning } from '../kit/store/rows-beginning.ts';
import { undoCutOff } from './backup/exchange.ts';
import type { Places } from './places.ts';

const Computer = z.strictObject({ id: z.string().regex(/^computer_[0-9A-Z]{26}$/), createdAt: z.string() });
const Holder = z.object({ pid: z.number(), address: z.string().nullable() });

/** A command that looks whether Gantry runs holds the lock for a moment. */
const lookMs = 250;

interface Identified {
  readonly id: string;
  readonly name: string;
}

export interface CloudFolder {
  readonly places: Places;
  /** Seals every secret at rest. */
  readonly masterKey: string;
  /** The service token; a program that can read it administers this cloud. */
  readonly internalToken: string;
  /** Tells a second instance and the command line where this one is; `listens` where that is another address. */
  announce(address: string, listens?: string): void;
  release(): void;
}

export interface DataFolder extends CloudFolder {
  readonly ownerToken: string;
  readonly computer: Identified;
}

export interface DataFolderDeps {
  readonly places: Places;
  readonly clock: Clock;
  readonly ids: Ids;
  /** How a person calls Gantry from here, such as `npx gantry`. */
  readonly gantry: string;
}

/** For a program with a runtime: it has one owner, and is a computer. */
export function openDataFolder(deps: DataFolderDeps): DataFolder {
  const { places, clock, ids } = deps;
  return open(deps, () => ({
    ownerToken: ensureTokenFile(places.token),
    computer: ensureComputer(places.computer, clock, ids),
  }));
}

/** For a cloud of many people: it is nobody's computer. */
export function openCloudFolder(deps: DataFolderDeps): CloudFolder {
  return open(deps, () => ({}));
}

/** Locks the folder before anything in it is opened. A second instance is `refused` with the first one's pid and address. */
function open<More>({ places, clock, gantry }: DataFolderDeps, more: () => More): CloudFolder & More {
  makePrivate(places.home);
  makePrivate(places.run);
  makePrivate(places.logs);
  const release = takeInstanceLock(places.lock, lookMs);
  if (release === null) throw alreadyRunning(places, gantry);
  try {
    // A restore that was killed on its way: what was there before it is put back.
    undoCutOff(places.home);
    const announce = (address: string | null, listens?: string) =>
      writePrivateFile(places.holder, JSON.stringify({ pid: process.pid, address, listens, since: iso(clock.now()) }));
    announce(null);
    refuseLostKey(places, gantry);
    return {
      places,
      masterKey: ensureTokenFile(places.masterKey),
      internalToken: ensureTokenFile(places.internalToken),
      ...more(),
      announce,
      release() {
        rmSync(places.holder, { force: true });
        release();
      },
    };
  } catch (error) {
    release();
    throw error instanceof AppError ? error : cannotWrite(places.home, error as NodeJS.ErrnoException);
  }
}

function cannotWrite(home: string, cause: NodeJS.ErrnoException): AppError {
  return cause.code === 'ENOSPC' || cause.code === 'EDQUOT'
    ? new AppError('transport', `The disk that holds ${home} is full.`, 'Free some space, then start again.', { cause })
    : new AppError(
        'transport',
        `${home} cannot be written: ${cause.message}.`,
        'Fix its permissions, or set GANTRY_HOME to another folder.',
        {
          cause,
        },
      );
}

function makePrivate(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    // An existing folder keeps its mode, and this one guards every socket and token in it.
    chmodSync(folder, 0o700);
  } catch (cause) {
    throw new AppError(
      'usage',
      `The folder ${folder} cannot be used: ${(cause as Error).message}.`,
      'Fix its permissions, or set GANTRY_HOME to another folder.',
      { cause },
    );
  }
}

function alreadyRunning(places: Places, gantry: string): AppError {
  let who = '';
  try {
    const holder = Holder.parse(JSON.parse(readFileSync(places.holder, 'utf8')));
    who = ` (process ${holder.pid}${holder.address === null ? ', still starting' : `, ${holder.address}`})`;
  } catch {
    // The file is not written yet; only the lock shows that a process is there.
  }
  return new AppError(
    'refused',
    `Gantry is already running${who} in ${places.home}.`,
    `Open it: ${gantry} open. To start it in another workspace, stop it first: ${gantry} stop. A second Gantry needs a GANTRY_HOME of its own.`,
  );
}

function ensureComputer(path: string, clock: Clock, ids: Ids): Identified {
  let text: string | null = null;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
  }
  const name = hostname();
  if (text === null) {
    const id = ids.next('computer');
    writePrivateFile(path, `${JSON.stringify({ id, createdAt: iso(clock.now()) })}\n`);
    return { id, name };
  }
  try {
    return { id: Computer.parse(JSON.parse(text)).id, name };
  } catch (cause) {
    throw new AppError(
      'needs_person',
      `${path} is damaged.`,
      'Restore it from a backup. Without it this counts as a new computer and must be paired again.',
      { cause },
    );
  }
}

/** What a person calls the rows of a table; what is not here is named by its table. */
const words: Readonly<Record<string, string>> = {
  device: 'the identity of this computer',
  home_secret: 'the pairing with its cloud',
  engine_secret: 'secrets of the vault',
  model_place: 'keys of model providers',
  attached_server: 'secrets of attached tool servers',
  oauth_grant: 'sign-ins at other services',
  computer: 'the keys of computers',
  ticket_key: 'the key that signs peer tickets',
  push_key: 'the keys of web push',
  edge_subscription: 'secrets of webhooks',
  connector_registration: 'addresses of connector events',
  phone_invite: 'invites to phone numbers',
};

/**
 * A data folder without its master key although something in it was sealed: a new key would open none of it, and a person who only mislaid the file
 * would lose everything without warning. Throws `refused`, naming what would be lost; nothing was changed then. Must not open sealed values.
 */
function refuseLostKey({ home, masterKey, runtimeDb, cloudDb }: Places, gantry: string): void {
  if (existsSync(masterKey)) return;
  const lost = [runtimeDb, cloudDb].flatMap((file) => [...rowsBeginning(file, sealedPrefix)]);
  if (lost.length === 0) return;
  const named = lost.map(([table, rows]) => `${words[table] ?? table} (${rows})`).join(', ');
  throw new AppError(
    'refused',
    `master.key is missing from ${home}. Without it these cannot be opened: ${named}.`,
    `Put the file back, or restore a backup that contains it: ${gantry} restore <file>. To start without them, use --new-master-key.`,
  );
}
