/**
 * Owns tables of HTML: which are data and become Markdown tables, which only lay out a page (as in most mail) and become their
 * content. Must not know the rules for anything inside a cell.
 */
import { type DomElement, isElement } from './dom.ts';
import { codeBlock, inlineCode } from './escape.ts';
import { table } from './table.ts';

interface TableTools {
  /** An element that stands for finished Markdown. */
  keep(markdown: string): DomElement;
  /** Markdown of an element. */
  render(element: DomElement): string;
  /** What a block of code says, with its spaces and lines. */
  code(element: DomElement): { readonly text: string; readonly language: string };
  mustHaveTime(): void;
}

/** A wider cell than this is an attack or a mistake. */
const widestSpan = 100;
/** A table of more columns is cut: no reader follows it. */
const maxColumns = 1000;

/** Inner tables first, so that a cell's table is already Markdown when the cell is read. */
export function replaceTables(root: DomElement, tools: TableTools): void {
  const tables = [...root.querySelectorAll('table')].reverse();
  for (const element of tables) {
    tools.mustHaveTime();
    const rows = rowsOf(element);
    const code = codeTable(element, rows, tools);
    if (code !== null) {
      element.replaceWith(tools.keep(code));
      continue;
    }
    if (layout(element, rows)) {
      unwrap(element, rows);
      continue;
    }
    for (const block of [...element.querySelectorAll('pre:not([data-rendered])')])
      block.replaceWith(tools.keep(codeCell(block, tools)));
    const caption = childrenNamed(element, 'caption')[0];
    const captionText = caption === undefined ? '' : tools.render(caption).trim();
    const grid = gridOf(rows, tools);
    const head = hasHeader(rows);
    const markdown = [captionText, table(grid, { hasHeader: head })].filter((part) => part !== '').join('\n\n');
    element.replaceWith(tools.keep(markdown));
  }
}

function childrenNamed(element: DomElement, ...names: string[]): DomElement[] {
  return [...element.childNodes].filter(
    (node): node is DomElement => isElement(node) && names.includes(node.localName),
  );
}

/** Rows of this table, not of one inside; the head's first and the foot's last, whatever their order in the source. */
function rowsOf(element: DomElement): DomElement[] {
  const heads = childrenNamed(element, 'thead').flatMap((part) => childrenNamed(part, 'tr'));
  const feet = childrenNamed(element, 'tfoot').flatMap((part) => childrenNamed(part, 'tr'));
  const body = childrenNamed(element, 'tbody', 'tr').flatMap((part) =>
    part.localName === 'tr' ? [part] : childrenNamed(part, 'tr'),
  );
  return [...heads, ...body, ...feet];
}

const cellsOf = (row: DomElement) => childrenNamed(row, 'td', 'th');

/** Cells beside code that only count or mark its lines. */
const gutter = /^[\s\d+\-.:…|]*$/;
/** What pages call a cell that is a line of code: its spaces count though there is no `pre`. */
const codeClass = /(?:^|[\s_-])(?:blob-code|code|line-content|code-line|diff-line|src)(?:$|[\s_-])/i;

/** A table that only sets line numbers beside code, as one block; null for any other. */
function codeTable(element: DomElement, rows: readonly DomElement[], tools: TableTools): string | null {
  if (rows.length === 0 || element.querySelector('th, caption') !== null) return null;
  const lines: string[] = [];
  let language = '';
  let numbered = false;
  for (const row of rows) {
    const cells = cellsOf(row);
    // Numbers stand before the code.
    const cell = cells.at(-1);
    if (cell === undefined || cells.some((each) => each !== cell && !gutter.test(each.textContent ?? ''))) return null;
    numbered ||= cells.length > 1;
    const block = onlyCode(cell);
    if (block === null && !(codeClass.test(cell.className) && rows.length > 1)) return null;
    const code = tools.code(block ?? cell);
    language ||= code.language;
    lines.push(code.text.replace(/\n$/, ''));
  }
  return lines.length > 0 && (numbered || rows.length > 1) ? codeBlock(lines.join('\n'), language) : null;
}

