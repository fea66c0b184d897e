/**
 * Draws the screens of a pane into its terminal and, while somebody looks back, what the pane printed above its screen. What is above is
 * read only for that long: a pane that nobody scrolls costs one screen. Must not know keys, buttons or where screens come from.
 */
import type { Terminal } from '@xterm/xterm';
import type { Screen, Scrollback } from '../../../contracts/factory/agent.ts';
import { cleanScreen, drawScreen } from '../../ui/terminal/draw.ts';
import type { LineMark } from '../../ui/terminal/terminal-marks.ts';
import { type Mark, marksOfCommands, marksOfMessages, type Said } from './marks.ts';
import type { PanePort } from './pane-port.ts';

/** Lines of the first reading: the contract's most, and more than a pane keeps. */
const allLines = 2000;
/** Lines of a later reading: what a program prints between two screens. */
const newLines = 200;

type Drawn = Pick<Screen, 'ansi' | 'cursor' | 'cols' | 'rows'>;

interface PaneViewOptions {
  readonly terminal: Terminal;
  readonly pane: Pick<PanePort, 'scrollback'>;
  /** What was delivered to its program, newest first. */
  readonly said: () => readonly Said[];
  readonly drawMarks: (marks: readonly LineMark[]) => void;
  /** The lines above could not be read. */
  readonly onError: (error: unknown) => void;
}

interface PaneView {
  /** The newest screen; ones that came while another was drawn are left out. */
  show(screen: Drawn): void;
  /** Reads what is above the screen, and keeps reading while `looking` or until the view is at its end again. Resolves when it is drawn. */
  lookBack(): Promise<void>;
  /** Somebody searches: what is above stays also at the end. */
  setLooking(looking: boolean): void;
  /** To where the message before this place began, or the next one; after the last it is the end. */
  jump(by: -1 | 1): Promise<void>;
  /** The view was moved by hand. */
  moved(): void;
  toEnd(): void;
  close(): void;
}

export function createPaneView({ terminal, pane, said, drawMarks, onError }: PaneViewOptions): PaneView {
  let shown: Drawn | null = null;
  let next: Drawn | null = null;
  let drawing = false;
  let closed = false;
  /** The number of the first line on the screen, where the lines before it are drawn; null: they are not. */
  let first: number | null = null;
  let looking = false;
  let commands: Scrollback['commands'];
  let marks: readonly Mark[] = [];
  /** The line of the mark that was jumped to, as the pane numbers it. */
  let current: number | null = null;
  /** Jumps that wait for what is above: a screen that comes just then must not forget it before they have their place. */
  let jumping = 0;
  let waiting: (() => void)[] = [];

  const write = (text: string) => new Promise<void>((resolve) => terminal.write(text, resolve));
  const scrolledUp = (): boolean => terminal.buffer.active.viewportY < terminal.buffer.active.baseY;

  async function draw(): Promise<void> {
    if (drawing) return;
    drawing = true;
    while (!closed && (next !== null || (waiting.length > 0 && shown !== null))) {
      const screen = next ?? shown!;
      next = null;
      const asked = waiting;
      waiting = [];
      if (terminal.cols !== screen.cols || terminal.rows !== screen.rows) {
        terminal.resize(screen.cols, screen.rows);
        // The pane wraps its lines again, and numbers them again.
        if (first !== null) first = -1;
      }
      const wanted = looking || jumping > 0 || current !== null || asked.length > 0 || (first !== null && scrolledUp());
      const above = wanted ? await readAbove(screen) : forget();
      if (closed) break;
      await write(above + drawScreen(screen));
      shown = screen;
      findMarks();
      for (const done of asked) done();
    }
    drawing = false;
    for (const done of waiting.splice(0)) done();
  }

  /** What draws the lines above that are not drawn yet. */
  async function readAbove(screen: Drawn): Promise<string> {
    try {
      let page = await pane.scrollback({ lines: first === null || first < 0 ? allLines : newLines });
      if (first !== null && first >= 0) {
        if (page.total - first > page.lines) page = await pane.scrollback({ lines: allLines });
        const fresh = page.total - first;
        commands = page.commands;
        if (fresh >= 0 && fresh <= page.lines) {
          first = page.total;
          return fresh === 0 ? '' : pushed(page.ansi.split('\r\n').slice(-fresh), screen.rows);
        }
      }
      first = page.total;
      commands = page.commands;
      return page.lines === 0 ? clearAbove : clearAbove + pushed(page.ansi.split('\r\n'), screen.rows);
    } catch (error) {
      if (!closed) onError(error);
      return '';
    }
  }

  /** Of the lines that are drawn. */
  function findMarks(): void {
    marks = [];
    if (first !== null && first >= 0) {
      const above = first - terminal.buffer.active.baseY;
      if (commands !== undefined && commands.length > 0) marks = marksOfCommands(commands);
      else marks = marksOfMessages(lines(), said()).map((mark) => ({ ...mark, line: mark.line + above }));
      marks = marks.filter(({ line }) => line >= above);
    }
    redrawMarks();
  }

  function redrawMarks(): void {
    const above = (first ?? 0) - terminal.buffer.active.baseY;
    drawMarks(marks.map((mark) => ({ ...mark, line: mark.line - above, current: mark.line === current })));
  }

  function lines(): string[] {
    const buffer = terminal.buffer.active;
    return Array.from({ length: buffer.length }, (_, at) => buffer.getLine(at)?.translateToString(true) ?? '');
  }

  function lookBack(): Promise<void> {
    if (first !== null && first >= 0 && waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      waiting.push(resolve);
      void draw();
    });
  }

  function toEnd(): void {
    terminal.scrollToBottom();
    if (current === null) return;
    current = null;
    redrawMarks();
  }

  function forget(): string {
    first = null;
    return terminal.buffer.active.baseY > 0 ? clearAbove : '';
  }

  return {
    show(screen) {
      next = screen;
      void draw();
    },
    lookBack,
    setLooking(value) {
      looking = value;
    },
    async jump(by) {
      jumping += 1;
      await lookBack();
      jumping -= 1;
      if (closed || first === null) return;
      const buffer = terminal.buffer.active;
      const above = first - buffer.baseY;
      // The line that is being typed is no message yet.
      const from = current ?? (scrolledUp() ? above + buffer.viewportY : first + buffer.cursorY);
      const to = by < 0 ? marks.findLast(({ line }) => line < from) : marks.find(({ line }) => line > from);
      if (to === undefined) return by > 0 ? toEnd() : undefined;
      // One line of what was before stays in view.
      terminal.scrollToLine(Math.max(0, Math.min(buffer.baseY, to.line - above - 1)));
      current = to.line;
      redrawMarks();
    },
    moved() {
      if (current === null || scrolledUp()) return;
      current = null;
      redrawMarks();
    },
    toEnd,
    close() {
      closed = true;
      for (const done of waiting.splice(0)) done();
    },
  };
}

const clearAbove = '\u001b[3J';

/** Draws lines and moves them above the screen, which is blank then. A line is as wide as the screen at most, so none wraps. */
function pushed(lines: readonly string[], rows: number): string {
  let text = `${cleanScreen}\u001b[?7l`;
  for (let at = 0; at < lines.length; at += rows) {
    const piece = lines.slice(at, at + rows);
    text += `\u001b[H${piece.join('\r\n')}\u001b[${rows};1H${'\n'.repeat(piece.length)}`;
  }
  return text;
}
