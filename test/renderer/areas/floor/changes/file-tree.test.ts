import { expect, test } from 'vitest';
import { foldersOf, treeRows } from '../../../../../src/renderer/areas/floor/changes/file-tree.ts';
import { rowAt } from '../../../../../src/renderer/areas/floor/changes/row-at.ts';
import { diffRows } from '../../../../../src/renderer/ui/diff/diff-rows.ts';

const folders: Readonly<Record<string, readonly [string, 'file' | 'folder' | 'other'][]>> = {
  '': [
    ['a.md', 'file'],
    ['link', 'other'],
    ['src', 'folder'],
    ['void', 'folder'],
  ],
  src: [['b.ts', 'file']],
  void: [],
};
const read = (folder: string) => {
  const found = folders[folder];
  if (found === undefined) return { why: 'It is not there.' };
  return { entries: found.map(([name, kind]) => ({ name, kind })), more: folder === 'src' };
};
const shown = (...open: string[]) =>
  treeRows(new Set(open), read).map(
    (row) => `${'  '.repeat(row.level - 1)}${row.kind === 'note' ? row.text : row.name}`,
  );

test('folders come first, open ones with what is in them, and what is not there is said in its place', () => {
  expect(shown()).toEqual(['src', 'void', 'a.md', 'link']);
  expect(shown('src', 'void')).toEqual([
    'src',
    '  b.ts',
    '  Only the first 1 are listed.',
    'void',
    '  Empty.',
    'a.md',
    'link',
  ]);
});

test('the folders above a file are those that show it', () => {
  expect(foldersOf('src/ui/a.ts')).toEqual(['src', 'src/ui']);
  expect(foldersOf('a.ts')).toEqual([]);
});

test('a line is shown in the diff where the diff has it, else in the file', () => {
  const rows = diffRows('diff --git a/x b/x\n@@ -5,2 +5,2 @@\n same\n-gone\n+come\n');
  expect(rowAt(rows, 'x', null)).toBe(0);
  expect(rowAt(rows, 'x', 6)).toBe(4);
  expect(rowAt(rows, 'x', 7)).toBeNull();
  expect(rowAt(rows, 'y', null)).toBeNull();
});
