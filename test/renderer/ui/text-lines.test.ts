import { expect, test } from 'vitest';
import { diffKinds, linesOf, looksLikeDiff } from '../../../src/renderer/ui/text-lines.ts';

test('colours and cursor moves of a terminal are not read, and a line written over shows what stood last', () => {
  expect(linesOf('\u001b[31mred\u001b[0m\n10 %\r50 %\r100 %\n\u001b]0;title\u0007end\r\n')).toEqual([
    'red',
    '100 %',
    'end',
  ]);
  expect(linesOf('')).toEqual([]);
});

const diff = ['diff --git a/x b/x', '--- a/x', '+++ b/x', '@@ -1,3 +1,3 @@', ' same', '--- was a list', '++ now'];

test('in a hunk every minus is a removal, also one that looks like the name of a file', () => {
  expect(diffKinds(diff)).toEqual(['file', 'file', 'file', 'hunk', 'same', 'removed', 'added']);
});

test('a diff is known by its name, its type or its beginning; a list with dashes is none', () => {
  expect(looksLikeDiff(diff.join('\n'))).toBe(true);
  expect(looksLikeDiff('anything', 'fix.patch')).toBe(true);
  expect(looksLikeDiff('anything', 'fix', 'text/x-diff')).toBe(true);
  expect(looksLikeDiff('- one\n- two\n+ three')).toBe(false);
});
