/**
 * The port that makes hosted computers; each kind of engine implements it. A driver isolates computers from each other, from its host and from
 * private networks, and decides where each one runs. A driver that cannot says so in `refused`, and makes nothing. Must not know projects.
 */
import type { Duplex } from 'node:stream';
import type { Dial } from '../../kit/link/offer.ts';

/** What a driver really does here, not what its engine could do elsewhere. */
export interface DriverCapabilities {
  /** Null: computers can be made here. Otherwise the reason, in a sentence. */
  readonly refused: string | null;
  /** How outgoing traffic is restricted: held and checked, only ordered from an engine that may ignore it, or not at all. */
  readonly egress: 'enforced' | 'declared' | 'none';
  /** What separates a computer from its host: its own namespaces on the host's kernel, gVisor's kernel, or a virtual machine. */
  readonly wall: 'namespace' | 'gvisor' | 'vm';
  /** What a sleeping computer keeps: everything that is open, or only its files, and it is started again to wake. */
  readonly sleep: 'memory' | 'files';
  /** Which limits of a {@link ComputerSpec} hold. */
  readonly limits: { readonly memory: boolean; readonly processes: boolean };
  /** Whether a computer can be made from an image. */
  readonly images: boolean;
  /** How many run already for the next creates of that toolset; null: the driver keeps none so. */
  readonly warm: Readonly<Record<ComputerSpec['toolset'], number>> | null;
}

/** One machine on which a driver makes computers. What is not known of it is null. */
interface DriverHost {
  /** Of a computer host that joined; null: the machine of the cloud or of its engine. */
  readonly name: string | null;
  /** As in {@link DriverCapabilities}. */
  readonly refused: string | null;
  /** What a computer has at most, which is also what it has unless it asks for less. Mebibytes; processes and threads. Null also: it does not hold. */
  readonly limits: Readonly<ComputerSpec['limits']>;
  /** When it was last proven from inside of a computer that outgoing traffic is restricted. Milliseconds since the epoch. */
  readonly provenAt: number | null;
  /** How many computers it has, also those that are stopped. */
  readonly computers: number | null;
  /** How many it can have; null also: as many as fit. */
  readonly most: number | null;
}

/** A computer to be made. A driver that cannot make exactly this refuses with `unsupported`; it never makes something else. */
export interface ComputerSpec {
  readonly computer: string;
  /** A repeated create with the same key answers what the first one made. With another key, a name that exists is `exists`. */
  readonly key: string;
  /** Null: the programs of the driver's host. */
  readonly image: string | null;
  /** Null: the driver's own limit, which is also the highest. Mebibytes; processes and threads. */
  readonly limits: { readonly memory: number | null; readonly processes: number | null };
  /** `shell`: no screen and no browser; it runs commands. */
  readonly toolset: 'desktop' | 'shell';
  /** `public`: public addresses only. `none`: no network. */
  readonly egress: 'public' | 'none';
  /** The driver stops it this long after each start, also if its cloud is gone. Milliseconds; null: it does not. */
  readonly lifetime: number | null;
}

export interface DriverState {
  readonly computer: string;
  /** `sleeping` whatever {@link DriverCapabilities.sleep} keeps. */
  readonly state: 'stopped' | 'starting' | 'running' | 'sleeping';
  /** Why it stopped, unless that was requested. */
  readonly why: string | null;
  /** Since when, by the driver's clock. Milliseconds since the epoch. */
  readonly since: number;
}

/** One computer reached a state; `gone`: it was deleted, by anybody. */
export interface DriverChange {
  readonly computer: string;
  readonly state: DriverState['state'] | 'gone';
  readonly why: string | null;
  /** By the driver's clock. Milliseconds since the epoch. */
  readonly at: number;
  /** Names this change; a watch from here continues after it. */
  readonly cursor: string;
}

export interface DriverWatcher {
  /** In order, each once. An old one may be told late: ask how the computer is before acting on it. */
  changed(change: DriverChange): void;
  /** Changes were lost, because the driver no longer has those after the cursor: compare with its list. */
  missed(): void;
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
 * Makes and keeps the computers of one engine.
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
 *     capabilities: async () => ({
 *       refused: why,
 *       egress: 'none',
 *       wall: 'namespace',
 *       sleep: 'files',
 *       limits: { memory: false, processes: false },
 *       images: false,
 *       warm: null,
 *     }),
 *     hosts: async () => [],
 *     create: refuse,
 *     start: refuse,
 *     sleep: refuse,
 *     wake: refuse,
 *     offer: refuse,
 *     stop: async () => {},
 *     delete: async () => {},
 *     inspect: async () => null,
 *     list: async () => [],
 *     watch: () => () => {},
 *     close() {},
 *   };
 * }
 * ```
 */
export interface HostedDriver {
  /** `namespace`. */
  readonly name: string;
  /** Null: this process can reach it, or what has that computer. Otherwise the reason, in a sentence. Never rejects. */
  away(computer?: string): Promise<string | null>;
  /** Never rejects: a driver that cannot be reached reports that in `refused`. */
  capabilities(): Promise<DriverCapabilities>;
  /** In the order in which they get computers. Never rejects. */
  hosts(): Promise<readonly DriverHost[]>;
  /** Creates its files; a new one is stopped afterwards, or runs already: see {@link DriverCapabilities.warm}. */
  create(spec: ComputerSpec): Promise<DriverState>;
  /**
   * Resolves once its program listens; also for a running one. Wakes a sleeping one. `dial` is with what a computer dials that is offered no connection;
   * other drivers do without it.
   */
  start(computer: string, dial?: Dial): Promise<DriverState>;
  /** As {@link DriverCapabilities.sleep} says. Also for a sleeping one. */
  sleep(computer: string): Promise<void>;
  /** As `start`; `not_running` for a stopped one. */
  wake(computer: string, dial?: Dial): Promise<DriverState>;
  /**
   * Hands a computer's program a connection, on which it dials its cloud: it has no other way to it, and no address. Only the program can use it, and
   * nothing else in the computer. `not_running` or `sleeping` if the program does not run. Null: something of its engine beside the computer dials for
   * it, as long as it runs, with what its start was given.
   */
  readonly offer: ((computer: string, dial: Dial) => Promise<Duplex>) | null;
  /** Keeps its files. Also for a stopped one. */
  stop(computer: string): Promise<void>;
  /** Removes it with all its files. Also for one that does not exist. */
  delete(computer: string): Promise<void>;
  /** Null: no computer has that name. */
  inspect(computer: string): Promise<DriverState | null>;
  list(): Promise<readonly DriverState[]>;
  /**
   * Every change after the cursor; null: from now on. After a cut it continues where it was, once the driver can be reached again. Returns a function
   * that ends it.
   */
  watch(since: string | null, watcher: DriverWatcher): () => void;
  close(): void;
}

/** A driver whose computers dial only on what they are offered. */
export interface OfferingDriver extends HostedDriver {
  readonly offer: NonNullable<HostedDriver['offer']>;
}
