/**
 * How the cloud API reaches a computer: one function that moves bytes and knows no route. Embedded it is a Unix socket,
 * paired a stream inside the connection that the computer dialled. First user: the factory proxy; second: signed calls
 * to a computer; third: peers.
 */
import { Agent, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';
import { drainingEvent, Pipe } from '../../kit/link/pipe.ts';

/** `engine`: the runtime's routes. `peer`: the routes that need a peer ticket. */
export type LinkSide = 'engine' | 'peer';

export interface LinkState {
  readonly linked: boolean;
  /** Since when, in milliseconds since the epoch; 0: since before this program began. */
  readonly since: number;
}

export interface Link {
  /** A fresh connection to that computer. Rejects with `transport`, with the time since when, while it is away. */
  open(computerId: string, side: LinkSide): Promise<Duplex>;
  /** The bearer that this computer accepts on its link, new with each connection; null while it is away. Synchronous if it is known. */
  credential(computerId: string): string | null | Promise<string | null>;
  state(computerId: string): LinkState | Promise<LinkState>;
  /** True once it is linked; false after `ms`, or when `signal` is aborted. */
  untilLinked(computerId: string, ms: number, signal: AbortSignal): Promise<boolean>;
  /** Called after each change of a link that this process holds. Returns a function that unsubscribes. */
  onChange(listener: (computerId: string, linked: boolean) => void): () => void;
}

/** Idle connections are kept: a keystroke must not wait for a new connection. Those of a link that takes nothing new are closed. */
export function createLinkAgent(link: Pick<Link, 'open'>, computerId: string, side: LinkSide = 'engine'): Agent {
  return new LinkAgent(link, computerId, side);
}

class LinkAgent extends Agent {
  readonly #link: Pick<Link, 'open'>;
  readonly #computerId: string;
  readonly #side: LinkSide;
  readonly #leaving = new WeakSet<Duplex>();

  constructor(link: Pick<Link, 'open'>, computerId: string, side: LinkSide) {
    super({ keepAlive: true, maxFreeSockets: 32, scheduling: 'lifo' });
    this.#link = link;
    this.#computerId = computerId;
    this.#side = side;
  }

  override createConnection(
    _options: ClientRequestArgs,
    connected?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    this.#link.open(this.#computerId, this.#side).then(
      (stream) => {
        stream.once(drainingEvent, () => this.#letGo(stream));
        connected?.(null, stream);
      },
      (error: Error) => connected?.(error, undefined as never),
    );
  }

  override keepSocketAlive(stream: Duplex): boolean {
    if (this.#leaving.has(stream)) return false;
    // A pipe has no options to set, and we know how long the runtime keeps its end without reading its headers.
    if (stream instanceof Pipe) return true;
    // Implements an interface that never calls this, though Node does.
    return super.keepSocketAlive(stream) as unknown as boolean;
  }

  /** All its connections lead to one endpoint of one computer. */
  override getName(): string {
    return this.#side;
  }

  #letGo(stream: Duplex): void {
    this.#leaving.add(stream);
    const idle = Object.values(this.freeSockets).some((sockets) => sockets?.includes(stream as never));
    if (idle) stream.destroy();
  }
}
