/**
 * The interface of panes to the rest of the runtime, wherever they live: in the local pane host or on another computer. The engine reports facts; it
 * never judges an agent's state. No harness is named here.
 */
import type { Engine, PaneSize, Screen, Scrollback } from '../../contracts/factory/agent.ts';

export interface PaneSpec {
  /** Chosen by the caller; opaque, unique forever: `pane_<ulid>`. */
  readonly id: string;
  /** argv; never a shell string. */
  readonly command: readonly [string, ...string[]];
  readonly cwd: string;
  /** The whole environment of the program: nothing else is inherited; the host adds `GANTRY_PANE_RECORD`, by which it finds its programs. */
  readonly env: Readonly<Record<string, string>>;
  readonly cols: number;
  readonly rows: number;
  /** Lines kept by the emulator; default 1000. */
  readonly scrollback?: number;
  /** Kept with the pane and given back on list, so that a restarted runtime knows what each pane is. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface PaneInfo {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly pid: number;
  readonly alive: boolean;
  /** Exit code, or null while alive, after a signal or when it cannot be known. */
  readonly exitCode: number | null;
  readonly exitSignal: string | null;
  /** Why it ended other than by its program's exit, in words: `killed`, `the pane host ended`. */
  readonly endReason: string | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly cols: number;
  readonly rows: number;
  /** Bytes printed so far: the journal's end. */
  readonly offset: number;
  readonly facts: PaneFacts;
  /** Why its text does not reach the disk; null while it does, absent from an older host. */
  readonly fault?: string | null;
}

/** A closed pane begins again under its id: its text above, `words` in a line, a new program. */
interface PaneRevival {
  readonly words: string;
}

/** The host's observations, without a judgement. Sent whenever something in it changed (at most every 33 ms). */
export interface PaneFacts {
  readonly revision: number;
  readonly offset: number;
  /** Last OSC 0/2 title. */
  readonly title: string;
  /** Last OSC 9;4 progress state, or null. */
  readonly progress: string | null;
  readonly altScreen: boolean;
  readonly bracketedPaste: boolean;
  readonly focusReporting: boolean;
  /** DECCKM: arrows, Home and End are sent as SS3. Absent from a host that does not report it yet. */
  readonly applicationCursor?: boolean;
  /** The bottom rows of the buffer (never of a scrolled view), trailing blank rows removed; at most 40, plain text. */
  readonly bottom: readonly string[];
  readonly cursor: { readonly x: number; readonly y: number; readonly visible: boolean };
  /** True where most letters and digits of a bottom row are dim (ghost text in a composer), one flag a row of `bottom`. */
  readonly dimRows: readonly boolean[];
  /** When the pane last printed. */
  readonly at: string;
}

/**
 * OSC sequences of programs, in order, none lost: `code` 7, 9, 99, 133, 633, 777, 1337, 21337, `text` the payload as printed (at most 4096
 * characters). `offset` is the journal's end when it was seen. A new runtime gets the kept ones (64 a live pane) again, with their own `at`.
 */
export interface PaneOsc {
  readonly code: number;
  readonly text: string;
  readonly offset: number;
  readonly at: string;
}

export interface PaneWatcher {
  /** The parsed screen changed. Delivered latest-only: resolve when the screen has left for the viewer. */
  onScreen(screen: Screen): void | Promise<void>;
  onGone(reason: string): void;
}

export interface PaneReader {
  onBytes(offset: number, bytes: Uint8Array): void;
  /** Escape sequences that draw the pane as it was at `offset`. */
  onSnapshot(offset: number, size: PaneSize, ansi: Uint8Array): void;
  /** The pane is closed and all of it was given, or it cannot be read: then with the reason. */
  onEnd(reason: string | null): void;
}

export interface PaneListener {
  onFacts?(paneId: string, facts: PaneFacts): void;
  onOsc?(paneId: string, osc: PaneOsc): void;
  onExit?(paneId: string, info: PaneInfo): void;
  /** The engine can be read again or no longer. After true, `list()` is current. */
  onEngine?(engine: Engine): void;
}

export interface PaneEngine {
  /** Whether the pane host can be read, and if not, why in a sentence. */
  engine(): Engine;
  /** Why no pane host is started any more, in a sentence: until somebody starts one, every pane is gone. Null otherwise. */
  givenUp(): string | null;
  /** Resolves when the first try to reach the host has ended, either way. Until then `list()` is empty and `engine()` not running. */
  ready(): Promise<void>;
  /** The last known panes; unchanged while the host cannot be read. */
  list(): readonly PaneInfo[];
  get(id: string): PaneInfo | null;
  /** Starts a program. Fails with `AppError` `usage` (command missing, cwd not a folder) or `transport` (host gone). */
  create(spec: PaneSpec): Promise<PaneInfo>;
  /**
   * Starts a program in a closed pane, at the size it had. Leftovers of the previous one are ended first. Offsets and revisions continue; `usage`
   * when the pane is live or unknown.
   */
  revive(spec: PaneSpec, revival: PaneRevival): Promise<PaneInfo>;
  /** Readers of a closed pane are not told of its end until the returned function is called: it may be about to live again. */
  hold(id: string): () => void;
  /** The host that serves; null while none can be read. */
  host(): { readonly pid: number; readonly build: string; readonly startedAt: string } | null;
  /** Raw bytes into the pty, in call order. `not_found` when the pane is not live. */
  write(id: string, data: string | Uint8Array): Promise<void>;
  resize(id: string, size: PaneSize): Promise<void>;
  screen(id: string): Promise<Screen>;
  /** First screen at once, then on change, then one `onGone`. Returns the function that unsubscribes. */
  watch(id: string, watcher: PaneWatcher): () => void;
  /** Last lines as plain text; of a closed pane from the journal. `at` is then its end. */
  capture(id: string, lines: number): Promise<{ text: string; at: string }>;
  scrollback(id: string, before: number | undefined, lines: number): Promise<Scrollback>;
  /** Exact bytes of the journal from `offset`, at most `maxBytes`; `start` is later than asked when older bytes are gone. */
  read(
    id: string,
    offset: number,
    maxBytes: number,
  ): Promise<{ start: number; bytes: Uint8Array; end: number; live: boolean; at: string }>;
  /**
   * Bytes as they are printed: from `from`, or a drawing of the whole pane and the bytes after it. A reader too slow for the journal gets a drawing
   * instead of the dropped bytes. Continues without gap or repeat when the host was away.
   */
  attach(id: string, from: number | 'snapshot', reader: PaneReader): () => void;
  /** Ends the whole process tree: TERM, then KILL. Resolves when it is gone. Idempotent. */
  kill(id: string): Promise<void>;
  /** Forgets a closed pane and its journal. */
  forget(id: string): Promise<void>;
  listen(listener: PaneListener): () => void;
  /** Ends the pane host itself; with live panes only when `force`. */
  stopHost(options: { force: boolean }): Promise<{ stopped: boolean; live: number }>;
  /** Lets go of the host; panes run on. */
  close(): Promise<void>;
}
