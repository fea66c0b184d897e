/** One xterm as every pane uses it: our font and colours, no mouse reports, WebGL where it works. */
import '@xterm/xterm/css/xterm.css';
import { FitAddon } from '@xterm/addon-fit';
import { WebglAddon } from '@xterm/addon-webgl';
import { Terminal } from '@xterm/xterm';
import { mouseModes } from './draw.ts';
import type { TerminalPalette } from './palettes.ts';
import { terminalTheme } from './terminal-theme.ts';

/** More than a pane keeps above its screen. */
const maxLinesAbove = 10_000;
/**
 * CSS pixels of the bar at the right, which shows where in the lines above one is, and where something was found. It stands in the right margin, so that
 * it costs no column.
 */
const rulerWidth = 6;

interface TerminalLook {
  readonly scheme: 'dark' | 'light';
  readonly palette: TerminalPalette;
  readonly fontSize: number;
  readonly renderer: 'auto' | 'dom';
  readonly screenReader: boolean;
}

export interface OpenTerminal {
  readonly terminal: Terminal;
  /** The size that fills the element, or null while it has none. */
  proposeSize(): { cols: number; rows: number } | null;
  setLook(look: TerminalLook): void;
  /** What its field is called. */
  setLabel(label: string): void;
  dispose(): void;
}

export function openTerminal(element: HTMLElement, look: TerminalLook): OpenTerminal {
  const terminal = new Terminal({
    allowProposedApi: true,
    cols: 80,
    rows: 24,
    scrollback: maxLinesAbove,
    overviewRuler: { width: rulerWidth },
    fontFamily: '"JetBrains Mono Variable", ui-monospace, monospace',
    fontSize: look.fontSize,
    // 18 px a row at the usual 12.5 px.
    lineHeight: 1.08,
    letterSpacing: 0,
    theme: terminalTheme(look.scheme, look.palette),
    // Programs choose colours for a ground they do not know; text stays legible on ours.
    minimumContrastRatio: 4.5,
    cursorBlink: false,
    cursorInactiveStyle: 'outline',
    screenReaderMode: look.screenReader,
    macOptionIsMeta: true,
  });
  const fit = new FitAddon();
  terminal.loadAddon(fit);
  for (const final of ['h', 'l']) {
    terminal.parser.registerCsiHandler({ prefix: '?', final }, (parameters) =>
      parameters.some((one) => typeof one === 'number' && mouseModes.has(one)),
    );
  }
  terminal.open(element);
  if (look.renderer === 'auto') loadWebgl(terminal);

  return {
    terminal,
    proposeSize() {
      const size = fit.proposeDimensions();
      return size === undefined || !Number.isFinite(size.cols) || !Number.isFinite(size.rows) ? null : size;
    },
    setLook(next) {
      terminal.options.theme = terminalTheme(next.scheme, next.palette);
      terminal.options.fontSize = next.fontSize;
      terminal.options.screenReaderMode = next.screenReader;
    },
    setLabel: (label) => terminal.textarea?.setAttribute('aria-label', label),
    dispose: () => terminal.dispose(),
  };
}

/** Asked for once: on a computer without it, each attempt waits for the browser's other process. */
function createWebglCheck(): () => boolean {
  let has: boolean | null = null;
  return () => {
    has ??= document.createElement('canvas').getContext('webgl2', { failIfMajorPerformanceCaveat: true }) !== null;
    return has;
  };
}
const hasWebgl = createWebglCheck();

/** The DOM renderer stays when WebGL is missing or drawn without a graphics card, and comes back when the context is lost. */
function loadWebgl(terminal: Terminal): void {
  if (!hasWebgl()) return;
  try {
    const webgl = new WebglAddon();
    webgl.onContextLoss(() => webgl.dispose());
    terminal.loadAddon(webgl);
  } catch {
    // No WebGL here: nothing is missing but speed.
  }
}
