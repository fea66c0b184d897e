/**
 * How the cloud API reaches a computer: one function that moves bytes and knows no route. Embedded it is a Unix socket,
 * paired a stream inside the connection that the computer dialled. First user: the factory proxy; second: signed calls
 * to a computer; third: peers.
 */
import { Agent, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';
import { drainingEvent, Pipe } from '../../kit/link/pipe.ts';

/** Behind `engine` are the engine's routes, behind `peer` those that need a peer ticket. */
export type LinkDoor = 'engine' | 'peer';

export interface LinkState {
  readonly linked: boolean;
  /** Since when it is so, milliseconds since the epoch; 0: from before this program began. */
  readonly since: number;
}

export interface Link {
  /** A fresh connection to that computer. Rejects with `transport`, with since when, while it is away. */
  open(computerId: string, door: LinkDoor): Promise<Duplex>;
  /** The bearer that this computer takes on its link, new with each connection; null while it is away. At once where it is known. */
  credential(computerId: string): string | null | Promise<string | null>;
  state(computerId: string): LinkState | Promise<LinkState>;
  /** True once it is linked; false after `ms`, or when `signal` is aborted. */
  untilLinked(computerId: string, ms: number, signal: AbortSignal): Promise<boolean>;
  /** Told after each change of a link that this process holds. Returns the way to stop listening. */
  onChange(listener: (computerId: string, linked: boolean) => void): () => void;
}

/** Idle connections are kept: a key stroke must not pay for a connection. Not those of a link that takes nothing new. */
export function createLinkAgent(link: Pick<Link, 'open'>, computerId: string, door: LinkDoor = 'engine'): Agent {
  return new LinkAgent(link, computerId, door);
}

class LinkAgent extends Agent {
  readonly #link: Pick<Link, 'open'>;
  readonly #computerId: string;
  readonly #door: LinkDoor;
  readonly #leaving = new WeakSet<Duplex>();

  constructor(link: Pick<Link, 'open'>, computerId: string, door: LinkDoor) {
    super({ keepAlive: true, maxFreeSockets: 32, scheduling: 'lifo' });
    this.#link = link;
    this.#computerId = computerId;
    this.#door = door;
  }

  override createConnection(
    _options: ClientRequestArgs,
    connected?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    this.#link.open(this.#computerId, this.#door).then(
      (stream) => {
        stream.once(drainingEvent, () => this.#letGo(stream));
        connected?.(null, stream);
      },
      (error: Error) => connected?.(error, undefined as never),
    );
  }

  override keepSocketAlive(stream: Duplex): boolean {
    if (this.#leaving.has(stream)) return false;
    // Nothing to set on a pipe, and how long the engine keeps its end is ours to know: its answer's headers need no reading for it.
    if (stream instanceof Pipe) return true;
    // Declared to answer nothing, and asked all the same.
    return super.keepSocketAlive(stream) as unknown as boolean;
  }

  /** All its connections lead to one door of one computer. */
  override getName(): string {
    return this.#door;
  }

  #letGo(stream: Duplex): void {
    this.#leaving.add(stream);
    const idle = Object.values(this.freeSockets).some((sockets) => sockets?.includes(stream as never));
    if (idle) stream.destroy();
  }
}
