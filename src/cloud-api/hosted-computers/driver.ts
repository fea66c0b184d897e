/**
 * The port that makes hosted computers; each kind of machine implements it. A driver isolates computers from each
 * other, from its host and from private networks. One that cannot says so in `refused`, and nothing is made. Must not
 * know projects.
 */

export interface DriverCapabilities {
  /** Null: computers can be made here. Else why not, in a sentence. */
  readonly refused: string | null;
  /** How what leaves a computer is held. */
  readonly egress: 'enforced' | 'none';
}

/** The way to a computer's engine: HTTP on a Unix socket. */
export interface Channel {
  readonly socket: string;
  readonly token: string;
}

export interface DriverState {
  readonly computer: string;
  readonly state: 'stopped' | 'starting' | 'running' | 'frozen';
  /** Why it is stopped, where nobody asked for that. */
  readonly why: string | null;
  readonly channel: Channel | null;
  /** Since when, by the driver's clock. Milliseconds since the epoch. */
  readonly since: number;
}

/** What went wrong with one computer; anything else that a driver throws means that it cannot be reached. */
export class DriverFault extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'DriverFault';
    this.code = code;
  }
}

export interface HostedDriver {
  /** `local`. */
  readonly name: string;
  /** Null: it can be asked from this process. Else why not, in a sentence. Never rejects. */
  away(): Promise<string | null>;
  /** Never rejects: a driver that cannot be reached refuses, and says so. */
  capabilities(): Promise<DriverCapabilities>;
  /** Makes what is kept of it; it is stopped then. */
  create(computer: string): Promise<void>;
  /** Resolves once its engine can be called; also for one that runs. */
  start(computer: string): Promise<DriverState>;
  freeze(computer: string): Promise<void>;
  thaw(computer: string): Promise<DriverState>;
  /** Its files stay. Also for one that is stopped. */
  stop(computer: string): Promise<void>;
  /** With everything on it. Also for one that is not there. */
  delete(computer: string): Promise<void>;
  /** Null: there is none of that name. */
  inspect(computer: string): Promise<DriverState | null>;
  list(): Promise<readonly DriverState[]>;
  /** Told when one ended by itself. Returns the way to stop listening. */
  onEnded(listener: (computer: string, why: string) => void): () => void;
  close(): void;
}
