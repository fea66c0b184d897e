/**
 * Turns screens of a pane into bytes for the terminal a person sits at. A screen is first parsed by an emulator of its own size, then
 * drawn row by row and cut to the window: so a pane wider or taller than the window never wraps or scrolls it, and only what a
 * program showed arrives here, never a sequence that would act on the person's terminal.
 */

import type { IBufferCell, IBufferLine } from '@xterm/headless';
import headless from '@xterm/headless';
import type { Screen } from '../../contracts/factory/agent.ts';
import { inCell } from '../words.ts';

export interface Window {
  readonly cols: number;
  readonly rows: number;
}

interface Painter {
  /** Bytes that bring the window from what was drawn last to this screen; `status` stands in the window's last row. */
  paint(screen: Screen, window: Window, status: string): Promise<string>;
  /** Forget what was drawn: the next paint draws everything. */
  reset(): void;
}

export function createPainter(): Painter {
  let drawn: string[] = [];
  return {
    async paint(screen, window, status) {
      const rows = await rowsOf(screen, window.cols);
      const shown = Math.max(0, window.rows - 1);
      // The cursor's row must be seen when the pane is taller than the window.
      const top = Math.max(0, Math.min(screen.cursor.y - shown + 1, rows.length - shown));
      const lines = Array.from({ length: shown }, (_, index) => rows[top + index] ?? '');
      lines.push(`\x1b[7m${[...inCell(status)].slice(0, window.cols).join('').padEnd(window.cols)}\x1b[0m`);
      let out = '\x1b[?25l';
      for (const [index, line] of lines.entries()) {
        if (drawn[index] !== line)
          out += `\x1b[${index + 1};1H${line}\x1b[0m${index === lines.length - 1 ? '' : '\x1b[K'}`;
      }
      drawn = lines;
      const y = screen.cursor.y - top;
      if (screen.cursor.visible && y >= 0 && y < shown && screen.cursor.x < window.cols) {
        out += `\x1b[${y + 1};${screen.cursor.x + 1}H\x1b[?25h`;
      }
      return out;
    },
    reset() {
      drawn = [];
    },
  };
}

/** The screen as text for `agents screen`: rows with their colours, or without. */
export async function drawScreen(screen: Screen, colour: boolean): Promise<string> {
  const rows = await rowsOf(screen, screen.cols, colour);
  while (rows.length > 0 && rows.at(-1) === '') rows.pop();
  return rows.map((row) => (colour && row.includes('\x1b') ? `${row}\x1b[0m` : row)).join('\n');
}

async function rowsOf(screen: Screen, width: number, colour = true): Promise<string[]> {
  const terminal = new headless.Terminal({
    cols: screen.cols,
    rows: screen.rows,
    scrollback: 0,
    allowProposedApi: true,
  });
  await new Promise<void>((resolve) => terminal.write(screen.ansi, resolve));
  const buffer = terminal.buffer.active;
  const rows = Array.from({ length: screen.rows }, (_, index) => {
    const line = buffer.getLine(buffer.baseY + index);
    return line === undefined ? '' : drawRow(line, Math.min(width, screen.cols), colour);
  });
  terminal.dispose();
  return rows;
}

function drawRow(line: IBufferLine, width: number, colour: boolean): string {
  let out = '';
  let style = '';
  let last = 0;
  for (let column = 0; column < width; column += 1) {
    const cell = line.getCell(column);
    if (cell === undefined) break;
    const wide = cell.getWidth();
    if (wide === 0) continue;
    if (column + wide > width) break;
    const wanted = colour ? styleOf(cell) : '';
    const characters = cell.getChars() || ' ';
    if (wanted !== style) {
      out += `\x1b[0${wanted}m`;
      style = wanted;
    }
    out += characters;
    if (characters !== ' ' || wanted !== '') last = out.length;
  }
  return out.slice(0, last);
}

/** SGR parameters of a cell, each with a leading `;`. */
function styleOf(cell: IBufferCell): string {
  const parts: string[] = [];
  if (cell.isBold()) parts.push('1');
  if (cell.isDim()) parts.push('2');
  if (cell.isItalic()) parts.push('3');
  if (cell.isUnderline()) parts.push('4');
  if (cell.isBlink()) parts.push('5');
  if (cell.isInverse()) parts.push('7');
  if (cell.isInvisible()) parts.push('8');
  if (cell.isStrikethrough()) parts.push('9');
  parts.push(...colourOf('3', cell.isFgRGB(), cell.isFgPalette(), cell.getFgColor()));
  parts.push(...colourOf('4', cell.isBgRGB(), cell.isBgPalette(), cell.getBgColor()));
  return parts.map((part) => `;${part}`).join('');
}

function colourOf(ground: '3' | '4', rgb: boolean, palette: boolean, value: number): string[] {
  if (rgb) return [`${ground}8;2;${(value >> 16) & 255};${(value >> 8) & 255};${value & 255}`];
  if (!palette) return [];
  if (value < 8) return [`${ground}${value}`];
  if (value < 16) return [`${ground === '3' ? '9' : '10'}${value - 8}`];
  return [`${ground}8;5;${value}`];
}
