/**
 * One live pane: its terminal, journal and emulator, and who is told when something changed. Facts are reported, never judged.
 * It knows nothing of sockets and frames.
 */
import { createEmulator, type Emulator, type EmulatorParts } from './emulator.ts';
import type { Feed } from './feed.ts';
import { createJournal, type Journal } from './journal.ts';
import type { FactsWire, InfoWire, OscWire, PaneSpecWire, ScreenWire } from './protocol.ts';
import type { Pty, StartPty } from './pty.ts';

/** A screen or facts leave at most this often, ms: 30 a second is what an eye follows. The first change leaves at once. */
export const tickMs = 33;
/** A frame announced by mode 2026 is waited for no longer than this, ms: a program may die inside one. */
const longestFrameMs = 150;
/** Bytes read but not parsed: above the first the program waits, below the second it goes on (as VS Code does). */
const inFlight = { high: 100_000, low: 5_000 };
/** Bytes not yet on disk: above the first the program waits for the disk, so that nothing it printed is lost. */
const unsavedMost = 8 * 1024 * 1024;
/** Bytes parsed for one pane before the others get their turn: about a millisecond. */
const slice = 64 * 1024;
/** An echo or a short answer is parsed where it is read. */
const parseAtOnce = 4096;
/** How far back the start of an unfinished sequence is looked for. */
const longestOpenSequence = 64 * 1024;
/** Sequences kept for a runtime that comes back. */
const oscsKept = 64;
const resizesKept = 64;
export const defaultScrollback = 1000;
/** Text given to a new emulator when the old one broke: more than any screen, little to parse. */
const rebuildBytes = 256 * 1024;

export interface KeptOsc {
  readonly seq: number;
  readonly osc: OscWire;
}

export interface PaneDrawing {
  readonly screen: ScreenWire;
  readonly ansi: string;
}

/** What happens to a pane; each is called in the turn in which it happened. */
export interface PaneEvents {
  /** The screen or the facts may have changed; at most every {@link tickMs} while `wanted` answers true. */
  tick(pane: LivePane): void;
  /** Whether anybody wants ticks now. */
  wanted(pane: LivePane): boolean;
  printed(pane: LivePane): void;
  osc(pane: LivePane, kept: KeptOsc): void;
  resized(pane: LivePane): void;
  ended(pane: LivePane): void;
  fault(pane: LivePane, what: string): void;
}

export interface LivePane {
  readonly spec: PaneSpecWire;
  readonly journal: Journal;
  readonly pty: Pty;
  readonly alive: boolean;
  readonly resizes: readonly Resize[];
  /** When it last printed. */
  printedAt(): string;
  info(): InfoWire;
  facts(): FactsWire;
  draw(): PaneDrawing;
  oscs(): readonly KeptOsc[];
  capture(lines: number): { text: string; at: string };
  scrollback(before: number | undefined, lines: number): { ansi: string; first: number; lines: number; total: number };
  snapshot(): { offset: number; ansi: string; cols: number; rows: number };
  resize(cols: number, rows: number): void;
  /** Says why it will end; kept as its reason. */
  willEnd(reason: string): void;
  /** A tick as soon as one is due. */
  touch(): void;
  /** Resolves when the pane has ended and its journal is whole. */
  readonly closed: Promise<void>;
  dispose(): void;
}

/** From `offset` on the pane had this size. */
export interface Resize {
  readonly offset: number;
  readonly cols: number;
  readonly rows: number;
}

export interface PaneDeps {
  readonly folder: string;
  readonly startPty: StartPty;
  readonly parts: EmulatorParts;
  readonly feed: Feed;
  readonly now: () => number;
  readonly events: PaneEvents;
}

