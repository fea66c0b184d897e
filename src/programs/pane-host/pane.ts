/**
 * One live pane: its terminal, journal and emulator, and the listeners for its changes. It reports facts and never judges them. It knows nothing of
 * sockets and frames.
 */
import type { EmulatorParts } from './emulator.ts';
import type { Feed } from './feed.ts';
import { createJournal, type Journal } from './journal.ts';
import { resetAndSay } from './mode-reset.ts';
import { createPaneScreen, type PaneScreen, type ScreenStart } from './pane-screen.ts';
import type { Answers, FactsWire, InfoWire, OscWire, PaneSpecWire, ScreenWire } from './protocol.ts';
import { give, type Pty, type PtySink } from './pty.ts';
import type { Resize } from './replay.ts';

/** A screen or facts leave at most this often, ms: 30 a second is what an eye follows. The first change leaves at once. */
export const tickMs = 33;
/** A frame announced by mode 2026 is waited for no longer than this, ms: a program may die inside one. */
const maxFrameMs = 150;
/** Bytes read but not parsed: above the first limit the program waits, below the second it continues (as in VS Code). */
const inFlight = { high: 100_000, low: 5_000 };
/** Bytes not yet on disk: above the first the program waits for the disk, so that nothing it printed is lost. */
const maxUnsaved = 8 * 1024 * 1024;
/** Bytes parsed for one pane before the others get their turn: about a millisecond. */
const slice = 64 * 1024;
/** An echo or a short answer is parsed where it is read. */
const parseAtOnce = 4096;
/** Sequences kept for a runtime that comes back. */
const maxOscs = 64;
const maxResizes = 64;
export const defaultScrollback = 1000;
export interface RecordedOsc {
  readonly seq: number;
  readonly osc: OscWire;
}

export interface PaneDrawing {
  readonly screen: ScreenWire;
  readonly ansi: string;
}

/** What went before: an earlier life of the pane, or the same program under an earlier host. */
export interface PanePast {
  /** The offset at which its journal continues. */
  readonly offset: number;
  readonly resizes: readonly Resize[];
  readonly screen: ScreenStart;
  /** Said in a line before the program starts, after modes are set back: what ended the one before. */
  readonly words?: string;
  /** Bytes that were seen and that the disk had not taken: as many that mean nothing keep every later offset where it would be. */
  readonly lost?: number;
  /** Set for a program that continues after a hand-over. */
  readonly running?: {
    readonly startedAt: string;
    readonly printedAt: number;
    readonly oscSeq: number;
    readonly oscs: readonly RecordedOsc[];
    readonly endReason: string | null;
    /** Input that its terminal has not taken yet, base64. */
    readonly unwritten: string;
  };
}

/** Everything the next host needs to continue a pane. Without its environment, which may hold secrets. */
export type HandedPane = Required<Omit<PanePast, 'words' | 'lost'>> & {
  readonly spec: Omit<PaneSpecWire, 'env'>;
  readonly pid: number;
  readonly cols: number;
  readonly rows: number;
};

/** What happens to a pane; each is called in the turn in which it happened. */
export interface PaneEvents {
  /** The screen or the facts may have changed; at most every {@link tickMs} while `wanted` answers true. */
  tick(pane: LivePane): void;
  /** Whether anybody wants ticks now. */
  wanted(pane: LivePane): boolean;
  printed(pane: LivePane): void;
  osc(pane: LivePane, kept: RecordedOsc): void;
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
  oscs(): readonly RecordedOsc[];
  capture(lines: number): { text: string; at: string };
  scrollback(before: number | undefined, lines: number): Answers['scrollback'] & { ansi: string };
  snapshot(): { offset: number; ansi: string; cols: number; rows: number };
  resize(cols: number, rows: number): void;
  /** Says why it will end; kept as its reason. */
  willEnd(reason: string): void;
  /** A tick as soon as one is due. */
  touch(): void;
  /** Its emulator is kept as a few bytes, until somebody needs it. */
  readonly asleep: boolean;
  /** `performance.now()` of when its emulator was last needed. */
  readonly usedAt: number;
  /** False where it cannot sleep now. */
  sleep(): boolean;
  /** Stops at a byte, with everything before it parsed and on disk; throws where it cannot. */
  prepare(): Promise<HandedPane>;
  /** Nobody took it, or not all panes could be prepared: it continues. */
  goOn(): void;
  /** Resolves when the pane has ended and its journal is whole. */
  readonly closed: Promise<void>;
  dispose(): void;
}

