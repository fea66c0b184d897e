/** The rows of a tree of folders, of which some are open. Pure. */
import type { FolderEntry } from '../../../../contracts/factory/file-routes.ts';

interface Folder {
  readonly entries: readonly FolderEntry[];
  readonly more: boolean;
}

export type TreeRow =
  | {
      readonly kind: FolderEntry['kind'];
      readonly path: string;
      readonly name: string;
      readonly level: number;
      readonly open: boolean;
    }
  /** Where a folder is not read yet, could not be, or has more than is listed. */
  | { readonly kind: 'note'; readonly path: string; readonly text: string; readonly level: number };

const inside = (folder: string, name: string): string => (folder === '' ? name : `${folder}/${name}`);

/** Folders first, as people look for them. */
export function treeRows(
  open: ReadonlySet<string>,
  read: (folder: string) => Folder | { readonly why: string },
  folder = '',
  level = 1,
): TreeRow[] {
  const note = (text: string): TreeRow => ({ kind: 'note', path: `${folder}/`, text, level });
  const found = read(folder);
  if ('why' in found) return [note(found.why)];
  if (found.entries.length === 0) return [note('Empty.')];
  const first = found.entries.filter((one) => one.kind === 'folder');
  const rest = found.entries.filter((one) => one.kind !== 'folder');
  const rows = [...first, ...rest].flatMap(({ name, kind }): TreeRow[] => {
    const path = inside(folder, name);
    const row = { kind, path, name, level, open: kind === 'folder' && open.has(path) };
    return row.open ? [row, ...treeRows(open, read, path, level + 1)] : [row];
  });
  return found.more ? [...rows, note(`Only the first ${found.entries.length} are listed.`)] : rows;
}

/** The folders above a path, outermost first. */
export function foldersOf(path: string): string[] {
  const parts = path.split('/').slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'));
}
