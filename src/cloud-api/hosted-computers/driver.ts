/**
 * The port that makes hosted computers; each kind of machine implements it. A driver isolates computers from each other, from its host and from
 * private networks. One that cannot says so in `refused`, and makes nothing. Must not know projects.
 */

interface DriverCapabilities {
  /** Null: computers can be made here. Otherwise the reason, in a sentence. */
  readonly refused: string | null;
  /** How outgoing traffic of a computer is restricted. */
  readonly egress: 'enforced' | 'none';
}

/** The way to a computer's engine: HTTP on a Unix socket. */
interface Channel {
  readonly socket: string;
  readonly token: string;
}

export interface DriverState {
  readonly computer: string;
  readonly state: 'stopped' | 'starting' | 'running' | 'frozen';
  /** Why it stopped, unless that was requested. */
  readonly why: string | null;
  readonly channel: Channel | null;
  /** Since when, by the driver's clock. Milliseconds since the epoch. */
  readonly since: number;
}

/** An error of one computer; any other error of a driver means that the driver cannot be reached. */
export class DriverFault extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = 'DriverFault';
    this.code = code;
  }
}

/**
 * Makes and keeps the computers of one host.
 *
 * @example
 * ```ts
 * import { DriverFault, type HostedDriver } from './driver.ts';
 *
 * // For a host that can isolate nothing: it says so, and makes nothing.
 * export function createNoDriver(why: string): HostedDriver {
 *   const refuse = () => Promise.reject(new DriverFault('unsupported', why));
 *   return {
 *     name: 'none',
 *     away: async () => null,
 *     capabilities: async () => ({ refused: why, egress: 'none' }),
 *     create: refuse,
 *     start: refuse,
 *     freeze: refuse,
 *     thaw: refuse,
 *     stop: async () => {},
 *     delete: async () => {},
 *     inspect: async () => null,
 *     list: async () => [],
 *     onEnded: () => () => {},
 *     close() {},
 *   };
 * }
 * ```
 */
export interface HostedDriver {
  /** `local`. */
  readonly name: string;
  /** Null: this process can reach it. Otherwise the reason, in a sentence. Never rejects. */
  away(): Promise<string | null>;
  /** Never rejects: a driver that cannot be reached reports that in `refused`. */
  capabilities(): Promise<DriverCapabilities>;
  /** Creates its files; it is stopped afterwards. */
  create(computer: string): Promise<void>;
  /** Resolves once its engine can be called; also for a running one. */
  start(computer: string): Promise<DriverState>;
  freeze(computer: string): Promise<void>;
  thaw(computer: string): Promise<DriverState>;
  /** Keeps its files. Also for a stopped one. */
  stop(computer: string): Promise<void>;
  /** Removes it with all its files. Also for one that does not exist. */
  delete(computer: string): Promise<void>;
  /** Null: no computer has that name. */
  inspect(computer: string): Promise<DriverState | null>;
  list(): Promise<readonly DriverState[]>;
  /** Called when one ended on its own. Returns a function that unsubscribes. */
  onEnded(listener: (computer: string, why: string) => void): () => void;
  close(): void;
}