export interface PaneDeps {
  readonly folder: string;
  /** Starts the program, or takes up one that runs. */
  readonly openPty: (sink: PtySink) => Pty;
  readonly parts: EmulatorParts;
  readonly feed: Feed;
  readonly now: () => number;
  readonly events: PaneEvents;
}

export function startPane(deps: PaneDeps, spec: PaneSpecWire, past?: PanePast): LivePane {
  const { events, now } = deps;
  const scrollback = spec.scrollback ?? defaultScrollback;
  const { running } = past ?? {};
  const startedAt = running?.startedAt ?? iso(now());
  let { cols, rows } = spec;
  let printedAt = running?.printedAt ?? now();
  let end: { code: number | null; signal: string | null; at: string } | null = null;
  let endReason: string | null = running?.endReason ?? null;
  let oscSeq = running?.oscSeq ?? 0;
  let kept: readonly RecordedOsc[] = running?.oscs ?? [];
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const resizes: Resize[] = past ? [...past.resizes] : [{ offset: 0, cols, rows }];
  const journal = createJournal({
    folder: deps.folder,
    pane: spec.id,
    from: past?.offset ?? 0,
    onFault: (reason) => events.fault(pane, `its journal cannot be written: ${reason}`),
  });
  const screen = createPaneScreen({
    parts: deps.parts,
    scrollback,
    resizes,
    read: (offset, max) => journal.read(offset, max),
    onReply: (text) => pty.write(Buffer.from(text, 'utf8')),
    onOsc(code, text) {
      const osc = { seq: ++oscSeq, osc: { code, text, offset: journal.end, at: iso(printedAt) } };
      kept = [...kept.slice(1 - maxOscs), osc];
      events.osc(pane, osc);
    },
    // It may be told while the pane is being made.
    onFault: (what) => queueMicrotask(() => events.fault(pane, what)),
    ...(past && { from: past.screen }),
  });

  const ticks = createTicks({
    wanted: () => events.wanted(pane),
    inFrame: () => screen.drawing() && end === null,
    tick: () => events.tick(pane),
  });

  const parsing = createParsing({
    from: past?.offset ?? 0,
    journal,
    screen,
    feed: deps.feed,
    pause: () => pty.pause(),
    resume: () => pty.resume(),
    onParsed: ticks.changed,
  });
  journal.onSaved(parsing.throttle);

  function took(bytes: number): void {
    journal.took(bytes);
    printedAt = now();
    parsing.took();
    events.printed(pane);
  }

  const pane: LivePane = {
    spec,
    journal,
    get pty() {
      return pty;
    },
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
      fault: journal.fault,
    }),
    draw() {
      const { revision, ansi, cursor } = screen.draw();
      return { screen: { revision, at: iso(printedAt), cols, rows, cursor }, ansi };
    },
    facts() {
      const { revision, cursor, facts } = screen.glance();
      return { revision, offset: parsing.parsed, ...facts, cursor, at: iso(printedAt) };
    },
    oscs: () => kept,
    capture: (lines) => ({ text: screen.lastLines(lines), at: end?.at ?? iso(now()) }),
    scrollback: (before, lines) => screen.scrollback(before, lines),
    snapshot: () => ({ ...screen.snapshot(), cols, rows }),
    resize(toCols, toRows) {
      if (end || (toCols === cols && toRows === rows)) return;
      // What the program printed for the old size is parsed at the old size.
      parsing.all();
      cols = toCols;
      rows = toRows;
      resizes.push({ offset: journal.end, cols, rows });
      if (resizes.length > maxResizes) resizes.shift();
      screen.resized();
      pty.resize(cols, rows);
      events.resized(pane);
      ticks.changed();
    },
    closed,
    dispose: () => screen.dispose(),
    willEnd(reason) {
      endReason ??= end ? null : reason;
    },
    touch: ticks.touch,
    get asleep() {
      return screen.asleep;
    },
    get usedAt() {
      return screen.usedAt;
    },
    sleep() {
      if (parsing.parsed < journal.end || !screen.sleep()) return false;
      journal.rest();
      return true;
    },
    async prepare() {
      if (!pty.hold) throw new Error(`the terminal of pane ${spec.id} cannot be handed over`);
      parsing.hold();
      const unwritten = Buffer.from(pty.hold()).toString('base64');
      parsing.all();
      await journal.finish();
      if (!journal.whole) throw new Error(`not all of the text of pane ${spec.id} is on disk`);
      const { env: _, ...rest } = spec;
      return {
        spec: rest,
        pid: pty.pid,
        cols,
        rows,
        offset: journal.end,
        resizes,
        screen: screen.handOver(),
        running: { startedAt, printedAt, oscSeq, oscs: kept, endReason, unwritten },
      };
    },
    goOn() {
      parsing.letGo();
      pty.release?.();
      pty.resume();
      parsing.throttle();
    },
  };

  if (past?.words !== undefined) sayAbove(past, past.words, { screen, journal, rows });
  const pty = deps.openPty({
    room: () => journal.room(),
    took,
    ended(code, signal) {
      end = { code, signal, at: iso(now()) };
      parsing.all();
      ticks.stop();
      void journal.finish().then(() => {
        events.ended(pane);
        close();
      });
    },
  });
  parsing.all();
  if (running) pty.write(Buffer.from(running.unwritten, 'base64'));
  return pane;
}

