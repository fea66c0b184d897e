/**
 * The wire between the pane host and its clients: version, names of its files, messages, frames.
 * Both ends import this file and nothing else of each other. It knows nothing of agents, teams or HTTP.
 *
 * A frame is `u32 bodyLength · u32 headerLength · header (JSON) · tail (bytes)`, numbers big-endian. What programs print
 * travels in tails only, as the bytes it is: never encoded, never decoded on the way.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';

/** A host of another major is not used and another host is started beside it; a minor only adds. */
export const protocol = { major: 1, minor: 1 } as const;

/** The `endReason` of panes whose host is gone: their programs did not end on their own. */
export const hostEnded = 'the pane host ended';

/** Longest frame taken from the other end, bytes. A read answers at most {@link maxRead}, an input at most a megabyte. */
const maxFrame = 16 * 1024 * 1024;
/** Most bytes of one `read` answer or one streamed piece. */
export const maxRead = 1024 * 1024;

export interface HostFiles {
  /** `<home>/run`, 0700. */
  readonly folder: string;
  /** Unix socket or, on Windows, the name of a pipe. */
  readonly socket: string;
  /** The folder to make 0700 before the socket is bound, or null if the socket needs none. */
  readonly socketFolder: string | null;
  /** 32 random bytes in hexadecimal, 0600: who can read it may use the host. */
  readonly token: string;
  readonly lock: string;
  /** Journals and what is known of each pane, 0700. */
  readonly panes: string;
  readonly log: string;
}

/** Longest path that every Unix takes as a socket's: 104 bytes with the closing zero on macOS, 108 on Linux. */
export const maxSocketPathLength = 103;

/** Where the host of one data folder keeps its things. A home too deep for a socket path gets a short folder of the user's own. */
export function hostFiles(home: string, platform: NodeJS.Platform = process.platform): HostFiles {
  const folder = join(home, 'run');
  const name = `panes-v${protocol.major}`;
  const files = {
    folder,
    token: join(folder, `${name}.token`),
    lock: join(folder, `${name}.lock`),
    panes: join(folder, 'panes'),
    log: join(home, 'logs', 'pane-host.log'),
  };
  const short = createHash('sha256').update(home).digest('hex').slice(0, 16);
  if (platform === 'win32') return { ...files, socket: `\\\\.\\pipe\\gantry-${short}-${name}`, socketFolder: null };
  const socket = join(folder, `${name}.sock`);
  if (Buffer.byteLength(socket) <= maxSocketPathLength) return { ...files, socket, socketFolder: null };
  // Not the variables for temporary folders: host and client may have been started from different places.
  const own = `/tmp/gantry-${process.getuid?.() ?? -1}-${short}`;
  return { ...files, socket: join(own, `${name}.sock`), socketFolder: own };
}

// ---- What is said of a pane ----

