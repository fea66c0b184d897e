/** One xterm as every pane uses it: our font and colours, no mouse reports, WebGL where it works. */
import '@xterm/xterm/css/xterm.css';
import { FitAddon } from '@xterm/addon-fit';
import { WebglAddon } from '@xterm/addon-webgl';
import { type ITheme, Terminal } from '@xterm/xterm';
import { mouseModes } from './draw.ts';

/** More than a pane keeps above its screen. */
const maxLinesAbove = 10_000;
/**
 * CSS pixels of the bar at the right, which shows where in the lines above one is, and where something was found. It stands in the right margin, so that
 * it costs no column.
 */
const rulerWidth = 6;

interface TerminalLook {
  readonly scheme: 'dark' | 'light';
  readonly fontSize: number;
  readonly renderer: 'auto' | 'dom';
  readonly screenReader: boolean;
}

export interface OpenTerminal {
  readonly terminal: Terminal;
  /** The size that fills the element, or null while it has none. */
  proposeSize(): { cols: number; rows: number } | null;
  setLook(look: TerminalLook): void;
  dispose(): void;
}

export function openTerminal(element: HTMLElement, options: { look: TerminalLook; label: string }): OpenTerminal {
  const { look } = options;
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
    theme: terminalThemes[look.scheme],
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
  terminal.textarea?.setAttribute('aria-label', options.label);
  if (look.renderer === 'auto') loadWebgl(terminal);

  return {
    terminal,
    proposeSize() {
      const size = fit.proposeDimensions();
      return size === undefined || !Number.isFinite(size.cols) || !Number.isFinite(size.rows) ? null : size;
    },
    setLook(next) {
      terminal.options.theme = terminalThemes[next.scheme];
      terminal.options.fontSize = next.fontSize;
      terminal.options.screenReaderMode = next.screenReader;
    },
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

/** Colours of terminals. xterm wants plain colours, so the two schemes are written out; the grounds are those of --terminal. */
const terminalThemes: Readonly<Record<'dark' | 'light', ITheme>> = {
  dark: {
    background: '#0e1013',
    foreground: '#d9dbde',
    cursor: '#5eb6ee',
    cursorAccent: '#0e1013',
    selectionBackground: '#2b4a63',
    overviewRulerBorder: '#0e1013',
    black: '#23272d',
    red: '#f0716b',
    green: '#6fcf8e',
    yellow: '#d8b45a',
    blue: '#6aaef2',
    magenta: '#c792ea',
    cyan: '#5fc7cf',
    white: '#c9ccd1',
    brightBlack: '#7b828c',
    brightRed: '#ff9089',
    brightGreen: '#8fe3a9',
    brightYellow: '#ecd07f',
    brightBlue: '#93c7fb',
    brightMagenta: '#dcb4f5',
    brightCyan: '#8adfe5',
    brightWhite: '#f2f3f5',
  },
  light: {
    background: '#fcfcfd',
    foreground: '#24272c',
    cursor: '#0a66ad',
    cursorAccent: '#fcfcfd',
    selectionBackground: '#c4dcf2',
    overviewRulerBorder: '#fcfcfd',
    black: '#24272c',
    red: '#b3261e',
    green: '#1a7a3c',
    yellow: '#86600a',
    blue: '#1a5fb4',
    magenta: '#8430a8',
    cyan: '#0f7078',
    white: '#6a6f77',
    brightBlack: '#5c626b',
    brightRed: '#c8372d',
    brightGreen: '#1f8a47',
    brightYellow: '#946b0c',
    brightBlue: '#2a6fc4',
    brightMagenta: '#9540ba',
    brightCyan: '#12808a',
    brightWhite: '#33373d',
  },
};
