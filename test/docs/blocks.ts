/**
 * The fenced blocks of everything that people read, and what the comment above each says of it:
 *   <!-- not run: why -->      it is not run here, for this reason
 *   <!-- read as: name -->     an example of a file or a body, read by the product's own reader of that name
 *   <!-- without: words -->    its lines with these words are left out (a terminal is needed, …); the rest is run
 *   <!-- needs: program -->    it is run where this program is installed, and skipped elsewhere
 * A block without a comment is run, as it stands, in a shell. `text` is no code: what is printed, and drawings.
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export const root = join(import.meta.dirname, '..', '..');

export interface Block {
  /** `README.md:12` */
  readonly at: string;
  readonly file: string;
  readonly language: string;
  readonly text: string;
  readonly notRun: string | null;
  readonly readAs: string | null;
  readonly without: string | null;
  readonly needs: string | null;
}

/** Made by programs from what their own tests hold. */
const isMade = (file: string): boolean => /^docs\/(?:api\.md|cli\.md|api\/)/.test(file);

export const pages: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  ...globSync(['docs/**/*.md', 'examples/**/*.md', 'src/programs/*/README.md', 'tools/*/README.md'], { cwd: root }),
]
  .filter((file) => !isMade(file))
  .toSorted();

export const textOf = (file: string): string => readFileSync(join(root, file), 'utf8');

export function blocksOf(file: string): Block[] {
  const lines = textOf(file).split('\n');
  const blocks: Block[] = [];
  let open: { line: number; fence: string; indent: string; language: string } | null = null;
  lines.forEach((line, index) => {
    const [, indent = '', fence = '', language = ''] = /^( *)(`{3,})(\S*)\s*$/.exec(line) ?? [];
    if (fence === '') return;
    if (open === null) open = { line: index, fence, indent, language };
    else if (fence === open.fence) {
      const said = commentAbove(lines, open.line);
      const { indent } = open;
      blocks.push({
        at: `${file}:${open.line + 1}`,
        file,
        language: open.language,
        text: lines
          .slice(open.line + 1, index)
          .map((one) => one.slice(indent.length))
          .join('\n'),
        notRun: said('not run'),
        readAs: said('read as'),
        without: said('without'),
        needs: said('needs'),
      });
      open = null;
    }
  });
  if (open !== null) throw new Error(`${file} has a block without an end.`);
  return blocks;
}

function commentAbove(lines: readonly string[], fence: number): (what: string) => string | null {
  const above = lines[fence - 1]?.trim() || lines[fence - 2]?.trim() || '';
  return (what) => new RegExp(`^<!-- ${what}: (.+) -->$`).exec(above)?.[1] ?? null;
}
