/** Text as lines for the screen: without terminal control codes, and a diff's lines by what they say. Pure. */

/** Colours, cursor moves, titles: what a program wrote for a terminal and nobody reads. */
const controls =
  /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** A carriage return writes over its line, as a progress bar does: what stood last is what is read. */
export function linesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => {
    const ended = line.endsWith('\r') ? line.slice(0, -1) : line;
    return ended.slice(ended.lastIndexOf('\r') + 1).replace(controls, '');
  });
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

export type DiffLineKind = 'file' | 'hunk' | 'added' | 'removed' | 'same';

/** `---` and `+++` name files only before a hunk: below one they are lines that were removed or added. */
export function diffKinds(lines: readonly string[]): DiffLineKind[] {
  let inHunk = false;
  return lines.map((line) => {
    if (line.startsWith('@@')) {
      inHunk = true;
      return 'hunk';
    }
    if (line.startsWith('diff ')) inHunk = false;
    if (!inHunk) return 'file';
    if (line.startsWith('+')) return 'added';
    if (line.startsWith('-')) return 'removed';
    return 'same';
  });
}

/** Whether a file or a text is a unified diff: by its name and type, else by how it begins. */
export function looksLikeDiff(text: string, name = '', mime = ''): boolean {
  if (/\.(diff|patch)$/i.test(name) || /\b(x-)?(diff|patch)\b/.test(mime)) return true;
  return /^(diff --git |--- \S[^\n]*\n\+\+\+ )/m.test(text.slice(0, 4000)) && /^@@ -\d/m.test(text);
}
