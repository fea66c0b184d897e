/**
 * Draws rows of an emulator's buffer as plain text and as escape sequences of only colour and style. No modes, no titles, no links, no cursor moves:
 * through this text, program output cannot act on a viewer's terminal.
 */
import type { IBuffer, IBufferCell, IBufferLine } from '@xterm/headless';

/** The two packed numbers that the emulator keeps for a cell: equal numbers mean an equal look. */
interface PackedCell extends IBufferCell {
  readonly fg: number;
  readonly bg: number;
}

/** Rows `from` up to but not including `to`, joined by CR LF; blanks at a row's end are left out where they have no colour. */
export function drawRows(buffer: IBuffer, from: number, to: number): string {
  const rows: string[] = [];
  const cell = buffer.getNullCell() as PackedCell;
  for (let y = from; y < to; y++) {
    const line = buffer.getLine(y);
    rows.push(line ? drawRow(line, cell) : '');
  }
  return rows.join('\r\n');
}

function drawRow(line: IBufferLine, cell: PackedCell): string {
  let drawn = '';
  let blanks = 0;
  let fg = 0;
  let bg = 0;
  for (let x = 0; x < line.length; x++) {
    line.getCell(x, cell);
    if (cell.getWidth() === 0) continue;
    const chars = cell.getChars();
    if ((chars === '' || chars === ' ') && cell.fg === 0 && cell.bg === 0) {
      blanks++;
      continue;
    }
    if (blanks > 0) {
      if (fg !== 0 || bg !== 0) drawn += '\x1b[0m';
      fg = 0;
      bg = 0;
      drawn += ' '.repeat(blanks);
      blanks = 0;
    }
    if (cell.fg !== fg || cell.bg !== bg) {
      drawn += style(cell);
      fg = cell.fg;
      bg = cell.bg;
    }
    drawn += chars === '' ? ' ' : chars;
  }
  return fg !== 0 || bg !== 0 ? `${drawn}\x1b[0m` : drawn;
}

function style(cell: IBufferCell): string {
  let codes = '0';
  if (cell.isBold()) codes += ';1';
  if (cell.isDim()) codes += ';2';
  if (cell.isItalic()) codes += ';3';
  if (cell.isUnderline()) codes += ';4';
  if (cell.isBlink()) codes += ';5';
  if (cell.isInverse()) codes += ';7';
  if (cell.isInvisible()) codes += ';8';
  if (cell.isStrikethrough()) codes += ';9';
  if (cell.isOverline()) codes += ';53';
  if (!cell.isFgDefault()) codes += colour(cell.getFgColor(), cell.isFgRGB(), 30);
  if (!cell.isBgDefault()) codes += colour(cell.getBgColor(), cell.isBgRGB(), 40);
  return `\x1b[${codes}m`;
}

/** `base` is 30 for the text and 40 for what is behind it. */
function colour(value: number, rgb: boolean, base: number): string {
  if (rgb) return `;${base + 8};2;${(value >> 16) & 255};${(value >> 8) & 255};${value & 255}`;
  if (value < 8) return `;${base + value}`;
  if (value < 16) return `;${base + 60 + value - 8}`;
  return `;${base + 8};5;${value}`;
}

/**
 * The last `count` lines as text; lines that the terminal wrapped are whole again, blank rows at the end are left out. Spaces that a
 * program painted are no text of their own.
 */
export function lastLines(buffer: IBuffer, count: number): string {
  const lines: string[] = [];
  let tail = '';
  let blank = true;
  /** The row below begins with a character of two columns that did not fit behind this one. */
  let wideBelow = false;
  for (let y = buffer.length - 1; y >= 0 && lines.length < count; y--) {
    const line = buffer.getLine(y);
    if (!line) continue;
    const gap = wideBelow && line.getCell(line.length - 1)?.getChars() === '' ? 1 : 0;
    const joined = line.translateToString(!tail, 0, line.length - gap) + tail;
    wideBelow = line.isWrapped && line.getCell(0)?.getWidth() === 2;
    if (line.isWrapped) {
      tail = joined;
      continue;
    }
    tail = '';
    const text = joined.trim() === '' ? '' : joined;
    if (blank && text === '') continue;
    blank = false;
    lines.push(text);
  }
  return lines.reverse().join('\n');
}

const letterOrDigit = /[\p{L}\p{N}]/u;

/** Whether most letters and digits of a row are dim. */
export function mostlyDim(line: IBufferLine, cell: IBufferCell): boolean {
  let dim = 0;
  let plain = 0;
  for (let x = 0; x < line.length; x++) {
    line.getCell(x, cell);
    if (!letterOrDigit.test(cell.getChars())) continue;
    if (cell.isDim()) dim++;
    else plain++;
  }
  return dim > plain;
}