export interface PaneSpecWire {
  readonly id: string;
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cols: number;
  readonly rows: number;
  readonly scrollback?: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** A closed pane begins again: the same id, its text above, a new program. */
export interface Revival {
  /** Said in the pane, in a line before the program. */
  readonly words: string;
  /** What the caller has seen of the last life: offsets and revisions only grow. */
  readonly offset: number;
  readonly revision: number;
}

export interface FactsWire {
  readonly revision: number;
  readonly offset: number;
  readonly title: string;
  readonly progress: string | null;
  readonly altScreen: boolean;
  readonly bracketedPaste: boolean;
  readonly focusReporting: boolean;
  readonly applicationCursor: boolean;
  readonly bottom: readonly string[];
  readonly cursor: { readonly x: number; readonly y: number; readonly visible: boolean };
  readonly dimRows: readonly boolean[];
  readonly at: string;
}

export interface OscWire {
  readonly code: number;
  readonly text: string;
  readonly offset: number;
  readonly at: string;
}

export interface InfoWire {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly pid: number;
  readonly alive: boolean;
  readonly exitCode: number | null;
  readonly exitSignal: string | null;
  readonly endReason: string | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly cols: number;
  readonly rows: number;
  readonly offset: number;
  readonly facts: FactsWire;
  /** Why its text does not reach the disk; null while it does. Absent from an older host. */
  readonly fault?: string | null;
}

export interface ScreenWire {
  readonly revision: number;
  readonly at: string;
  readonly cols: number;
  readonly rows: number;
  readonly cursor: { readonly x: number; readonly y: number; readonly visible: boolean };
}

// ---- Requests: each is answered once, with its `id` as `re` ----

export type Request =
  | { readonly op: 'hello'; readonly major: number; readonly token: string; readonly who: string }
  | { readonly op: 'ping' }
  /** Facts, sequences and ends of all panes from now on; each pane's kept sequences after `seen[pane]` come first. */
  | { readonly op: 'observe'; readonly seen: Readonly<Record<string, number>> }
  | { readonly op: 'create'; readonly spec: PaneSpecWire; readonly revive?: Revival }
  /** Tail: the bytes. */
  | { readonly op: 'write'; readonly pane: string }
  | { readonly op: 'resize'; readonly pane: string; readonly cols: number; readonly rows: number }
  /** Tail of the answer: the screen as escape sequences, UTF-8. */
  | { readonly op: 'screen'; readonly pane: string }
  | { readonly op: 'watch'; readonly pane: string }
  | { readonly op: 'unwatch'; readonly pane: string }
  | { readonly op: 'capture'; readonly pane: string; readonly lines: number }
  | { readonly op: 'scrollback'; readonly pane: string; readonly before?: number; readonly lines: number }
  /** Tail of the answer: bytes of the journal. */
  | { readonly op: 'read'; readonly pane: string; readonly offset: number; readonly max: number }
  /** The journal from `from`, or the screen as it is and then what follows; `stream` is the caller's name for it. */
  | { readonly op: 'attach'; readonly pane: string; readonly stream: number; readonly from: number | 'snapshot' }
  | { readonly op: 'detach'; readonly stream: number }
  | { readonly op: 'kill'; readonly pane: string }
  | { readonly op: 'forget'; readonly pane: string }
  | { readonly op: 'stop'; readonly force: boolean }
  /** From minor 1. A pane that nobody needs for so long sleeps; null: never. */
  | { readonly op: 'settings'; readonly sleepAfterMs: number | null }
  /** From minor 1. Starts another host with this argv, which continues all panes. If that fails, it is refused and this host continues. */
  | { readonly op: 'hand-over'; readonly command: readonly string[] };

export interface Answers {
  hello: {
    readonly major: number;
    readonly minor: number;
    readonly pid: number;
    readonly startedAt: string;
    /** Which Gantry it is of; absent before minor 1. */
    readonly build?: string;
  };
  ping: Record<never, never>;
  observe: { readonly panes: readonly InfoWire[] };
  create: { readonly info: InfoWire };
  write: Record<never, never>;
  resize: Record<never, never>;
  screen: ScreenWire;
  watch: Record<never, never>;
  unwatch: Record<never, never>;
  capture: { readonly at: string };
  scrollback: {
    readonly first: number;
    readonly lines: number;
    readonly total: number;
    /** Of a shell that marks them: the line where each begins, and its exit code, null while it runs. Absent from an older host. */
    readonly commands?: readonly { readonly line: number; readonly exit: number | null }[];
  };
  read: { readonly start: number; readonly end: number; readonly live: boolean; readonly at: string };
  attach: Record<never, never>;
  detach: Record<never, never>;
  kill: Record<never, never>;
  forget: Record<never, never>;
  stop: { readonly stopped: boolean; readonly live: number };
  settings: Record<never, never>;
  'hand-over': { readonly pid: number; readonly panes: number };
}
export type Op = Request['op'];

/** The host's refusals; the same codes and words as everywhere else in Gantry. */
export interface HostError {
  readonly code: 'usage' | 'refused' | 'not_found' | 'transport' | 'internal';
  readonly fact: string;
  readonly action: string;
}

// ---- What the host says unasked ----

export type Event =
  /** Before anything else is said of the pane, also to the client that asked for it. */
  | { readonly ev: 'created'; readonly pane: string; readonly info: InfoWire }
  | { readonly ev: 'facts'; readonly pane: string; readonly facts: FactsWire }
  /** `seq` counts the sequences of one pane, so that a client that comes back hears each once. */
  | { readonly ev: 'osc'; readonly pane: string; readonly seq: number; readonly osc: OscWire }
  | { readonly ev: 'exit'; readonly pane: string; readonly info: InfoWire }
  /** Tail: the screen as escape sequences, UTF-8. */
  | { readonly ev: 'screen'; readonly pane: string; readonly screen: ScreenWire }
  | { readonly ev: 'gone'; readonly pane: string; readonly reason: string }
  /** Tail: the bytes of the journal from `offset`. */
  | { readonly ev: 'data'; readonly stream: number; readonly offset: number }
  /** Tail: escape sequences that draw the whole pane as it was at `offset`; `data` continues from there. */
  | {
      readonly ev: 'snapshot';
      readonly stream: number;
      readonly offset: number;
      readonly cols: number;
      readonly rows: number;
    }
  /** Everything was sent and no more will come. */
  | { readonly ev: 'end'; readonly stream: number; readonly offset: number };

export type ToHost = Request & { readonly id: number };
export type FromHost =
  | { readonly re: number; readonly ok: Answers[Op] }
  | { readonly re: number; readonly error: HostError }
  | Event;

// ---- Frames ----

const none = new Uint8Array(0);

/** The bytes that go before `tail`. The tail itself is written as it is, without a copy. */
export function frameHead(header: object, tailLength = 0): Buffer {
  const json = Buffer.from(JSON.stringify(header));
  const head = Buffer.allocUnsafe(8 + json.length);
  head.writeUInt32BE(4 + json.length + tailLength, 0);
  head.writeUInt32BE(json.length, 4);
  json.copy(head, 8);
  return head;
}

/**
 * Takes bytes as they come and calls `onFrame` for each whole frame. The tail is a view that is valid only during the call
 * unless the caller keeps the chunk. Throws `RangeError` on a frame that cannot be ours; the connection is then closed.
 */
export function createFrameReader(onFrame: (header: unknown, tail: Uint8Array) => void): (chunk: Buffer) => void {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let wanted = 8;

  return (chunk) => {
    held.push(chunk);
    heldBytes += chunk.length;
    if (heldBytes < wanted) return;
    let data = held.length === 1 ? chunk : Buffer.concat(held, heldBytes);
    let at = 0;
    wanted = 8;
    while (data.length - at >= 8) {
      const body = data.readUInt32BE(at);
      const header = data.readUInt32BE(at + 4);
      if (body > maxFrame || header > body - 4)
        throw new RangeError(`a frame of ${body} bytes with a header of ${header}`);
      if (data.length - at < 4 + body) {
        wanted = 4 + body;
        break;
      }
      const start = at + 8;
      at += 4 + body;
      const tail = 4 + header === body ? none : data.subarray(start + header, at);
      onFrame(JSON.parse(data.toString('utf8', start, start + header)), tail);
    }
    data = data.subarray(at);
    held = data.length === 0 ? [] : [data];
    heldBytes = data.length;
  };
}