export function startPane(deps: PaneDeps, spec: PaneSpecWire): LivePane {
  const { events, now } = deps;
  const scrollback = spec.scrollback ?? defaultScrollback;
  const startedAt = iso(now());
  let { cols, rows } = spec;
  let emulator = newEmulator();
  let silent = false;
  let parsed = 0;
  let paused = false;
  let printedAt = now();
  let revision = 0;
  let drawn: { ansi: string; cursor: string } = { ansi: '', cursor: '' };
  let dirty = true;
  let lastTick = -Infinity;
  let tickTimer: NodeJS.Timeout | undefined;
  let frameSince: number | null = null;
  let end: { code: number | null; signal: string | null; at: string } | null = null;
  let endReason: string | null = null;
  let oscSeq = 0;
  let kept: KeptOsc[] = [];
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const resizes: Resize[] = [{ offset: 0, cols, rows }];
  const journal = createJournal({
    folder: deps.folder,
    pane: spec.id,
    onFault: (reason) => events.fault(pane, `its journal cannot be written: ${reason}`),
    onSaved: () => throttle(),
  });

  const feeder = {
    feed(): boolean {
      parse(slice);
      return parsed < journal.end;
    },
  };

  const pty = deps.startPty(
    { command: spec.command, cwd: spec.cwd, env: spec.env, cols, rows },
    {
      room: () => journal.room(),
      took(bytes) {
        journal.took(bytes);
        printedAt = now();
        const waiting = journal.end - parsed;
        if (waiting <= parseAtOnce) parse(parseAtOnce);
        else deps.feed.wants(feeder);
        throttle();
        events.printed(pane);
      },
      ended(code, signal) {
        end = { code, signal, at: iso(now()) };
        while (parsed < journal.end) parse(slice);
        clearTimeout(tickTimer);
        void journal.finish().then(() => {
          events.ended(pane);
          close();
        });
      },
    },
  );

  function newEmulator(): Emulator {
    return createEmulator(deps.parts, {
      cols,
      rows,
      scrollback,
      onReply(text) {
        if (!silent) pty.write(Buffer.from(text, 'utf8'));
      },
      onOsc(code, text) {
        if (silent) return;
        const osc = { seq: ++oscSeq, osc: { code, text, offset: journal.end, at: iso(printedAt) } };
        kept = [...kept.slice(1 - oscsKept), osc];
        events.osc(pane, osc);
      },
    });
  }

  function throttle(): void {
    const waiting = journal.end - parsed;
    if (!paused && (waiting > inFlight.high || journal.unsaved > unsavedMost)) {
      paused = true;
      pty.pause();
      deps.feed.wants(feeder);
    } else if (paused && waiting < inFlight.low && journal.unsaved <= unsavedMost) {
      paused = false;
      pty.resume();
    }
  }

  function parse(most: number): void {
    const bytes = journal.view(parsed, most);
    if (bytes && bytes.length > 0) {
      try {
        emulator.write(bytes);
      } catch (error) {
        rebuild(error as Error, parsed);
      }
      parsed += bytes.length;
      dirty = true;
      pane.touch();
    }
    throttle();
  }

  /** A parser that threw is of no more use. A new one gets the text before the bytes that broke it, and goes on after them. */
  function rebuild(error: Error, until: number): void {
    events.fault(pane, `its emulator was rebuilt: ${error.message}`);
    emulator.dispose();
    silent = true;
    emulator = newEmulator();
    try {
      const from = Math.max(0, until - rebuildBytes);
      emulator.write(journal.read(from, until - from).bytes);
      // Ends whatever the lost bytes may have begun.
      emulator.write(Buffer.from('\x1b\\\x1b[0m'));
    } catch {
      emulator.dispose();
      emulator = newEmulator();
    }
    silent = false;
  }

  function tick(): void {
    clearTimeout(tickTimer);
    tickTimer = undefined;
    if (!dirty || !events.wanted(pane)) return;
    if (emulator.drawing() && !end) {
      frameSince ??= performance.now();
      if (performance.now() - frameSince < longestFrameMs) {
        tickTimer = setTimeout(tick, tickMs);
        return;
      }
    }
    frameSince = null;
    lastTick = performance.now();
    dirty = false;
    events.tick(pane);
  }

  const pane: LivePane = {
    spec,
    journal,
    pty,
    resizes,
    get alive() {
      return end === null;
    },
    printedAt: () => iso(printedAt),
    info: () => ({
      id: spec.id,
      labels: spec.labels,
      pid: pty.pid,
      alive: end === null,
      exitCode: end?.code ?? null,
      exitSignal: end?.signal ?? null,
      endReason,
      startedAt,
      endedAt: end?.at ?? null,
      cols,
      rows,
      offset: journal.end,
      facts: pane.facts(),
    }),
    draw() {
      const cursor = emulator.cursor();
      const ansi = emulator.screen();
      const cursorKey = `${cursor.x};${cursor.y};${cursor.visible};${cols};${rows}`;
      if (ansi !== drawn.ansi || cursorKey !== drawn.cursor) {
        revision++;
        drawn = { ansi, cursor: cursorKey };
      }
      return { screen: { revision, at: iso(printedAt), cols, rows, cursor }, ansi };
    },
    facts() {
      const { screen } = pane.draw();
      return { revision: screen.revision, offset: parsed, ...emulator.facts(), cursor: screen.cursor, at: screen.at };
    },
    oscs: () => kept,
    capture: (lines) => ({ text: emulator.lastLines(lines), at: end?.at ?? iso(now()) }),
    scrollback: (before, lines) => emulator.scrollback(before, lines),
    snapshot() {
      const from = Math.max(0, parsed - longestOpenSequence);
      const recent = journal.read(from, parsed - from).bytes;
      return { offset: parsed - emulator.incomplete(recent), ansi: emulator.snapshot(), cols, rows };
    },
    resize(toCols, toRows) {
      if (end || (toCols === cols && toRows === rows)) return;
      // What the program printed for the old size is parsed at the old size.
      while (parsed < journal.end) parse(slice);
      cols = toCols;
      rows = toRows;
      emulator.resize(cols, rows);
      pty.resize(cols, rows);
      resizes.push({ offset: journal.end, cols, rows });
      if (resizes.length > resizesKept) resizes.shift();
      events.resized(pane);
      dirty = true;
      pane.touch();
    },
    closed,
    dispose: () => emulator.dispose(),
    willEnd(reason) {
      endReason ??= end ? null : reason;
    },
    touch() {
      if (tickTimer || !dirty || !events.wanted(pane)) return;
      const wait = tickMs - (performance.now() - lastTick);
      if (wait <= 0) tick();
      else tickTimer = setTimeout(tick, wait);
    },
  };
  return pane;
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
