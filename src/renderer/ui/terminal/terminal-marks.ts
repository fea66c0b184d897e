/** Marks at the left edge of a terminal's lines and in its scroll bar; one of them may be the current one. */
import type { IDecoration, IMarker, Terminal } from '@xterm/xterm';

export interface LineMark {
  /** In the terminal's buffer. */
  readonly line: number;
  readonly title: string;
  readonly failed: boolean;
  readonly current: boolean;
}

interface TerminalMarks {
  /** The current ones. */
  draw(marks: readonly LineMark[]): void;
  /** In the terminal's colours of now. */
  redraw(): void;
}

export function createTerminalMarks(terminal: Terminal): TerminalMarks {
  let drawn: { readonly marker: IMarker; readonly mark: LineMark }[] = [];

  function add(mark: LineMark): void {
    const { baseY, cursorY } = terminal.buffer.active;
    const marker = terminal.registerMarker(mark.line - baseY - cursorY);
    const { theme = {} } = terminal.options;
    const colour = (mark.failed ? theme.red : mark.current ? theme.cursor : theme.brightBlack) ?? '';
    const overviewRulerOptions = { color: colour, position: 'full' as const };
    terminal.registerDecoration({ marker, overviewRulerOptions })?.onRender((element) => dress(element, mark, colour));
    if (mark.current) {
      const ground = theme.selectionBackground ?? '';
      terminal.registerDecoration({ marker, width: terminal.cols, backgroundColor: ground, layer: 'bottom' });
    }
    drawn.push({ marker, mark });
  }

  return {
    draw(marks) {
      const kept = drawn.filter(({ marker, mark }) => {
        const same = marks.some(
          (one) => one.line === marker.line && one.title === mark.title && one.current === mark.current,
        );
        if (!same) marker.dispose();
        return !marker.isDisposed;
      });
      drawn = [...kept];
      for (const mark of marks) if (!kept.some(({ marker }) => marker.line === mark.line)) add(mark);
    },
    redraw() {
      const before = drawn.filter(({ marker }) => !marker.isDisposed);
      drawn = [];
      for (const { marker, mark } of before) {
        add({ ...mark, line: marker.line });
        marker.dispose();
      }
    },
  };
}

function dress(element: NonNullable<IDecoration['element']>, mark: LineMark, colour: string): void {
  element.dataset.mark = mark.current ? 'current' : mark.failed ? 'failed' : 'message';
  element.title = mark.title;
  // Beside the text, in the margin.
  element.style.marginLeft = '-5px';
  element.style.width = '3px';
  element.style.backgroundColor = colour;
}
