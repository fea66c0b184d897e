/** A headless cloud for many people: two replicas on a PostgreSQL of their own, behind one address whose wire can be cut, held and slowed down. */

import { CallError, type Caller } from '../../support/bench/http.ts';
import { pair } from '../../support/bench/paired.ts';
import type { Product } from '../../support/bench/product.ts';
import { type CutProxy, startCutProxy } from '../../support/cut-proxy.ts';
import { startReplicas } from '../../support/replicas.ts';
import type { Restarts } from '../../support/restarts.ts';
import { personAt } from '../../support/signed-in.ts';

export interface Cloud {
  readonly origin: string;
  /** Its person's browser. */
  readonly browser: Pick<Caller, 'call'>;
  readonly wire: CutProxy;
  readonly database: { crash(): Promise<void>; restart(): Promise<void> };
  readonly first: Restarts;
  readonly second: Restarts;
  /** Pairs a computer with it, and waits for the link. */
  pair(product: Product): Promise<void>;
  close(): Promise<void>;
}

export async function openCloud(): Promise<Cloud> {
  let wire: CutProxy | null = null;
  const replicas = await startReplicas(2, async (port) => {
    wire = await startCutProxy({ target: { host: '127.0.0.1', port }, cutAfter: () => null });
    return wire.port;
  });
  const close = async () => {
    await replicas.close();
    await wire?.close();
  };
  try {
    const { origin, postgres } = replicas;
    const [first, second] = replicas.replicas;
    const person = await personAt(origin);
    return {
      origin,
      wire: wire!,
      database: postgres,
      first: first!,
      second: second!,
      browser: {
        call: (method, path, body) => person(method, path, body).catch(asCallError) as Promise<never>,
      },
      pair: (product) => pair(product, person, origin),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** `POST /path: 409 …` */
function asCallError(error: unknown): never {
  const status = /^\S+ \S+: (\d{3}) /.exec((error as Error).message)?.[1];
  throw status === undefined ? error : new CallError(Number(status), (error as Error).message);
}
