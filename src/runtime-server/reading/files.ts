/**
 * The files of a bot's folder as its person reads them. Bounded, follows no link out of the folder, waits for no pipe, and shows nothing of Gantry's
 * data folder but the worktrees in it, and the workspace that a first start makes there. Must not know what the files mean.
 */
import { closeSync, fstatSync, lstatSync, readSync, realpathSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import {
  agentFilePlace,
  agentFiles,
  agentFileText,
  type FolderEntry,
  maxEntries,
  maxFileText,
} from '../../contracts/factory/file-routes.ts';
import { isWithin, listWithin, openWithin } from '../../kit/files/within.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Registry } from '../agents/registry.ts';
import type { WorktreeService } from '../agents/worktrees/index.ts';

interface Folder {
  /** Real path of what may be read. */
  readonly root: string;
  /** Where the bot works: the root, or a folder below it. */
  readonly cwd: string;
  readonly worktree: boolean;
}

export function fileRoutes(deps: {
  readonly registry: Pick<Registry, 'find'>;
  readonly worktrees: Pick<WorktreeService, 'has' | 'placeOf'>;
  /** The data folder. */
  readonly home: string;
}): BoundRoute[] {
  const { registry, worktrees } = deps;

  function folderOf(id: string): Folder {
    const member = registry.find(id);
    if (member === null) {
      throw new AppError('not_found', `No agent has the id or address "${id}".`, 'List them with `gantry agents ls`.');
    }
    const { address, definition } = member;
    if (member.remote !== null) {
      const action = 'Look at them on that computer.';
      throw new AppError('refused', `${address} works on another computer, so its files are not here.`, action, {
        status: 409,
      });
    }
    const place = worktrees.placeOf(address);
    if (place !== null) {
      const root = realOr(place.root);
      return { root, cwd: join(root, place.inside), worktree: true };
    }
    if (worktrees.has(address)) {
      const action = 'It is created when the bot starts working.';
      throw new AppError('not_found', `The worktree of ${address} does not exist yet.`, action);
    }
    if (definition === null) {
      throw new AppError('not_found', `No team file names ${address} any more.`, 'Add it to its team file again.');
    }
    const root = realOr(definition.cwd);
    mustShow(root, definition.cwd);
    return { root, cwd: root, worktree: false };
  }

  /** Of Gantry's own files only worktrees are shown, and those by their bots; the first workspace is its person's. */
  const isOwn = (path: string): boolean => isWithin(realOr(deps.home), path);
  const firstWorkspace = join(realOr(deps.home), 'workspace');
  // A link in its place leads elsewhere, perhaps to the data folder itself.
  const isFirst = (path: string): boolean =>
    realOr(firstWorkspace) === firstWorkspace && isWithin(firstWorkspace, path);
  function mustShow(real: string, said: string): void {
    if (!isOwn(real) || isFirst(real)) return;
    throw new AppError('refused', `${JSON.stringify(said)} is in Gantry's own folder.`, 'Its files are not shown.');
  }

  /** The real path of what `path` names. `refused` outside, `not_found` where there is nothing. */
  function locate({ root }: Folder, path: string): string {
    if (path.includes('\0')) throw new AppError('usage', 'A path has a NUL character in it.', 'Name a real path.');
    let real: string;
    try {
      real = realpathSync(resolve(root, path));
    } catch (cause) {
      const fact = `${JSON.stringify(path)} is not there.`;
      throw new AppError('not_found', fact, 'It may have been moved or removed.', { cause });
    }
    if (!isWithin(root, real)) {
      throw new AppError('refused', `${JSON.stringify(path)} leads out of ${root}.`, 'Name a file inside it.');
    }
    // A worktree lies in the data folder itself.
    if (!isOwn(root)) mustShow(real, path);
    return real;
  }

  return [
    bind(agentFiles, ({ params, query }) => {
      const folder = folderOf(params.id);
      const real = locate(folder, query.path ?? '');
      if (!lstatSync(real).isDirectory()) {
        throw new AppError('usage', `${JSON.stringify(query.path)} is not a folder.`, 'Name a folder.');
      }
      const { entries, more } = listWithin(folder.root, real, maxEntries);
      const hides = !isOwn(folder.root);
      return {
        body: {
          root: folder.root,
          path: shown(folder, real),
          entries: entries
            .filter(({ name }) => !(hides && isOwn(join(real, name))))
            .map(
              ({ name, isFolder, isFile }): FolderEntry => ({
                name,
                kind: isFolder ? 'folder' : isFile ? 'file' : 'other',
              }),
            ),
          more,
        },
      };
    }),
    bind(agentFileText, ({ params, query }) => {
      const folder = folderOf(params.id);
      const real = locate(folder, query.path);
      return { body: { path: shown(folder, real), ...beginningOf(folder, real, query.path) } };
    }),
    bind(agentFilePlace, ({ params, query }) => {
      const folder = folderOf(params.id);
      for (const from of new Set([folder.cwd, folder.root])) {
        const found = fileAt(folder, resolve(from, query.path));
        if (found !== null) return { body: { path: found, worktree: folder.worktree } };
      }
      return { body: { path: null, worktree: folder.worktree } };
    }),
  ];

  function fileAt(folder: Folder, path: string): string | null {
    try {
      const real = locate(folder, path);
      const handle = openWithin(folder.root, real);
      if (typeof handle !== 'number') return null;
      closeSync(handle);
      return shown(folder, real);
    } catch (error) {
      if (error instanceof AppError) return null;
      throw error;
    }
  }
}

function beginningOf(folder: Folder, real: string, said: string) {
  const handle = openWithin(folder.root, real);
  if (typeof handle !== 'number') {
    if (handle.is === 'absent') {
      throw new AppError('not_found', `${JSON.stringify(said)} is not there.`, 'It may have been moved or removed.');
    }
    throw new AppError('refused', `${JSON.stringify(said)} cannot be shown. ${handle.why}`, 'Choose another file.');
  }
  try {
    const { size } = fstatSync(handle);
    const bytes = Buffer.alloc(Math.min(size, maxFileText) + 1);
    let length = 0;
    while (length < bytes.length) {
      const read = readSync(handle, bytes, length, bytes.length - length, length);
      if (read === 0) break;
      length += read;
    }
    const cut = length > maxFileText;
    const part = bytes.subarray(0, Math.min(length, maxFileText));
    // As git tells them apart.
    const binary = part.subarray(0, 8000).includes(0);
    if (binary) return { size, text: '', cut, binary };
    // A character that was cut in two is left out with the rest.
    const text = new TextDecoder().decode(part, { stream: cut });
    return { size, text, cut, binary };
  } finally {
    closeSync(handle);
  }
}

function realOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

const shown = ({ root }: Folder, real: string): string => relative(root, real).replaceAll(sep, '/');