/** The one block of code that a cell holds and nothing else. */
function onlyCode(cell: DomElement): DomElement | null {
  const [block, ...more] = cell.querySelectorAll('pre:not([data-rendered])');
  if (block === undefined || more.length > 0) return null;
  return (block.textContent ?? '').trim() === (cell.textContent ?? '').trim() ? block : null;
}

/** Code in a cell among others: a line of Markdown each, since a cell has no blocks, with the spaces before it. */
function codeCell(block: DomElement, tools: TableTools): string {
  const lines = tools.code(block).text.replace(/\n+$/, '').split('\n');
  return lines.map((line) => (line.trim() === '' ? '' : inlineCode(line))).join('<br>');
}

function layout(element: DomElement, rows: readonly DomElement[]): boolean {
  const role = element.getAttribute('role');
  if (role === 'presentation' || role === 'none') return true;
  if (rows.length === 0) return true;
  if (element.querySelector('th, thead, caption') !== null) return false;
  if (rows.every((row) => cellsOf(row).length <= 1)) return true;
  // A cell with a table or whole sections is a place on the page, not a value.
  return element.querySelector('[data-rendered]:not(span), h1, h2, h3, ul ul, p + p + p') !== null;
}

/** Each cell becomes a separate block, in reading order. */
function unwrap(element: DomElement, rows: readonly DomElement[]): void {
  const wrapper = element.ownerDocument.createElement('div');
  for (const caption of childrenNamed(element, 'caption')) wrapper.appendChild(blockOf(caption));
  for (const row of rows) for (const cell of cellsOf(row)) wrapper.appendChild(blockOf(cell));
  if (rows.length === 0) wrapper.appendChild(blockOf(element));
  element.replaceWith(wrapper);
}

function blockOf(cell: DomElement): DomElement {
  const block = cell.ownerDocument.createElement('div');
  for (const node of [...cell.childNodes]) block.appendChild(node);
  return block;
}

function hasHeader(rows: readonly DomElement[]): boolean {
  const first = rows[0];
  if (first === undefined) return false;
  if (first.parentNode?.localName === 'thead') return true;
  const cells = cellsOf(first);
  if (cells.some((each) => each.localName === 'th')) {
    // Headers down the side only: the first row is data.
    return (
      cells.every((each) => each.localName === 'th') ||
      !rows.slice(1).some((row) => cellsOf(row)[0]?.localName === 'th')
    );
  }
  // Without any mark the first row is taken for the header, as in a spreadsheet.
  return !rows.some((row) => cellsOf(row).some((each) => each.localName === 'th'));
}

function gridOf(rows: readonly DomElement[], tools: TableTools): string[][] {
  const grid: string[][] = rows.map(() => []);
  rows.forEach((row, y) => {
    tools.mustHaveTime();
    let x = 0;
    for (const cell of cellsOf(row)) {
      while (grid[y]?.[x] !== undefined) x += 1;
      if (x >= maxColumns) break;
      const across = span(cell, 'colspan');
      const down = Math.min(span(cell, 'rowspan'), rows.length - y);
      const content = tools.render(cell);
      // A merged cell says its value once, at its top left.
      for (let dy = 0; dy < down; dy += 1) {
        for (let dx = 0; dx < across; dx += 1) {
          const line = grid[y + dy];
          if (line !== undefined) line[x + dx] = dx === 0 && dy === 0 ? content : '';
        }
      }
      x += across;
    }
  });
  return grid.map((line) => Array.from(line, (content) => content ?? ''));
}

function span(cell: DomElement, name: string): number {
  const value = Number.parseInt(cell.getAttribute(name) ?? '1', 10);
  return Number.isNaN(value) ? 1 : Math.min(Math.max(value, 1), widestSpan);
}
