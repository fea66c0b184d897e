/** Owns how paragraphs and list items follow one another: lists by level, numbers counted. Must not know any format. */

export interface ListPlace {
  /** 0 is the outermost. */
  readonly level: number;
  /** The number of the first item of a numbered list; null for bullets. */
  readonly start: number | null;
}

export interface Block {
  readonly markdown: string;
  /** Of an item of a list; null for any other block. */
  readonly item: ListPlace | null;
}

interface OpenItem {
  readonly level: number;
  readonly marker: string;
  readonly number: number | null;
}

export function joinBlocks(blocks: readonly Block[]): string {
  const made: string[] = [];
  let open: OpenItem[] = [];
  for (const { markdown, item } of blocks) {
    if (markdown === '') continue;
    if (item === null) {
      if (made.length > 0) made.push('\n\n');
      made.push(markdown);
      open = [];
      continue;
    }
    const sibling = open.find((each) => each.level === item.level);
    if (made.length > 0) made.push(open.length === 0 ? '\n\n' : '\n');
    open = open.filter((each) => each.level < item.level);
    const number = item.start === null ? null : sibling?.number == null ? item.start : sibling.number + 1;
    const marker = number === null ? '* ' : `${number}. `;
    // Under the text of the items around it, whatever their markers' widths.
    const indent = ' '.repeat(open.reduce((width, each) => width + each.marker.length, 0));
    const inner = `${indent}${' '.repeat(marker.length)}`;
    made.push(`${indent}${marker}${markdown.replace(/\n(?=[^\n])/g, `\n${inner}`)}`);
    open.push({ level: item.level, marker, number });
  }
  return made.join('');
}
