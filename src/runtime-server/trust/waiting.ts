/**
 * Finds the files that decide what may run and wait for their person's yes. Reads the folder within limits: a file that cannot be read has no
 * effect, and its reader reports it.
 */
import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { byName } from '../../contracts/common/by-name.ts';
import { AppError } from '../../contracts/common/errors.ts';
import type { HarnessName } from '../../contracts/factory/agent.ts';
import { maxTeams } from '../../contracts/factory/team-file.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { isWithin, listWithin, printOf, readTextWithin } from '../../kit/files/within.ts';
import { policyFile } from '../policy/file.ts';
import { createPackages, isPackageFolder } from './packages.ts';
import { settingsIn, settingsOf } from './settings-files.ts';
import { goneHash, hashOfText, type Trust, waitsForYes } from './trust.ts';

export type FileKind = 'policy' | 'team' | 'template' | 'settings';

export interface WaitingFile {
  /** Absolute. */
  readonly path: string;
  readonly kind: FileKind;
  readonly change: 'new' | 'changed' | 'removed';
  /** Of the current content; `none` for a removed file. */
  readonly hash: string;
  /** Its person said no to this content. */
  readonly refused: boolean;
}

export interface Waiting {
  /** By path. */
  files(): readonly WaitingFile[];
  /** Of all that wait: what `--trust` takes. Null: nothing waits. */
  hash(): string | null;
  /** The content now; null where it is gone, or cannot be read. */
  textOf(file: Pick<WaitingFile, 'path'>): string | null;
  /** Throws `needs_person` while one of these files waits. */
  demand(paths: readonly string[]): void;
  /** The same for what an agent program reads that starts in this folder. */
  demandSettings(harness: HarnessName, cwd: string, alone: boolean): void;
}

/** Bytes of one file. The same for all kinds: nobody can agree to a larger one. */
const largest = 256 * 1024;
/** Of all files together; files beyond it are not read. */
const maxBytes = 16 * 1024 * 1024;
const maxFiles = 1000;
/** Places outside the workspace that somebody wanted to start a program in. */
const maxAsked = 200;

/** Folders of packages have thousands of files: a result is reused for this long, except when somebody starts or answers. Milliseconds. */
const packagesLookMs = 30_000;

const absent = { is: 'absent' } as const;

/** Null: it cannot be read. */
function hashed(text: ReturnType<typeof readTextWithin>): { readonly hash: string | null; readonly size: number } {
  if (typeof text !== 'string') return { hash: text.is === 'absent' ? goneHash : null, size: 0 };
  return { hash: hashOfText(text), size: text.length };
}

export function createWaiting(trust: Trust, clock: Pick<Clock, 'monotonic'>): Waiting {
  const root = trust.workspace;
  const packages = createPackages();
  /** Of folders of packages: the last result, and its time. */
  const looked = new Map<string, { readonly hash: string | null; readonly size: number; readonly at: number }>();
  /** Of files that have not changed since: their hash and size. */
  const known = new Map<string, { readonly print: string; readonly hash: string | null; readonly size: number }>();
  /** Files that a start was refused for, wherever they lie. */
  const asked = new Set<string>();

  const rootOf = (path: string): string => (isWithin(root, path) ? root : join(path, '..'));
  const readFile = (path: string) => readTextWithin(rootOf(path), path, largest);
  const read = (path: string) => (isPackageFolder(path) ? readPackages(path) : readFile(path));

  function readPackages(folder: string): ReturnType<typeof readFile> {
    const found = lstatSync(folder, { throwIfNoEntry: false }) === undefined ? absent : packages.read(folder);
    looked.set(folder, { ...hashed(found), at: clock.monotonic() });
    return found;
  }

  /** Null: it cannot be read. */
  function hashAt(path: string): { readonly hash: string | null; readonly size: number } {
    if (isPackageFolder(path)) {
      const last = looked.get(path);
      return last !== undefined && clock.monotonic() - last.at < packagesLookMs ? last : hashed(read(path));
    }
    const print = printOf(path);
    const before = known.get(path);
    if (before?.print === print) return before;
    const now = { print, ...hashed(read(path)) };
    if (known.size > 10 * maxFiles) known.clear();
    known.set(path, now);
    return now;
  }

  function files(): WaitingFile[] {
    const at = (...parts: string[]) => join(root, '.gantry', ...parts);
    const listed = (folder: string, limit: number) => listWithin(root, at(folder), limit).entries;
    const all: [string, FileKind][] = [[join(root, policyFile), 'policy']];
    for (const { name, isFolder } of listed('teams', maxTeams)) {
      if (isFolder && !name.startsWith('.')) all.push([at('teams', name, 'team.yaml'), 'team']);
    }
    for (const { name } of listed('templates', maxFiles)) {
      if (/^[^.].*\.(?:json|md)$/.test(name)) all.push([at('templates', name), 'template']);
    }
    for (const path of settingsIn(root).files) all.push([path, 'settings']);
    for (const path of asked) if (!all.some(([other]) => other === path)) all.push([path, 'settings']);
    let bytes = 0;
    const waiting: WaitingFile[] = [];
    for (const [path, kind] of all) {
      if (bytes > maxBytes) break;
      const { hash, size } = hashAt(path);
      bytes += size;
      if (hash === null || (hash === goneHash && kind !== 'policy')) continue;
      if (!trust.waits(path, hash)) continue;
      const change = hash === goneHash ? 'removed' : trust.yesTo(path) === null ? 'new' : 'changed';
      waiting.push({ path, kind, change, hash, refused: trust.refused(path, hash) });
    }
    return waiting.sort((a, b) => byName(trust.shown(a.path), trust.shown(b.path)));
  }

  function demand(paths: readonly string[]): void {
    const waits = paths.filter((path) => {
      const text = read(path);
      if (typeof text !== 'string' && text.is === 'unfit') {
        throw new AppError('refused', `${trust.shown(path)} cannot be agreed to. ${text.why}`, 'Fix or delete it.');
      }
      return trust.judge(path, typeof text === 'string' ? text : null).waits;
    });
    if (waits.length === 0) return;
    for (const path of waits) if (asked.size < maxAsked) asked.add(path);
    throw waitsForYes(waits.map(trust.shown));
  }

  return {
    files,
    hash() {
      const all = files();
      if (all.length === 0) return null;
      // Not in the order that people read: that one may change with the data of the language, and this hash is kept by scripts.
      const listed = all
        .map((file) => [trust.shown(file.path), file.hash])
        .sort(([a = ''], [b = '']) => (a < b ? -1 : 1));
      return createHash('sha256').update(JSON.stringify(listed)).digest('hex');
    },
    textOf({ path }) {
      const text = read(path);
      return typeof text === 'string' ? text : null;
    },
    demand,
    demandSettings(harness, cwd, alone) {
      const settings = settingsOf(harness, root, cwd, alone);
      if (settings.tooMany !== null) {
        throw new AppError(
          'refused',
          `${trust.shown(settings.tooMany)} has more files than Gantry can show you: nothing that reads them is started.`,
          'Move out the files that are not settings.',
        );
      }
      demand(settings.files);
    },
  };
}
