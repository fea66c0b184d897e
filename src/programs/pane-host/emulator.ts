/**
 * One headless terminal: takes a pane's bytes, gives its screen, its text and the facts in it. It answers the questions that
 * programs put to a terminal (the one place where answers come from) and reports sequences of interest in order.
 * It knows nothing of processes, journals or sockets, and never judges what a screen means.
 */
import type { SerializeAddon } from '@xterm/addon-serialize';
import type { Terminal } from '@xterm/headless';
import { freezeTerminal, thawTerminal } from './frozen.ts';
import type { Answers } from './protocol.ts';
import { keepRowsTogether, type RowMemories } from './row-memory.ts';
import { drawRows, lastLines, mostlyDim } from './screen-text.ts';

interface EmulatorOptions {
  readonly cols: number;
  readonly rows: number;
  readonly scrollback: number;
  /** An answer to the program, to be typed into its terminal. */
  readonly onReply: (text: string) => void;
  readonly onOsc: (code: number, text: string) => void;
  /** What an earlier one of the same size and scrollback gave. Throws when it is not whole or another version's. */
  readonly frozen?: Uint8Array;
}

export interface EmulatorFacts {
  readonly title: string;
  readonly progress: string | null;
  readonly altScreen: boolean;
  readonly bracketedPaste: boolean;
  readonly focusReporting: boolean;
  readonly applicationCursor: boolean;
  readonly bottom: readonly string[];
  readonly dimRows: readonly boolean[];
}

export interface Emulator {
  /** Parses at once. Throws what the parser throws; the emulator is then of no more use. */
  write(bytes: Uint8Array): void;
  resize(cols: number, rows: number): void;
  screen(): string;
  cursor(): { x: number; y: number; visible: boolean };
  facts(): EmulatorFacts;
  /** A frame is being drawn (mode 2026): the screen is not whole. */
  drawing(): boolean;
  lastLines(count: number): string;
  scrollback(before: number | undefined, lines: number): Answers['scrollback'] & { ansi: string };
  /** Everything needed to draw the pane again: both buffers, modes, cursor. */
  snapshot(): string;
  /** How many of the last bytes belong to a sequence or character not yet complete; `recent` ends where parsing stands. */
  incomplete(recent: Uint8Array): number;
  /** All of it as bytes, for `frozen` of a later one; null while an unfinished sequence stands in the way. `recent` as above. */
  freeze(recent: Uint8Array): Uint8Array | null;
  dispose(): void;
}

/** Sequences that say something about the program: folder, notices and progress, marks of shells, state of agents. */
const reported = [7, 9, 99, 133, 633, 777, 1337, 21337];
const maxOscLength = 4096;
const bottomRows = 40;
/** Answers to colour queries: a dark screen, as every viewer draws it unless a person chose light. */
const colours: Readonly<Record<number, string>> = {
  10: 'rgb:d4d4/d4d4/d4d4',
  11: 'rgb:1616/1616/1616',
  12: 'rgb:d4d4/d4d4/d4d4',
};
/** The 16 base colours, asked for one by one by some programs. */
const palette =
  '000000 cd3131 0dbc79 e5e510 2472c8 bc3fbc 11a8cd e5e5e5 666666 f14c4c 23d18b f5f543 3b8eea d670d6 29b8db ffffff'.split(
    ' ',
  );

/** Parts of the terminal that its public interface leaves out; the version is pinned and a test covers each. */
interface Core {
  readonly _core: {
    writeSync(data: Uint8Array): void;
    readonly coreService: { readonly isCursorHidden: boolean };
    readonly buffers: {
      readonly normal: {
        readonly lines: { onTrim(listener: (lines: number) => void): void };
        readonly ybase: number;
        readonly y: number;
        addMarker(line: number): Marker;
      };
    };
    readonly _inputHandler: { readonly _parser: { readonly currentState: number } };
  };
}

/** What is kept of a sleeping terminal beside the terminal itself. */
interface More {
  readonly title: string;
  readonly progress: string | null;
  readonly trimmed: number;
  /** Absent from an older host. */
  readonly marks?: readonly [line: number, ran: boolean, exit: number | null][];
}

interface Marker {
  readonly line: number;
  readonly isDisposed: boolean;
}

