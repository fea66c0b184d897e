/**
 * Draws the newest screen of a pane, and the line below it, into a person's terminal. Latest only: while one screen is on its way to
 * the terminal, newer ones replace each other. Must not know where screens come from.
 */
import type { Screen } from '../../contracts/factory/agent.ts';
import { createPainter, type Window } from './draw.ts';

/** Alternate screen on and cleared; bracketed paste stays off: what is pasted arrives as typed. */
const enter = '\x1b[?1049h\x1b[2J\x1b[H';
const leave = '\x1b[0m\x1b[?25h\x1b[?1049l';

interface Viewer {
  enter(): void;
  show(screen: Screen): void;
  /** Draws again with what stands in the line below now. */
  refresh(): void;
  /** The window has another size. */
  resized(): void;
  /** Gives the terminal back. Idempotent. */
  leave(): void;
}

interface ViewerDeps {
  readonly stdout: {
    write(text: string): boolean;
    once(event: 'drain', listener: () => void): unknown;
  };
  window(): Window;
  status(): string;
}

export function createViewer({ stdout, window, status }: ViewerDeps): Viewer {
  const painter = createPainter();
  let next: Screen | null = null;
  let last: Screen | null = null;
  let painting = false;
  let entered = false;

  async function paint(): Promise<void> {
    if (painting) return;
    painting = true;
    while (next !== null && entered) {
      last = next;
      next = null;
      const bytes = await painter.paint(last, window(), status());
      if (entered && !stdout.write(bytes)) await new Promise<void>((resolve) => stdout.once('drain', resolve));
    }
    painting = false;
  }

  const refresh = (): void => {
    next ??= last;
    void paint();
  };
  return {
    refresh,
    enter() {
      entered = true;
      stdout.write(enter);
    },
    show(screen) {
      next = screen;
      void paint();
    },
    resized() {
      painter.reset();
      if (entered) stdout.write('\x1b[2J');
      refresh();
    },
    leave() {
      if (!entered) return;
      entered = false;
      stdout.write(leave);
    },
  };
}
