/** What the program requires of each kind of place, the browser and the desktop, and how they report faults. Must not know the wire. */
import type { Act, Acted, Fault, Look, Looked, Place, ProgramEvent } from './protocol.ts';

/** Thrown by hands; becomes the answer. Whatever else they throw is answered as a fault of the page. */
export class HandsFault extends Error {
  override readonly name = 'HandsFault';
  readonly fault: Fault;

  constructor(sort: Fault['sort'], code: Fault['code'], message: string, unknownEnd = false) {
    super(message);
    this.fault = { sort, code, message, ...(unknownEnd ? { unknownEnd } : {}) };
  }
}

export interface ActedWith extends Acted {
  /** The picture; as `image` says. */
  readonly bytes?: Uint8Array;
}

/** A request of one place comes when the one before it was answered; `watch` and `record` may come in between. */
export interface Hands {
  look(request: Look): Promise<Looked>;
  /**
   * `signal` aborts when time is up or the action is stopped: the frame has answered then, and what is left must not be done. Its
   * reason is the {@link HandsFault} that was answered.
   */
  act(request: Act, signal: AbortSignal): Promise<ActedWith>;
  /** Frames per second at most; 0 ends it. */
  watch(place: Place, fps: number): Promise<void>;
  /** Starts a video, or ends it and answers its file; null where none could be made. */
  record(place: Place, file: string, stop: boolean): Promise<string | null>;
  /** Keys and buttons that an action left pressed on purpose, to release when its driver is stopped. */
  letGo?(): Promise<void>;
  /** Leaves nothing behind that runs. */
  close(): Promise<void>;
}

/** False: the listener is behind, and a frame may be left out. */
export type Emit = (event: ProgramEvent, bytes?: Uint8Array) => boolean;