/** What the program printed, on its way to the emulator. While too much of it waits for the emulator or the disk, the program waits. */
function createParsing({
  from,
  journal,
  screen,
  feed,
  pause,
  resume,
  onParsed,
}: {
  readonly from: number;
  readonly journal: Journal;
  readonly screen: PaneScreen;
  readonly feed: Feed;
  readonly pause: () => void;
  readonly resume: () => void;
  readonly onParsed: () => void;
}) {
  let parsed = from;
  let paused = false;
  let held = false;
  const feeder = {
    feed(): boolean {
      parse(slice);
      return parsed < journal.end;
    },
  };

  function throttle(): void {
    if (held) return;
    const waiting = journal.end - parsed;
    if (!paused && (waiting > inFlight.high || journal.unsaved > maxUnsaved)) {
      paused = true;
      pause();
      feed.wants(feeder);
    } else if (paused && waiting < inFlight.low && journal.unsaved <= maxUnsaved) {
      paused = false;
      resume();
    }
  }

  function parse(limit: number): void {
    const bytes = journal.view(parsed, limit);
    if (bytes && bytes.length > 0) {
      screen.write(bytes, parsed + bytes.length);
      parsed += bytes.length;
      onParsed();
    }
    throttle();
  }

  return {
    /** The offset up to which the emulator has it. */
    get parsed(): number {
      return parsed;
    },
    /** The journal has more. */
    took(): void {
      if (journal.end - parsed <= parseAtOnce) parse(parseAtOnce);
      else feed.wants(feeder);
      throttle();
    },
    all(): void {
      while (parsed < journal.end) parse(slice);
    },
    throttle,
    /** The terminal is handed over: it is neither paused nor resumed from here. */
    hold(): void {
      held = true;
    },
    /** The terminal stays here, and runs. */
    letGo(): void {
      held = false;
      paused = false;
    },
  };
}

/** Batches changes for listeners: one notice every {@link tickMs} at most, after the end of a frame that has begun. */
function createTicks(deps: {
  readonly wanted: () => boolean;
  readonly inFrame: () => boolean;
  readonly tick: () => void;
}) {
  let dirty = true;
  let lastTick = -Infinity;
  let timer: NodeJS.Timeout | undefined;
  let frameSince: number | null = null;

  function tick(): void {
    clearTimeout(timer);
    timer = undefined;
    if (!dirty || !deps.wanted()) return;
    if (deps.inFrame()) {
      frameSince ??= performance.now();
      if (performance.now() - frameSince < maxFrameMs) {
        timer = setTimeout(tick, tickMs);
        return;
      }
    }
    frameSince = null;
    lastTick = performance.now();
    dirty = false;
    deps.tick();
  }

  function touch(): void {
    if (timer || !dirty || !deps.wanted()) return;
    const wait = tickMs - (performance.now() - lastTick);
    if (wait <= 0) tick();
    else timer = setTimeout(tick, wait);
  }

  return {
    touch,
    changed(): void {
      dirty = true;
      touch();
    },
    stop: () => clearTimeout(timer),
  };
}

/** Puts words between the text of the last life and that of the next. */
function sayAbove(
  past: PanePast,
  words: string,
  { screen, journal, rows }: { readonly screen: PaneScreen; readonly journal: Journal; readonly rows: number },
): void {
  const { ansi, cursor } = screen.draw();
  const lines = ansi.replace(/\x1b\[[0-9;]*m/g, '').split('\r\n');
  const lowest = Math.max(
    cursor.y - (cursor.x === 0 ? 1 : 0),
    lines.findLastIndex((line) => line.trim() !== ''),
  );
  const said = resetAndSay(words, { altScreen: screen.glance().facts.altScreen, rows, lowest });
  give(journal, Buffer.concat([Buffer.alloc(past.lost ?? 0), Buffer.from(said, 'utf8')]));
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
