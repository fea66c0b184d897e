/**
 * The cloud's half of connector events: it listens for each subscription of its computers, also while they are off, and delivers the events to them.
 * Owns the registrations and the receipts; the connectors themselves are on the computer.
 */
import { eventCallback, registerSubscription, unregisterSubscription } from '../../contracts/connectors/relay.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import { type ConnectorProxyDeps, createConnectorProxy } from './connector-proxy.ts';
import { createReceiver } from './receiver.ts';
import { createRegistrations } from './registrations.ts';
import { createRelay, type RelayDeps } from './relay.ts';

export { connectorEventMigrations } from './migrations.ts';

interface ConnectorEvents {
  readonly routes: readonly BoundRoute[];
  /** The computer answers again: sends its waiting events at once. */
  wake(computerId: string): void;
  /** Stops listening for the computer, unless the same person paired it again. */
  pairingEnded(computerId: string): Promise<void>;
  /** Removes receipts of events unseen for seven days, and finishes endings of pairings that a restart interrupted. */
  forgetOld(now: number): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createConnectorEvents(
  deps: ConnectorProxyDeps &
    Omit<RelayDeps, 'registrations'> & {
      /** Seals callbacks' keys and their secrets. */
      readonly sealer: Sealer;
      /** The person who has a computer now; null: nobody. */
      readonly ownerOf: (computerId: string) => Promise<string | null>;
      /** This cloud's address, without a slash at the end. */
      readonly origin: string;
    },
): ConnectorEvents {
  const { store, origin } = deps;
  const registrations = createRegistrations(deps);
  const relay = createRelay({ ...deps, registrations });
  const receive = createReceiver({ ...deps, registrations, relay });

  function* remove(tx: Parameters<typeof relay.drop>[0], name: Parameters<typeof relay.drop>[1]) {
    yield* registrations.remove(tx, name);
    yield* relay.drop(tx, name);
  }

  async function pairingEnded(computerId: string): Promise<void> {
    const owner = await deps.ownerOf(computerId);
    await store.write(function* (tx) {
      for (const name of yield* registrations.ofOthers(tx, computerId, owner)) yield* remove(tx, name);
    });
  }

  return {
    routes: [
      bind(registerSubscription, async ({ principal, params, body }) => {
        // The authenticator of devices always names the computer that signed.
        const name = { computerId: principal.computerId ?? '', subscriptionId: params.sub };
        const key = await registrations.put(name, { ...body, userId: principal.userId });
        return { body: { callbackUrl: `${origin}${eventCallback.path.replace(':key', key)}` } };
      }),
      bind(unregisterSubscription, async ({ principal, params }) => {
        const name = { computerId: principal.computerId ?? '', subscriptionId: params.sub };
        await store.write((tx) => remove(tx, name));
        return { status: 204 as const, body: undefined };
      }),
      bind(eventCallback, async ({ params, request, response }) => {
        const { status, body } = await receive(params.key, request);
        const text = JSON.stringify(body);
        response.writeHead(status, {
          'content-type': 'application/json; charset=utf-8',
          'content-length': Buffer.byteLength(text),
        });
        response.end(text);
      }),
      ...createConnectorProxy(deps),
    ],
    wake: (computerId) => relay.wake(computerId),
    pairingEnded,
    async forgetOld(now) {
      await relay.forgetOld(now);
      for (const computerId of await registrations.computers()) await pairingEnded(computerId);
    },
    start: () => relay.start(),
    close: () => relay.close(),
  };
}
