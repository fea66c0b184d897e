/**
 * Keeps a command in the sandbox from changing files that decide what may run. Existing ones are read-only to it; a folder of git cannot be moved.
 * The rest is checked after the command: new files are set aside beside their place, moved ones are put back, and the result reports both. Must not
 * know bubblewrap's options.
 */
import { closeSync, constants, mkdirSync, openSync, readlinkSync, renameSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { isInstruction } from '../policy/what-runs.ts';
import {
  depthOf,
  type Finder,
  type Found,
  identityOf,
  isIn,
  isUsualOfWorktree,
  kindOf,
  looksLikeGit,
  maxFolders,
  namedByGit,
  realOf,
} from './what-runs-finder.ts';

interface GuardRequest {
  /** Folders that the command may write; real paths. The first is its own. */
  readonly roots: readonly string[];
  /** Folders that no command sees. */
  readonly hidden: readonly string[];
  /** For git, which lists the paths in its settings. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether a rule lets it write this file of instructions (`AGENTS.md` and its like). */
  readonly mayWrite: (path: string) => boolean;
  /** A name that nothing has yet. */
  readonly freshName: () => string;
}

/** The start of a command, for the check after it when Gantry itself did not see its end. */
export interface CommandNote {
  readonly roots: readonly string[];
  readonly hidden: readonly string[];
  /** Files that decided what may run before it. */
  readonly found: readonly string[];
  readonly kept: readonly Omit<Kept, 'handle'>[];
  readonly links: readonly SavedLink[];
}

interface Guard {
  readonly note: CommandNote;
  /** In this order after the mounts of the roots. `write`: as the root that it lies in, and cannot be moved. */
  readonly mounts: readonly { readonly path: string; readonly access: 'read' | 'write' }[];
  /** After the command. Sentences for the caller about unexpected changes. */
  settle(): Promise<string[]>;
  /** When the command was not begun. */
  close(): void;
}

/** Each mount makes each other one slower: these take about a second. */
const maxMounts = 400;
/** Missing from Node's constants: an open file that only shows its path. */
const O_PATH = 0o10000000;
const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

interface Kept extends Found {
  readonly access: 'read' | 'write';
  readonly identity: string;
  /** The folders that it lies in, below the root, outermost first. */
  readonly above: readonly { readonly path: string; readonly identity: string | null }[];
  /** Says where it lies, wherever it is moved. */
  readonly handle: number;
}

interface SavedLink {
  readonly path: string;
  readonly text: string;
  readonly leadsTo: string | null;
}

interface Ground {
  readonly inRoots: (path: string) => boolean;
  look(): Promise<{ found: Found[]; cut: boolean }>;
}

/** Files in these folders that decide what may run, except those that the command may write or never sees. */
async function groundOf(finder: Finder, request: Omit<GuardRequest, 'freshName'>): Promise<Ground> {
  const { roots, hidden, mayWrite } = request;
  const root = roots[0]!;
  const inRoots = (path: string) => roots.some((one) => isIn(one, path));
  // Gantry's own folder is no folder of the command's, unless its own lies in it.
  const isCovered = (path: string) => hidden.some((one) => isIn(one, path) && !isIn(one, root));
  const named = (await namedByGit(root, request.env)).filter((path) => inRoots(path) && !roots.includes(path));
  const isOpen = (path: string) => isInstruction(basename(path)) && mayWrite(path);

  const look = async () => {
    const { found, cut } = await finder.look(roots, named);
    const outer = new Set<string>();
    const counted = found.filter(({ path, kind }) => {
      if (isCovered(path) || isOpen(path) || liesIn(outer, path)) return false;
      if (kind !== 'repository') outer.add(path);
      return true;
    });
    return { found: counted, cut };
  };
  return { inRoots, look };
}

export async function guardWhatRuns(finder: Finder, request: GuardRequest): Promise<Guard> {
  const { roots, freshName } = request;
  const root = roots[0]!;
  const { inRoots, look } = await groundOf(finder, request);
  const before = await look();
  const kept = new Map<string, Kept>();
  const links: SavedLink[] = [];
  const foldersAbove = (path: string): Kept['above'] => {
    const folder = dirname(path);
    const outer = roots.includes(folder) ? [] : foldersAbove(folder);
    return [...outer, { path: folder, identity: identityOf(folder) }];
  };
  const keep = (found: Found, access: Kept['access']) => {
    if (kept.has(found.path)) return;
    try {
      const handle = openSync(found.path, O_PATH | O_NOFOLLOW);
      const identity = identityOf(found.path) ?? '';
      kept.set(found.path, { ...found, access, identity, above: foldersAbove(found.path), handle });
    } catch {
      // It went away in this moment.
    }
  };
  for (const found of before.found) {
    if (found.kind !== 'link') keep(found, found.kind === 'repository' ? 'write' : 'read');
    else {
      const leadsTo = realOf(found.path);
      links.push({ path: found.path, text: readlinkSync(found.path), leadsTo });
      if (leadsTo === null || !inRoots(leadsTo) || roots.includes(leadsTo)) continue;
      const kind = kindOf(leadsTo);
      if (kind === 'folder' && looksLikeGit(leadsTo)) keep({ path: leadsTo, kind: 'repository' }, 'write');
      else if (kind !== null) keep({ path: leadsTo, kind }, 'read');
    }
  }
  const close = () => {
    for (const { handle } of kept.values()) closeSync(handle);
  };
  if (kept.size > maxMounts) {
    close();
    throw new AppError(
      'refused',
      `${root} has ${kept.size} files and folders that say what may run; at most ${maxMounts} can be protected from a command.`,
      'Work in a smaller folder, or add a policy rule that names AGENTS.md and CLAUDE.md.',
    );
  }

  const aftermath = createAftermath({
    roots,
    freshName,
    look,
    links,
    found: before.found.map(({ path }) => path),
    kept: [...kept.values()],
    lies: (one) => readlinkSync(`/proc/self/fd/${kept.get(one.path)!.handle}`),
    while: 'while the command ran',
  });
  return {
    mounts: [...kept.values()].sort((a, b) => depthOf(a.path) - depthOf(b.path)),
    note: {
      roots,
      hidden: request.hidden,
      found: before.found.map(({ path }) => path),
      kept: [...kept.values()].map(({ handle: _, ...one }) => one),
      links,
    },
    async settle() {
      const told = await aftermath();
      close();
      return told;
    },
    close,
  };
}

/** Checks after a command whose end Gantry did not see. Its person's changes since then count as the command's where the two look the same. */
export async function settleLater(
  finder: Finder,
  note: CommandNote,
  request: Pick<GuardRequest, 'env' | 'freshName'>,
): Promise<string[]> {
  const { look } = await groundOf(finder, { ...note, env: request.env, mayWrite: () => false });
  return createAftermath({
    ...note,
    freshName: request.freshName,
    look,
    lies: async ({ identity }) => (await look()).found.find(({ path }) => identityOf(path) === identity)?.path ?? null,
    while: 'during or after a command that was cut short when Gantry was killed',
  })();
}

/** Reverts the command's changes; returns sentences about them. */
function createAftermath(
  deps: Pick<CommandNote, 'roots' | 'found' | 'kept' | 'links'> & {
    readonly freshName: () => string;
    readonly look: Ground['look'];
    /** Its place now; null where unknown. */
    readonly lies: (one: Omit<Kept, 'handle'>) => string | null | Promise<string | null>;
    /** Half a sentence, such as "while the command ran". */
    readonly while: string;
  },
): () => Promise<string[]> {
  const { roots, freshName, look } = deps;
  const root = roots[0]!;
  const shown = (path: string) => relative(root, path) || path;

  /** The current folder, held open so that nothing in its path can be exchanged. */
  function inFolder<T>(path: string, act: (way: string) => T): T {
    const handle = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      if (readlinkSync(`/proc/self/fd/${handle}`) !== path) throw new Error(`${path} was exchanged.`);
      return act(`/proc/self/fd/${handle}`);
    } finally {
      closeSync(handle);
    }
  }

  function setAside(path: string): string {
    const name = `${basename(path)}.set-aside-${freshName()}`;
    inFolder(dirname(path), (way) => renameSync(`${way}/${basename(path)}`, `${way}/${name}`));
    return join(dirname(path), name);
  }

  /** Restores folders on its path that the command removed. Entries in their place are set aside. */
  function makeWay(folder: string): void {
    if (roots.includes(folder)) return;
    makeWay(dirname(folder));
    const kind = kindOf(folder);
    if (kind === 'folder' || kind === 'repository') return;
    if (kind !== null) setAside(folder);
    inFolder(dirname(folder), (way) => mkdirSync(`${way}/${basename(folder)}`));
  }

  async function restore(one: Omit<Kept, 'handle'>): Promise<string | null> {
    const { path, identity, above } = one;
    if (identityOf(path) === identity) return null;
    if (above.every((folder) => identityOf(folder.path) === folder.identity)) {
      // Its place is the same folder, and there it was a mount, which the command could not take away: somebody outside did.
      return `${shown(path)} was changed by somebody else ${deps.while}. It says what may run: check it.`;
    }
    const lies = async () => (await deps.lies(one)) ?? '';
    // Not the command's doing: it could not take the mount away.
    if (identityOf(await lies()) !== identity) return `${shown(path)} is gone. It says what may run: check it.`;
    const aside: string[] = [];
    const clear = (place: string) => {
      if (kindOf(place) !== null) aside.push(shown(setAside(place)));
    };
    // Best with all that lay beside it: the folder that was moved goes back. Each one put back may show another that was moved.
    for (const folder of above) {
      if (identityOf(folder.path) === folder.identity) continue;
      const deep = depthOf(path) - depthOf(folder.path);
      const now = (await lies()).split('/').slice(0, -deep).join('/');
      if (identityOf(now) !== folder.identity || isIn(now, folder.path) || isIn(folder.path, now)) break;
      clear(folder.path);
      inFolder(dirname(folder.path), (way) => renameSync(now, `${way}/${basename(folder.path)}`));
    }
    if (identityOf(path) !== identity) {
      makeWay(dirname(path));
      clear(path);
      const now = await lies();
      inFolder(dirname(path), (way) => renameSync(now, `${way}/${basename(path)}`));
    }
    const instead = aside.length === 0 ? '' : ` What the command put in its place is now ${aside.join(' and ')}.`;
    return `${shown(path)} says what may run. The command moved it away, so Gantry put it back.${instead}`;
  }

  function restoreLink({ path, text, leadsTo }: SavedLink): string | null {
    const same = kindOf(path) === 'link' && readlinkSync(path) === text;
    if (same && realOf(path) === leadsTo) return null;
    makeWay(dirname(path));
    const there = kindOf(path) === null ? null : setAside(path);
    const aside = there === null ? '' : ` What was there is now ${shown(there)}.`;
    if (same)
      return `${shown(path)} led elsewhere after the command. It says what may run, so Gantry moved the link aside.${aside}`;
    inFolder(dirname(path), (way) => symlinkSync(text, `${way}/${basename(path)}`));
    return `${shown(path)} says what may run. The command changed it, so Gantry put it back.${aside}`;
  }

  return async () => {
    const told: string[] = [];
    const attempt = async (path: string, act: () => string | null | Promise<string | null>) => {
      try {
        const said = await act();
        if (said !== null) told.push(said);
      } catch (error) {
        told.push(`${shown(path)} says what may run and could not be restored: ${(error as Error).message}`);
      }
    };
    for (const one of [...deps.kept].sort((a, b) => depthOf(a.path) - depthOf(b.path))) {
      await attempt(one.path, () => restore(one));
    }
    for (const one of deps.links) await attempt(one.path, () => restoreLink(one));
    const wasThere = new Set([...deps.found, ...deps.kept.map(({ path }) => path)]);
    const after = await look();
    const aside = new Set<string>();
    for (const { path } of after.found) {
      if (wasThere.has(path) || isUsualOfWorktree(path) || liesIn(aside, path)) continue;
      await attempt(path, () => {
        const now = setAside(path);
        aside.add(path);
        return `${shown(path)} appeared ${deps.while}. It says what may run, so Gantry moved it to ${shown(now)}: a person can move it back.`;
      });
    }
    if (after.cut) {
      told.push(
        `${root} has more than ${maxFolders} folders. Only the topmost were searched for files that say what may run.`,
      );
    }
    return told;
  };
}

function liesIn(folders: ReadonlySet<string>, path: string): boolean {
  for (let at = dirname(path); ; at = dirname(at)) {
    if (folders.has(at)) return true;
    if (dirname(at) === at) return false;
  }
}
