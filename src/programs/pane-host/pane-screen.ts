/**
 * A pane's emulator, awake or asleep. Asleep it takes a few kilobytes; any use wakes it, unnoticed by the caller. If it breaks or cannot be woken, a
 * new one gets the text of the journal. It knows nothing of programs, clocks and sockets.
 */
import { createEmulator, type Emulator, type EmulatorFacts, type EmulatorParts } from './emulator.ts';
import { type Resize, replay, replayBytes } from './replay.ts';

interface PaneScreenOptions {
  readonly parts: EmulatorParts;
  readonly scrollback: number;
  /** Sizes so far; the last is the one of now. The pane adds to it. */
  readonly resizes: readonly Resize[];
  /** Text of the journal. `start` is later than asked where older text is gone. */
  readonly read: (offset: number, max: number) => { readonly start: number; readonly bytes: Uint8Array };
  readonly onReply: (text: string) => void;
  readonly onOsc: (code: number, text: string) => void;
  readonly onFault: (what: string) => void;
  readonly from?: ScreenStart;
}

/** What the emulator of an earlier host showed. */
export interface ScreenStart {
  /** All bytes up to here were parsed. */
  readonly offset: number;
  readonly revision: number;
  readonly frozen: Uint8Array | null;
  /** With `frozen`: the facts reported while it sleeps. */
  readonly glance?: Glance | undefined;
  /** For a host that cannot read `frozen`: what draws the pane, as it was at `offset`. */
  readonly drawing: { readonly offset: number; readonly ansi: string } | null;
}

interface Glance {
  readonly revision: number;
  readonly cursor: { readonly x: number; readonly y: number; readonly visible: boolean };
  readonly facts: EmulatorFacts;
}

export interface PaneScreen {
  readonly asleep: boolean;
  /** `performance.now()` of when the emulator was last needed. */
  readonly usedAt: number;
  /** Parses `bytes`, which end at `until`. */
  write(bytes: Uint8Array, until: number): void;
  /** The size of now is `resizes`' last. */
  resized(): void;
  draw(): { readonly revision: number; readonly ansi: string; readonly cursor: Glance['cursor'] };
  /** Wakes nothing. */
  glance(): Glance;
  drawing(): boolean;
  lastLines(count: number): string;
  scrollback(before: number | undefined, lines: number): ReturnType<Emulator['scrollback']>;
  snapshot(): { readonly offset: number; readonly ansi: string };
  /** False where it cannot sleep now. */
  sleep(): boolean;
  /** For the host that comes after; leaves all as it is. */
  handOver(): ScreenStart;
  dispose(): void;
}

/** How far back the start of an unfinished sequence is looked for. */
const maxOpenSequenceLength = 64 * 1024;

