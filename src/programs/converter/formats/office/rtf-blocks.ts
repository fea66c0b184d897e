/** Owns what a stream of text becomes: runs, paragraphs, list items, tables. Must not know control words. */
import { type Block, joinBlocks } from '../../markdown/blocks.ts';
import { escapeText } from '../../markdown/escape.ts';
import { type Run, runsToMarkdown } from '../../markdown/runs.ts';
import { table } from '../../markdown/table.ts';

interface TextRun extends Omit<Run, 'markdown'> {
  readonly text: string;
}

/** Of the paragraph being read. */
export interface Paragraph {
  /** 1 to 6; 0 for none. */
  heading: number;
  level: number;
  /** Text of its bullet or number, where it has one. */
  marker: string | null;
  inTable: boolean;
}

export interface BlockWriter {
  readonly paragraph: Paragraph;
  add(run: TextRun): void;
  /** Markdown as it is. */
  addMarkdown(markdown: string): void;
  /** Resets the paragraph's looks; the bullet, which may come before, stays. */
  resetParagraph(): void;
  endParagraph(): void;
  endCell(): void;
  endRow(): void;
  /** All Markdown. Nothing may be added after. */
  end(): string;
}

/** A table of more columns is cut. */
const maxCells = 1000;

export function createBlockWriter(): BlockWriter {
  const blocks: Block[] = [];
  const paragraph: Paragraph = { heading: 0, level: 0, marker: null, inTable: false };
  let parts: ({ run: TextRun; text: string[] } | string)[] = [];
  let cell: string[] = [];
  let row: string[] = [];
  let rows: string[][] = [];

  function takeText(): string {
    const runs: Run[] = parts.map((part) =>
      typeof part === 'string'
        ? { markdown: part }
        : { ...part.run, markdown: escapeText(part.text.join('').replace(/[^\S\u00a0]+/g, ' ')) },
    );
    parts = [];
    return runsToMarkdown(runs)
      .replace(/\u00a0/g, ' ')
      .replace(/^(?:\s|<br>)+|(?<!\s|<br>)(?:\s|<br>)+$/g, '');
  }

  function endTable(): void {
    if (row.length > 0) endRow();
    if (rows.length > 0) blocks.push({ markdown: table(rows), item: null });
    rows = [];
  }

  function endParagraph(): void {
    const text = takeText();
    const marker = paragraph.marker?.trim() ?? null;
    paragraph.marker = null;
    if (paragraph.inTable) {
      if (text !== '') cell.push(marker === null ? text : `${escapeText(marker)} ${text}`);
      return;
    }
    endTable();
    if (text === '') return;
    if (paragraph.heading > 0) {
      blocks.push({ markdown: `${'#'.repeat(paragraph.heading)} ${text.replace(/<br>/g, ' ')}`, item: null });
    } else if (marker === null) blocks.push({ markdown: text, item: null });
    else blocks.push({ markdown: text, item: { level: paragraph.level, start: numberOf(marker) } });
  }

  function endCell(): void {
    const within = paragraph.inTable;
    paragraph.inTable = true;
    endParagraph();
    paragraph.inTable = within;
    if (row.length < maxCells) row.push(cell.join('\n'));
    cell = [];
  }

  function endRow(): void {
    if (cell.length > 0 || parts.length > 0) endCell();
    if (row.length > 0) rows.push(row);
    row = [];
  }

  return {
    paragraph,
    add(run) {
      const last = parts.at(-1);
      // A word comes in pieces, a character even in two: what is of one look is escaped as one.
      if (typeof last === 'object' && sameLook(last.run, run)) last.text.push(run.text);
      else parts.push({ run, text: [run.text] });
    },
    addMarkdown: (markdown) => {
      parts.push(markdown);
    },
    resetParagraph() {
      paragraph.heading = 0;
      paragraph.level = 0;
      paragraph.inTable = false;
    },
    endParagraph,
    endCell,
    endRow,
    end() {
      endParagraph();
      endTable();
      return joinBlocks(blocks);
    },
  };
}

function sameLook(one: TextRun, other: TextRun): boolean {
  return (
    one.bold === other.bold &&
    one.italic === other.italic &&
    one.strike === other.strike &&
    one.raised === other.raised &&
    one.address === other.address
  );
}

/** `3.` and `c)` number; anything else is a bullet. */
function numberOf(marker: string): number | null {
  const [, number, letter] = /^\(?(?:(\d{1,6})|([a-zA-Z]{1,5}))[.)]/.exec(marker.trim()) ?? [];
  if (number !== undefined) return Number(number);
  return letter === undefined ? null : 1;
}
