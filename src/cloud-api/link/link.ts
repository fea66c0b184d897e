/**
 * How the cloud API reaches a computer (architecture.md 11): one function that moves bytes and knows no route. Here a Unix
 * socket; paired computers dial in later. First user: the factory proxy.
 */
import { Agent, type ClientRequestArgs } from 'node:http';
import type { Duplex } from 'node:stream';

export interface Link {
  /** A fresh connection to that computer's engine. Rejects when it is not there. */
  open(computerId: string, door: 'engine'): Promise<Duplex>;
}

/** Idle connections are kept: a key stroke must not pay for a connection. */
export function createLinkAgent(link: Link, computerId: string): Agent {
  return new LinkAgent(link, computerId);
}

class LinkAgent extends Agent {
  readonly #link: Link;
  readonly #computerId: string;

  constructor(link: Link, computerId: string) {
    super({ keepAlive: true, maxFreeSockets: 32, scheduling: 'lifo' });
    this.#link = link;
    this.#computerId = computerId;
  }

  override createConnection(
    _options: ClientRequestArgs,
    connected?: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    this.#link.open(this.#computerId, 'engine').then(
      (stream) => connected?.(null, stream),
      (error: Error) => connected?.(error, undefined as never),
    );
  }
}
