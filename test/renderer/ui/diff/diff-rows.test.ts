import { expect, test } from 'vitest';
import { counterparts, diffRows, isLine, rangeOf } from '../../../../src/renderer/ui/diff/diff-rows.ts';
import { wordMarks } from '../../../../src/renderer/ui/diff/word-marks.ts';
import { visibleText } from '../../../../src/renderer/ui/visible-text.ts';

/** As git 2.39 wrote it of a folder of unusual files. */
const recorded = [
  'diff --git "a/a\\"quote.txt" "b/a\\"quote.txt"',
  'new file mode 100644',
  'index 0000000..587be6b',
  '--- /dev/null',
  '+++ "b/a\\"quote.txt"',
  '@@ -0,0 +1 @@',
  '+x',
  'diff --git a/a.sql b/a.sql',
  'index 57d9e9d..da3b97e 100644',
  '--- a/a.sql',
  '+++ b/a.sql',
  '@@ -1,2 +1,2 @@',
  '--- old',
  '+++ new',
  ' -- x',
  'diff --git a/b.sql b/b.sql',
  'index 1275430..e45c9c2 100644',
  '--- a/b.sql',
  '+++ b/b.sql',
  '@@ -1 +1 @@',
  '-same',
  '+other',
  'diff --git a/crlf.txt b/crlf.txt',
  'index 4e349b5..f8f33a0 100644',
  '--- a/crlf.txt',
  '+++ b/crlf.txt',
  '@@ -1,2 +1,2 @@',
  ' one\r',
  '-two\r',
  '+zwei',
  'diff --git a/empty.txt b/empty.txt',
  'new file mode 100644',
  'index 0000000..e69de29',
  'diff --git a/end of it.txt b/end of it.txt',
  'new file mode 100644',
  'index 0000000..123da04',
  '--- /dev/null',
  '+++ b/end of it.txt\t',
  '@@ -0,0 +1 @@',
  '+no break',
  '\\ No newline at end of file',
  'diff --git a/gone.txt b/gone.txt',
  'deleted file mode 100644',
  'index bc99ab0..0000000',
  '--- a/gone.txt',
  '+++ /dev/null',
  '@@ -1 +0,0 @@',
  '-gone',
  '\\ No newline at end of file',
  'diff --git "a/gr\\303\\266\\303\\237e.txt" "b/gr\\303\\266\\303\\237e.txt"',
  'new file mode 100644',
  'index 0000000..587be6b',
  '--- /dev/null',
  '+++ "b/gr\\303\\266\\303\\237e.txt"',
  '@@ -0,0 +1 @@',
  '+x',
  'diff --git "a/line\\nbreak.txt" "b/line\\nbreak.txt"',
  'new file mode 100644',
  'index 0000000..587be6b',
  '--- /dev/null',
  '+++ "b/line\\nbreak.txt"',
  '@@ -0,0 +1 @@',
  '+x',
  'diff --git a/old name.txt b/new name.txt',
  'similarity index 96%',
  'rename from old name.txt',
  'rename to new name.txt',
  'index 8b25531..37bb260 100644',
  '--- a/old name.txt\t',
  '+++ b/new name.txt\t',
  '@@ -4,3 +4,4 @@ a line that stays 3',
  ' a line that stays 4',
  ' a line that stays 5',
  ' a line that stays 6',
  '+more',
  'diff --git a/pic.bin b/pic.bin',
  'index 8352675..1592e5c 100644',
  'Binary files a/pic.bin and b/pic.bin differ',
  'diff --git "a/turn\\342\\200\\256txt.exe" "b/turn\\342\\200\\256txt.exe"',
  'new file mode 100644',
  'index 0000000..587be6b',
  '--- /dev/null',
  '+++ "b/turn\\342\\200\\256txt.exe"',
  '@@ -0,0 +1 @@',
  '+x',
  'diff --git a/two  spaces b.txt b/two  spaces b.txt',
  'new file mode 100644',
  'index 0000000..e69de29',
];
const all = diffRows(`${recorded.join('\n')}\n`);
const files = all.flatMap((row) => (row.kind === 'file' ? [row.path] : []));
const linesIn = (path: string) => all.filter(isLine).filter((row) => row.path === path);