export function createPaneScreen(options: PaneScreenOptions): PaneScreen {
  const { resizes, from } = options;
  let silent = false;
  let parsed = from?.offset ?? 0;
  let revision = from?.revision ?? 0;
  let drawn = { ansi: '', cursorKey: '' };
  /** Whether `drawn` is what the emulator shows now: a change is sent as a screen and as facts, and drawn once for both. */
  let isDrawn = false;
  let usedAt = performance.now();
  let emulator: Emulator | null = null;
  let frozen: { readonly bytes: Uint8Array; readonly glance: Glance } | null = null;
  /** In place of `frozen`, where that cannot be read. */
  let drawing = from?.drawing ?? null;
  if (!from) emulator = newEmulator();
  else if (from.frozen && from.glance) frozen = { bytes: from.frozen, glance: from.glance };
  else emulator = quietly(() => fromText());

  function newEmulator(size = resizes.at(-1), bytes?: Uint8Array): Emulator {
    const { cols, rows } = size ?? { cols: 80, rows: 24 };
    return createEmulator(options.parts, {
      cols,
      rows,
      scrollback: options.scrollback,
      onReply: (text) => !silent && options.onReply(text),
      onOsc: (code, text) => !silent && options.onOsc(code, text),
      ...(bytes && { frozen: bytes }),
    });
  }

  /** What was asked and told once is not answered and told again. */
  function quietly<T>(work: () => T): T {
    silent = true;
    try {
      return work();
    } finally {
      silent = false;
    }
  }

  /** A new emulator with the pane's text. */
  function fromText(): Emulator {
    if (!drawing) return fromJournal(parsed);
    const made = newEmulator();
    made.write(Buffer.from(drawing.ansi, 'utf8'));
    made.write(readWhole(options.read, drawing.offset, parsed).bytes);
    return made;
  }

  /** A new emulator with the text up to `until`. */
  function fromJournal(until: number): Emulator {
    const made = newEmulator(resizes[0]);
    const { start, bytes } = readWhole(options.read, Math.max(0, until - replayBytes), until);
    replay(made, start, bytes, resizes);
    return made;
  }

  function awake(): Emulator {
    usedAt = performance.now();
    if (emulator) return emulator;
    isDrawn = false;
    const { bytes } = frozen!;
    frozen = null;
    try {
      emulator = newEmulator(undefined, bytes);
      // It looks as it did when its revision was counted.
      drawn = look(emulator);
    } catch (error) {
      options.onFault(`its screen was drawn from its text, because it could not be woken: ${(error as Error).message}`);
      emulator = quietly(fromText);
    }
    drawing = null;
    return emulator;
  }

  function look(of: Emulator): { ansi: string; cursorKey: string } {
    const { x, y, visible } = of.cursor();
    const { cols, rows } = resizes.at(-1)!;
    return { ansi: of.screen(), cursorKey: `${x};${y};${visible};${cols};${rows}` };
  }

  /** A parser that threw cannot be used again. A new one gets the text before the bytes that broke it, and continues after them. */
  function rebuild(error: Error): void {
    isDrawn = false;
    options.onFault(`its emulator was rebuilt: ${error.message}`);
    emulator?.dispose();
    emulator = quietly(() => {
      let made: Emulator | undefined;
      try {
        made = fromJournal(parsed);
        // Ends whatever the lost bytes may have begun.
        made.write(Buffer.from('\x1b\\\x1b[0m'));
        return made;
      } catch {
        made?.dispose();
        return newEmulator();
      }
    });
  }

  function recent(): Uint8Array {
    const start = Math.max(0, parsed - maxOpenSequenceLength);
    return options.read(start, parsed - start).bytes;
  }

  const screen: PaneScreen = {
    get asleep() {
      return emulator === null;
    },
    get usedAt() {
      return usedAt;
    },
    write(bytes, until) {
      isDrawn = false;
      try {
        awake().write(bytes);
      } catch (error) {
        rebuild(error as Error);
      }
      parsed = until;
    },
    resized() {
      isDrawn = false;
      const { cols, rows } = resizes.at(-1)!;
      awake().resize(cols, rows);
    },
    draw() {
      const made = awake();
      const now = isDrawn ? drawn : look(made);
      isDrawn = true;
      if (now.ansi !== drawn.ansi || now.cursorKey !== drawn.cursorKey) {
        revision++;
        drawn = now;
      }
      return { revision, ansi: now.ansi, cursor: made.cursor() };
    },
    glance() {
      if (frozen) return frozen.glance;
      const { cursor } = screen.draw();
      return { revision, cursor, facts: emulator!.facts() };
    },
    drawing: () => emulator?.drawing() ?? false,
    lastLines: (count) => awake().lastLines(count),
    scrollback: (before, lines) => awake().scrollback(before, lines),
    snapshot() {
      const made = awake();
      return { offset: parsed - made.incomplete(recent()), ansi: made.snapshot() };
    },
    sleep() {
      if (!emulator) return true;
      const bytes = emulator.freeze(recent());
      if (!bytes) return false;
      const before = usedAt;
      const glance = screen.glance();
      usedAt = before;
      frozen = { bytes, glance };
      emulator.dispose();
      emulator = null;
      return true;
    },
    handOver() {
      const glance = screen.glance();
      const before = frozen;
      const { offset, ansi } = screen.snapshot();
      const bytes = before?.bytes ?? awake().freeze(recent());
      if (before) {
        emulator?.dispose();
        emulator = null;
        frozen = before;
      }
      return { offset: parsed, revision: glance.revision, frozen: bytes, glance, drawing: { offset, ansi } };
    },
    dispose() {
      emulator?.dispose();
      emulator = null;
      frozen = null;
    },
  };
  return screen;
}

/** As far as it is there. `start` is later than `offset` where older text is gone. */
function readWhole(
  read: PaneScreenOptions['read'],
  offset: number,
  until: number,
): { start: number; bytes: Uint8Array } {
  const pieces: Uint8Array[] = [];
  let start = offset;
  let at = offset;
  while (at < until) {
    const { start: found, bytes } = read(at, until - at);
    if (bytes.length === 0) break;
    if (found > at) {
      // Older text is gone: what is left begins here.
      pieces.length = 0;
      start = found;
    }
    pieces.push(bytes);
    at = found + bytes.length;
  }
  return { start, bytes: Buffer.concat(pieces) };
}
