/**
 * The wire between the executor program (hands and eyes: it acts and looks, and decides nothing) and the gate that drives it, over its
 * stdin and stdout: frames of `u32 length · head (JSON) · size bytes`. Requests have an `id` and are answered with the same `id`;
 * events come unasked. A request of one session or display waits for the one before it. Both ends import this file and nothing
 * else of each other.
 */
import type { AnyToolset } from '../../contracts/computer-use/members.ts';
import type { BrowserState, Screen, ToolsetResult } from '../../contracts/computer-use/toolset.ts';

/** Where a call acts: a browser session by its id, or the computer itself, by its screen or its shell. */
export type Place = { readonly kind: 'browser'; readonly session: string } | { readonly kind: 'desktop' };

export interface OpenSession {
  readonly do: 'open';
  readonly session: string;
  /** Absolute folder of the browser's profile, made where it is missing. */
  readonly profile: string;
  /** Absolute folder for downloads. */
  readonly downloads: string;
  /** False: a window on the display, which `DISPLAY` of the environment names. */
  readonly headless: boolean;
  /** `host:port` of a proxy through which everything goes, or null: then {@link HostQuestion} is asked for each new host. */
  readonly proxy: string | null;
  /** Records a trace from now on, in this folder; null: none. */
  readonly trace: string | null;
}

export interface CloseSession {
  readonly do: 'close';
  readonly session: string;
  /** Removes the profile. */
  readonly wipe: boolean;
}

/** What the policy has to know before an action, without acting. */
export interface Look {
  readonly do: 'look';
  readonly place: Place;
  readonly member: string;
  readonly input: Readonly<Record<string, unknown>>;
}

export interface Looked {
  readonly screen: Screen;
  /** Of the active page, or of the tab that the input names; null on the desktop. */
  readonly url: string | null;
  /** The action types or puts something into a password or other credential field. */
  readonly credential: boolean;
  /** What is about to be touched, for the live view: in the frame. */
  readonly region: { readonly x: number; readonly y: number; readonly width: number; readonly height: number } | null;
  /** What is there in words, for approvals: `button "Send"`; null where it cannot be told. */
  readonly element: string | null;
}

/** `input` is valid, in coordinates of the frame ({@link Screen}). */
export interface Act {
  readonly do: 'act';
  readonly place: Place;
  readonly toolset: AnyToolset;
  readonly member: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Milliseconds; after it the answer is a fault `action_timeout`. */
  readonly timeoutMs: number;
  /** What the policy went by, where nobody looked for this call: of a page or a frame that is another now it is a fault `changed`. */
  readonly seen?: { readonly url: string; readonly screen: Screen };
}

export interface Acted {
  readonly text: string | null;
  /** Bytes of the picture that follow the head; 0: none. */
  readonly image: {
    readonly media_type: 'image/png' | 'image/jpeg';
    readonly width: number;
    readonly height: number;
  } | null;
  readonly browser_state: BrowserState | null;
  readonly screen: Screen;
  /** Of the `shell` toolset, which this program does not have: a hosted computer without a screen answers it itself. */
  readonly shell?: Pick<ToolsetResult, 'exec' | 'file'> & { readonly texts: readonly string[] };
}

/** Frames for a live view, when something changed. Turned off with `fps: 0`. Each `place` on its own. */
interface Watch {
  readonly do: 'watch';
  readonly place: Place;
  readonly fps: number;
}

/** A video of what happens; answered at `stop` with the file. */
interface RecordVideo {
  readonly do: 'record';
  readonly place: Place;
  readonly file: string;
  readonly stop: boolean;
}

/** Saves the trace so far; answered with the file. */
export interface SaveTrace {
  readonly do: 'trace';
  readonly session: string;
  readonly file: string;
}

/** The answer to {@link HostQuestion}. */
interface HostAnswer {
  readonly do: 'host';
  readonly question: number;
  readonly allow: boolean;
  readonly why: string;
}

/** Stops what is under way at this place, at once: what it had done stays done, and its answer is the fault `cancelled`. */
interface Stop {
  readonly do: 'stop';
  readonly place: Place;
}

export type Request = OpenSession | CloseSession | Look | Act | Watch | RecordVideo | SaveTrace | HostAnswer | Stop;
export type RequestHead = Request & { readonly id: number; readonly size: 0 };

/**
 * page: the model should see it as an error result (200, is_error) · device: the display or browser is not there (503) · invalid: the
 * call cannot be (400) · refused: an address that nobody may open (200, is_error).
 */
export interface Fault {
  readonly sort: 'page' | 'device' | 'invalid' | 'refused';
  readonly code:
    | 'stale_ref'
    | 'element_not_found'
    | 'element_covered'
    | 'not_editable'
    | 'option_not_found'
    | 'file_not_found'
    | 'file_not_written'
    | 'not_text'
    | 'navigation_failed'
    | 'navigation_refused'
    | 'dialog_open'
    | 'tab_not_found'
    | 'script_failed'
    | 'action_timeout'
    | 'cancelled'
    /** See {@link Act.seen}: nothing was done. */
    | 'changed'
    | 'unknown_key'
    | 'display_unavailable'
    | 'browser_crashed'
    | 'session_not_open'
    | 'outside_frame';
  readonly message: string;
  /** Whether the action may have happened all the same. */
  readonly unknownEnd?: true;
}

export type AnswerHead = { readonly id: number; readonly size: number } & (
  | { readonly ok: true; readonly looked?: Looked; readonly acted?: Acted; readonly file?: string | null }
  | { readonly ok: false; readonly fault: Fault }
);

/** The browser wants to reach a host that was not asked for before (or no longer): nothing is sent until {@link HostAnswer}. */
export interface HostQuestion {
  readonly event: 'host';
  readonly question: number;
  readonly session: string;
  readonly host: string;
  readonly port: number;
  /** What it resolves to now; the connection goes to one of them. */
  readonly addresses: readonly string[];
}

export type ProgramEvent =
  | HostQuestion
  /** A JPEG follows. */
  | { readonly event: 'frame'; readonly place: Place; readonly width: number; readonly height: number }
  /** Of a browser only while somebody watches it. */
  | { readonly event: 'pointer'; readonly place: Place; readonly x: number; readonly y: number }
  /** Somebody else used mouse or keyboard: the pointer is not where the executor left it. */
  | { readonly event: 'elsewhere'; readonly place: Place }
  | { readonly event: 'page'; readonly session: string; readonly url: string; readonly title: string }
  | {
      readonly event: 'download';
      readonly session: string;
      readonly state: 'started' | 'completed' | 'failed';
      readonly path: string | null;
      /** How large it is; `size` is the frame's own. */
      readonly bytes: number | null;
    }
  | { readonly event: 'gone'; readonly place: Place; readonly fault: Fault };
export type EventHead = ProgramEvent & { readonly id: 0; readonly size: number };

/** Bytes of one head; more is a fault of the other end. */
export const maxHeadLength = 1024 * 1024;
/** Bytes of one picture. */
export const largestPicture = 32 * 1024 * 1024;
/** A download larger than this is stopped. Bytes. */
export const largestDownload = 256 * 1024 * 1024;