test('each line has its numbers before and after, its file and its hunk', () => {
  const lines = linesIn('new name.txt');
  expect(lines.map(({ kind, text, before, after }) => [kind, text, before, after])).toEqual([
    ['same', 'a line that stays 4', 4, 4],
    ['same', 'a line that stays 5', 5, 5],
    ['same', 'a line that stays 6', 6, 6],
    ['added', 'more', null, 7],
  ]);
  expect(new Set(lines.map((row) => row.hunk))).toEqual(new Set(['@@ -4,3 +4,4 @@ a line that stays 3']));
});

test('lines that look like the head of a file are lines, and what follows them is the next file', () => {
  expect(linesIn('a.sql').map((row) => [row.kind, row.text])).toEqual([
    ['removed', '-- old'],
    ['added', '++ new'],
    ['same', '-- x'],
  ]);
  expect(linesIn('b.sql').map((row) => row.text)).toEqual(['same', 'other']);
});

test('a file is called by its name, also one with spaces, quotes, line breaks, other scripts and marks that turn the order', () => {
  expect(files).toEqual([
    'a"quote.txt',
    'a.sql',
    'b.sql',
    'crlf.txt',
    'empty.txt',
    'end of it.txt',
    'gone.txt',
    'größe.txt',
    'line\nbreak.txt',
    'new name.txt',
    'pic.bin',
    'turn\u202etxt.exe',
    'two  spaces b.txt',
  ]);
  expect(visibleText('turn\u202etxt.exe')).toBe('turn<U+202E>txt.exe');
  expect(visibleText('line\nbreak')).toBe('line␊break');
});

test('a former name, a binary file, a new or removed one and a missing line break are said', () => {
  expect(all).toContainEqual({ kind: 'file', path: 'new name.txt', from: 'old name.txt' });
  const notes = new Set(all.flatMap((row) => (row.kind === 'note' ? [row.text] : [])));
  expect(notes).toEqual(
    new Set([
      'new file mode 100644',
      'deleted file mode 100644',
      'No newline at end of file',
      'Binary files a/pic.bin and b/pic.bin differ',
    ]),
  );
});

test('a CRLF line is read without its carriage return, and remembers it', () => {
  expect(linesIn('crlf.txt').map(({ text, crlf }) => [text, crlf])).toEqual([
    ['one', true],
    ['two', true],
    ['zwei', false],
  ]);
});

test('a patch that was cut in the middle of a hunk is read as far as it goes', () => {
  const rows = diffRows('diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,50 +1,50 @@\n one\n-two\n');
  expect(rows.filter(isLine).map((row) => row.text)).toEqual(['one', 'two']);
});

test('a range stays inside its hunk and its file, whichever way it is drawn', () => {
  const rows = diffRows(
    ['diff --git a/x b/x', '@@ -1,2 +1,2 @@', ' a', '-b', '+c', '@@ -9 +9 @@', '-d', '+e', ''].join('\n'),
  );
  const at = (text: string) => rows.findIndex((row) => isLine(row) && row.text === text);
  expect(rangeOf(rows, at('b'), at('e'))).toEqual({ from: at('b'), to: at('c') });
  expect(rangeOf(rows, at('e'), at('a'))).toEqual({ from: at('d'), to: at('e') });
  expect(rangeOf(rows, at('c'), at('a'))).toEqual({ from: at('a'), to: at('c') });
});

test('a changed line has its counterpart, and only the words that differ are marked', () => {
  const rows = diffRows(['diff --git a/x b/x', '@@ -1,3 +1,2 @@', '-one', '+two', ' x', '-a', ''].join('\n'));
  expect([...counterparts(rows)]).toEqual([
    [2, 3],
    [3, 2],
  ]);
  const marks = wordMarks('const total = count + 1;', 'const total = count + 2;');
  const marked = (side: 'before' | 'after') =>
    marks?.[side].flatMap((stretch) => (stretch.marked ? [stretch.text] : []));
  expect([marked('before'), marked('after')]).toEqual([['1'], ['2']]);
  expect(marks?.after.map((stretch) => stretch.text).join('')).toBe('const total = count + 2;');
  expect(wordMarks('something', 'entirely else')).toBeNull();
  expect(wordMarks('x'.repeat(5000), 'y'.repeat(5000))).toBeNull();
});
