import { expect, test } from 'vitest';
import {
  type Comment,
  commentOn,
  linesWords,
  messageOf,
  placesOf,
} from '../../../../../src/renderer/areas/floor/changes/comments.ts';
import { diffRows } from '../../../../../src/renderer/ui/diff/diff-rows.ts';

const patch = (lines: readonly string[], start = 7, path = 'src/a.ts') =>
  [
    `diff --git a/${path} b/${path}`,
    `--- a/${path}`,
    `+++ b/${path}`,
    `@@ -${start},${lines.filter((one) => !one.startsWith('+')).length} +${start},${lines.filter((one) => !one.startsWith('-')).length} @@ function f()`,
    ...lines,
    '',
  ].join('\n');

const lines = [' const a = 1;', '-return a;', '+return b;', '+// end'];
const rows = diffRows(patch(lines));
const on = (from: number, to: number, text = 'Why?'): Comment => {
  const comment = commentOn(rows, from, to, text, `${from}-${to}`);
  if (comment === null) throw new Error('There is no line.');
  return comment;
};

test('a comment names its lines as the present file has them, and a removed one as the former', () => {
  expect(linesWords(on(2, 2))).toBe('line 7');
  expect(linesWords(on(3, 3))).toBe('former line 8');
  expect(linesWords(on(4, 5))).toBe('lines 8 to 9');
  expect(linesWords(on(3, 4))).toBe('former line 8 to line 8');
  expect(commentOn(rows, 0, 1, 'x', 'x')).toBeNull();
});

test('the message has path, lines, hunk and text of each comment', () => {
  expect(messageOf([on(2, 2, 'Call it count.\n'), on(4, 5, 'No comment here.')])).toBe(
    [
      '2 comments on your changes:',
      '',
      'src/a.ts, line 7',
      '```diff',
      '@@ -7,2 +7,3 @@ function f()',
      ' const a = 1;',
      '```',
      'Call it count.',
      '',
      'src/a.ts, lines 8 to 9',
      '```diff',
      '@@ -7,2 +7,3 @@ function f()',
      '+return b;',
      '+// end',
      '```',
      'No comment here.',
    ].join('\n'),
  );
});

test('quoted lines end no fence, hide nothing, and are cut where they are many', () => {
  const wild = diffRows(patch(['+````', '+a\u202eb', ...Array.from({ length: 60 }, (_, at) => `+line ${at}`)]));
  const comment = commentOn(wild, 2, wild.length - 1, 'Too much.', 'x');
  const message = messageOf([comment as Comment]);
  expect(message).toContain('`````diff\n');
  expect(message).toContain('+a<U+202E>b');
  expect(message).toContain('(22 more lines)');
});

test('a comment follows its lines when the diff moves, and is known to be old when they are gone', () => {
  const comment = on(4, 5);
  expect(placesOf(rows, [comment]).get(comment.id)).toBe(5);
  const moved = diffRows(patch([' new first line', ...lines], 20));
  expect(placesOf(moved, [comment]).get(comment.id)).toBe(6);
  expect(placesOf(diffRows(patch([' const a = 1;', '+return c;'])), [comment]).has(comment.id)).toBe(false);
  expect(placesOf(diffRows(patch(lines, 7, 'src/b.ts')), [comment]).has(comment.id)).toBe(false);
});

test('of lines that stand there twice the nearest has the comment', () => {
  const twice = [' x', '+same', ' y', ' z', '+same', ' w'];
  const now = diffRows(patch(twice));
  const comment = commentOn(now, 6, 6, 'This one.', 'x') as Comment;
  expect(placesOf(now, [comment]).get('x')).toBe(6);
});