/** A command of a shell that marks its prompts (OSC 133). */
interface CommandMark {
  /** Moves with its line, and is gone with it. */
  readonly marker: Marker;
  ran: boolean;
  exit: number | null;
}

export interface EmulatorParts {
  readonly Terminal: new (options: object) => Terminal;
  readonly SerializeAddon: new () => SerializeAddon;
  readonly rows: RowMemories;
}

/** Loaded with the first pane: a host without panes stays small. */
export async function loadEmulatorParts(): Promise<EmulatorParts> {
  const [headless, serialize] = await Promise.all([import('@xterm/headless'), import('@xterm/addon-serialize')]);
  const { Terminal } = whole(headless) as Pick<EmulatorParts, 'Terminal'>;
  const { SerializeAddon } = whole(serialize);
  const sample = new Terminal({ cols: 2, rows: 1 });
  const rows = keepRowsTogether(sample);
  sample.dispose();
  return { Terminal, SerializeAddon, rows };
}

/** Node sees these packages as CommonJS, with everything under `default`; the bundle has them as modules. */
function whole<T extends object>(module: T): T {
  return 'default' in module ? (module.default as T) : module;
}

export function createEmulator(parts: EmulatorParts, options: EmulatorOptions): Emulator {
  const { cols, rows, scrollback } = options;
  const terminal = new parts.Terminal({ cols, rows, scrollback, allowProposedApi: true, logLevel: 'off' });
  const core = (terminal as unknown as Core)._core;
  let title = '';
  let progress: string | null = null;
  let trimmed = 0;
  let serializer: SerializeAddon | null = null;
  /** The first bytes of a character whose last ones have not come. */
  let held: Uint8Array = new Uint8Array(0);
  const cell = terminal.buffer.active.getNullCell();
  const memory = parts.rows.create();
  const { normal } = core.buffers;
  const commands = createCommandMarks(normal);

  normal.lines.onTrim((lines) => {
    trimmed += lines;
  });
  terminal.onTitleChange((text) => {
    title = text.slice(0, maxOscLength);
  });
  terminal.onData(options.onReply);
  for (const code of reported) {
    terminal.parser.registerOscHandler(code, (data) => {
      const text = data.slice(0, maxOscLength);
      if (code === 9 && text.startsWith('4;')) progress = text.slice(2);
      if (code === 133 && terminal.buffer.active.type === 'normal') commands.mark(text);
      options.onOsc(code, text);
      return false;
    });
  }
  answerQuestions(terminal, options.onReply);

  if (options.frozen) {
    const { more, tail } = thawTerminal(terminal, options.frozen, memory);
    const kept = more as More;
    ({ title, progress, trimmed } = kept);
    commands.restore(kept.marks ?? []);
    write(tail);
  }

  /** Whole characters only: the terminal's own decoder loses one that was cut before a byte 0x80, such as a dash or an ellipsis. */
  function write(bytes: Uint8Array): void {
    const all = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    const open = openCharacter(all);
    held = open === 0 ? held.subarray(0, 0) : all.slice(all.length - open);
    parts.rows.during(memory, () => core.writeSync(open === 0 ? all : all.subarray(0, all.length - open)));
  }
  const top = (): number => terminal.buffer.active.baseY;
  return {
    write,
    resize: (toCols, toRows) => terminal.resize(toCols, toRows),
    screen: () => drawRows(terminal.buffer.active, top(), top() + terminal.rows),
    cursor: () => ({
      x: Math.min(terminal.buffer.active.cursorX, terminal.cols - 1),
      y: terminal.buffer.active.cursorY,
      visible: !core.coreService.isCursorHidden,
    }),
    facts() {
      const buffer = terminal.buffer.active;
      const bottom: string[] = [];
      const dimRows: boolean[] = [];
      for (let y = top() + terminal.rows - 1; y >= top() && bottom.length < bottomRows; y--) {
        const line = buffer.getLine(y);
        const text = line?.translateToString(true).trimEnd() ?? '';
        if (text === '' && bottom.length === 0) continue;
        bottom.push(text);
        dimRows.push(line ? mostlyDim(line, cell) : false);
      }
      const { bracketedPasteMode, sendFocusMode, applicationCursorKeysMode } = terminal.modes;
      return {
        title,
        progress,
        altScreen: buffer.type === 'alternate',
        bracketedPaste: bracketedPasteMode,
        focusReporting: sendFocusMode,
        applicationCursor: applicationCursorKeysMode,
        bottom: bottom.reverse(),
        dimRows: dimRows.reverse(),
      };
    },
    drawing: () => terminal.modes.synchronizedOutputMode,
    lastLines: (count) => lastLines(terminal.buffer.active, count),
    scrollback(before, lines) {
      const buffer = terminal.buffer.normal;
      const total = trimmed + buffer.baseY;
      const until = Math.min(before ?? total, total);
      const first = Math.min(Math.max(trimmed, until - lines), until);
      const ran = commands.ran(trimmed);
      if (until <= trimmed) return { ansi: '', first: until, lines: 0, total, commands: ran };
      const ansi = drawRows(buffer, first - trimmed, until - trimmed);
      return { ansi, first, lines: until - first, total, commands: ran };
    },
    snapshot() {
      if (!serializer) {
        serializer = new parts.SerializeAddon();
        terminal.loadAddon(serializer as never);
      }
      return serializer.serialize();
    },
    incomplete(recent) {
      if (core._inputHandler._parser.currentState === 0) return held.length;
      const begin = recent.lastIndexOf(0x1b);
      return begin < 0 ? held.length : recent.length - begin;
    },
    freeze(recent) {
      return freezeTerminal(terminal, recent, held, {
        title,
        progress,
        trimmed,
        marks: commands.kept(),
      } satisfies More);
    },
    dispose: () => terminal.dispose(),
  };
}

