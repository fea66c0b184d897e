/**
 * The size of a pane's terminal: asked for by the window that somebody works in, and whatever the screen says else. Must not know what is drawn or typed.
 */
import type { OpenTerminal } from '../../ui/terminal/create-terminal.ts';
import type { PanePort } from './pane-port.ts';

/** A person drags a split in many steps; the program learns the size once the hand rests for so many ms. */
const resizeRest = 120;

export interface ScreenSize {
  readonly cols: number;
  readonly rows: number;
  /** Whether this window set it; else another viewer of the pane did. */
  readonly ours: boolean;
}

interface PaneSize {
  /** Somebody works in this window: it sets the size from now on. */
  takeOver(): void;
  /** A screen of this size came. */
  came(screen: Pick<ScreenSize, 'cols' | 'rows'>): void;
  close(): void;
}

export function createPaneSize({
  element,
  opened,
  pane,
  onSize,
}: {
  readonly element: Element;
  readonly opened: Pick<OpenTerminal, 'proposeSize'>;
  readonly pane: Pick<PanePort, 'size'>;
  readonly onSize: (size: ScreenSize) => void;
}): PaneSize {
  let size: { cols: number; rows: number } | null = null;
  let asked: { cols: number; rows: number } | null = null;
  let ours = document.hasFocus();
  let first = true;
  let resting: ReturnType<typeof setTimeout> | null = null;

  function ask(): void {
    if (resting !== null) clearTimeout(resting);
    resting = setTimeout(() => {
      resting = null;
      const wanted = opened.proposeSize();
      if (wanted === null || size === null || wanted.cols < 2 || wanted.rows < 2) return;
      if (wanted.cols === (asked ?? size).cols && wanted.rows === (asked ?? size).rows) return;
      asked = wanted;
      pane.size(wanted).catch(() => {
        // The pane is gone or may not be resized: draw it at its present size.
        asked = null;
      });
    }, resizeRest);
  }

  const observer = new ResizeObserver(() => {
    if (ours) ask();
  });
  observer.observe(element);

  return {
    takeOver() {
      ours = true;
      ask();
    },
    came({ cols, rows }) {
      const changed = size === null || size.cols !== cols || size.rows !== rows;
      size = { cols, rows };
      if (asked !== null && changed) {
        if (asked.cols !== cols || asked.rows !== rows) ours = false;
        asked = null;
      } else if (changed && !first) ours = false;
      if (first && ours) ask();
      first = false;
      if (changed) onSize({ ...size, ours });
    },
    close() {
      if (resting !== null) clearTimeout(resting);
      observer.disconnect();
    },
  };
}
