/**
 * The connection to each computer: its calls, its keys, and while somebody looks, its events. The unnamed one is the default computer; it is there
 * from the start. Must not know which computers there are.
 */
import type { QueryClient } from '@tanstack/react-query';
import type { Api } from './api.ts';
import { createEvents, type Events } from './events.ts';
import { type Keys, keysOf } from './keys.ts';
import { type Queries, queriesOf } from './queries.ts';
import type { StreamSlots } from './stream-slots.ts';

export interface Connection {
  /** Id of the computer; null for the one that answers when none is named. */
  readonly computer: string | null;
  readonly api: Api;
  readonly keys: Keys;
  readonly queries: Queries;
  readonly events: Events;
}

export interface Connections {
  on(computer: string | null): Connection;
  /** Keeps its lists true until the returned function is called. */
  watch(computer: string): () => void;
}

export interface ConnectionsDeps {
  readonly api: Api;
  readonly client: QueryClient;
  readonly slots: StreamSlots;
}

export function createConnections({ api, client, slots }: ConnectionsDeps): Connections {
  const known = new Map<string | null, Connection>();
  const watchers = new Map<string, number>();

  function on(computer: string | null): Connection {
    const before = known.get(computer);
    if (before !== undefined) return before;
    const keys = keysOf(computer);
    const own: Api = computer === null ? api : { ...api, factory: api.factoryOf(computer) };
    const events = createEvents({ api: own, client, keys, slots });
    const connection = { computer, api: own, keys, queries: queriesOf(own, keys), events };
    known.set(computer, connection);
    return connection;
  }

  return {
    on,
    watch(computer) {
      const count = watchers.get(computer) ?? 0;
      watchers.set(computer, count + 1);
      if (count === 0) on(computer).events.start();
      return () => {
        const left = (watchers.get(computer) ?? 1) - 1;
        watchers.set(computer, left);
        if (left === 0) on(computer).events.stop();
      };
    },
  };
}