/** What programs ask a terminal for: its colours, and whether it is light or dark. */
function answerQuestions(terminal: Terminal, onReply: (text: string) => void): void {
  for (const [code, colour] of Object.entries(colours)) {
    terminal.parser.registerOscHandler(Number(code), (data) => {
      if (data !== '?') return false;
      onReply(`\x1b]${code};${colour}\x1b\\`);
      return true;
    });
  }
  terminal.parser.registerOscHandler(4, (data) => {
    const asked = /^(\d+);\?$/.exec(data);
    const colour = asked ? palette[Number(asked[1])] : undefined;
    if (!asked || !colour) return false;
    const wide = colour.replace(/../g, (pair, at: number) => `${at > 0 ? '/' : ''}${pair}${pair}`);
    onReply(`\x1b]4;${asked[1]};rgb:${wide}\x1b\\`);
    return true;
  });
  // "Light or dark?": dark, as the colours above.
  terminal.parser.registerCsiHandler({ prefix: '?', final: 'n' }, (params) => {
    if (params[0] !== 996) return false;
    onReply('\x1b[?997;1n');
    return true;
  });
}

/** The commands of a shell that marks them (OSC 133), by the line of their prompt. */
function createCommandMarks(normal: Core['_core']['buffers']['normal']) {
  let marks: CommandMark[] = [];
  return {
    /** A: a prompt begins. C: its command runs. D: it has ended. */
    mark(text: string): void {
      const last = marks.at(-1);
      if (text.startsWith('A')) {
        const line = normal.ybase + normal.y;
        marks = marks.filter(({ marker, ran }) => !marker.isDisposed && ran && marker.line !== line);
        marks.push({ marker: normal.addMarker(line), ran: false, exit: null });
      } else if (text.startsWith('C') && last !== undefined) last.ran = true;
      else if (text.startsWith('D') && last?.ran === true && last.exit === null) {
        const exit = /^D;(\d+)/.exec(text)?.[1];
        if (exit !== undefined) last.exit = Number(exit);
      }
    },
    /** Those that ran, with lines counted from the first that was ever printed. */
    ran: (trimmed: number) =>
      marks
        .filter(({ marker, ran }) => ran && !marker.isDisposed)
        .map(({ marker, exit }) => ({ line: trimmed + marker.line, exit })),
    kept: () =>
      marks
        .filter(({ marker }) => !marker.isDisposed)
        .map(({ marker, ran, exit }): [number, boolean, number | null] => [marker.line, ran, exit]),
    restore(kept: NonNullable<More['marks']>): void {
      marks = kept.map(([line, ran, exit]) => ({ marker: normal.addMarker(line), ran, exit }));
    },
  };
}

/** How many of the last bytes begin a character and do not end it. */
function openCharacter(bytes: Uint8Array): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte < 0x80) return 0;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return back < length ? back : 0;
  }
  return 0;
}
