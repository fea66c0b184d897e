/** The events that a server offers, cached for 60 s. Must not know subscriptions. */
import type { EventDefinition } from '../../../contracts/connectors/subscription.ts';
import type { Clock } from '../../../kit/clock/clock.ts';
import { type ConnectorServers, EventFault } from '../ports.ts';
import { isLate } from './within.ts';

export interface Definitions {
  /** Null: the server offers no events. Throws `EventFault`; one is cached for 10 s, because viewers ask every few seconds. */
  list(connectorId: string, signal: AbortSignal): Promise<readonly EventDefinition[] | null>;
  /** One of them; requested again if the cache does not name it. Throws `EventFault`, also for an unknown event. */
  find(connectorId: string, name: string, signal: AbortSignal): Promise<EventDefinition>;
  forget(connectorId: string): void;
}

const retentionMs = 60_000;
const faultRetentionMs = 10_000;

interface Kept {
  readonly at: number;
  readonly list: readonly EventDefinition[] | null;
}

export function createDefinitions(servers: Pick<ConnectorServers, 'events'>, clock: Clock): Definitions {
  const kept = new Map<string, Kept>();
  const faults = new Map<string, { readonly at: number; readonly fault: EventFault }>();
  const asking = new Map<string, Promise<Kept>>();

  function ask(id: string, signal: AbortSignal): Promise<Kept> {
    const under = asking.get(id);
    if (under !== undefined) return under;
    const begun = servers
      .events(id, signal)
      .then((list): Kept => {
        const fresh = { at: clock.monotonic(), list };
        // Forgotten in between: the earlier answer may be another account's.
        if (asking.get(id) === begun) {
          kept.set(id, fresh);
          faults.delete(id);
        }
        return fresh;
      })
      .catch((error: unknown) => {
        const fault = isLate(error)
          ? new EventFault('connector_timeout', null, 'The server did not answer in time.', error)
          : error;
        if (fault instanceof EventFault && asking.get(id) === begun) faults.set(id, { at: clock.monotonic(), fault });
        throw fault;
      })
      .finally(() => {
        if (asking.get(id) === begun) asking.delete(id);
      });
    asking.set(id, begun);
    return begun;
  }

  const known = (id: string) => {
    const one = kept.get(id);
    return one !== undefined && clock.monotonic() - one.at < retentionMs ? one : null;
  };

  return {
    async list(id, signal) {
      const one = known(id);
      const failed = faults.get(id);
      if (one === null && failed !== undefined && clock.monotonic() - failed.at < faultRetentionMs) throw failed.fault;
      return (one ?? (await ask(id, signal))).list;
    },
    async find(id, name, signal) {
      const named = (one: Kept | null) => one?.list?.find((event) => event.name === name);
      const first = named(known(id));
      if (first !== undefined) return first;
      const fresh = await ask(id, signal);
      if (fresh.list === null) throw new EventFault('unsupported', null, 'This server offers no events.');
      const found = named(fresh);
      if (found !== undefined) return found;
      throw new EventFault('event_not_found', null, `The server does not offer "${name}".`);
    },
    forget(id) {
      kept.delete(id);
      faults.delete(id);
      asking.delete(id);
    },
  };
}
