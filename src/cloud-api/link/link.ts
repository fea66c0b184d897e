/**
 * How the cloud API reaches a computer (architecture.md 11): one function that moves bytes and knows no route. Embedded it is a
 * Unix socket, paired a stream inside the connection that the computer dialled. First user: the factory proxy; second: signed
 * calls to a computer; third: peers.
 */
import { Agent, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';

/** Behind `engine` are the engine's routes, behind `peer` those that need a peer ticket. */
export type LinkDoor = 'engine' | 'peer';

export interface LinkState {
  readonly linked: boolean;
  /** Since when it is so, milliseconds since the epoch; 0: it was never linked as far as this program knows. */
  readonly since: number;
}

export interface Link {
  /** A fresh connection to that computer. Rejects with `transport`, with since when, while it is away. */
  open(computerId: string, door: LinkDoor): Promise<Duplex>;
  /** The bearer that this computer takes on its link, new with each connection; null while it is away. */
  credential(computerId: string): string | null;
  state(computerId: string): LinkState;
  /** Told after each change. Returns the way to stop listening. */
  onChange(listener: (computerId: string, linked: boolean) => void): () => void;
}

/** Idle connections are kept: a key stroke must not pay for a connection. */
export function createLinkAgent(link: Pick<Link, 'open'>, computerId: string, door: LinkDoor = 'engine'): Agent {
  return new LinkAgent(link, computerId, door);
}

class LinkAgent extends Agent {
  readonly #link: Pick<Link, 'open'>;
  readonly #computerId: string;
  readonly #door: LinkDoor;

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
      (stream) => connected?.(null, stream),
      (error: Error) => connected?.(error, undefined as never),
    );
  }
}
