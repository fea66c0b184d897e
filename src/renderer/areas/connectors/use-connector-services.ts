/** The services of the page with the calls and reads of this area, which no other page loads; and what an answer changes of what is known. */
import { useQueryClient } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { Connector } from '../../../contracts/connectors/connector.ts';
import { useServices } from '../../base/services.tsx';
import { createToolApi } from '../tools/api.ts';
import { createConnectorApi } from './api.ts';
import { connectorKeysOf, connectorQueriesOf } from './queries.ts';

export function useConnectorServices() {
  const services = useServices();
  return useMemo(() => {
    const wire = services.api.wireOf(services.computer);
    const mine = createConnectorApi(wire, services.api.home);
    return {
      ...services,
      // A connector is an attached tool server: one row, one connection.
      api: { ...services.api, ...mine, tools: createToolApi(wire) },
      keys: { ...services.keys, ...connectorKeysOf(services.keys) },
      queries: {
        ...services.queries,
        ...connectorQueriesOf({ ...mine, factory: services.api.factory }, services.keys),
      },
    };
  }, [services]);
}

/** What is known of a connector from its own answer, before the list is read again; `null`: it is gone. */
export function usePutConnector(): (connector: Connector, gone?: boolean) => void {
  const { keys } = useConnectorServices();
  const client = useQueryClient();
  return (connector, gone = false) => {
    // An answer that is under way is older than this.
    void client.cancelQueries({ queryKey: keys.connectors });
    client.setQueryData<readonly Connector[]>(keys.connectors, (old) => {
      if (old === undefined) return old;
      if (gone) return old.filter((one) => one.id !== connector.id);
      return old.some((one) => one.id === connector.id)
        ? old.map((one) => (one.id === connector.id ? connector : one))
        : [...old, connector];
    });
    void client.invalidateQueries({ queryKey: keys.connectors });
    if (!gone) void client.invalidateQueries({ queryKey: keys.connector(connector.id) });
  };
}

/** Reads all of a connector again after something was done to a part of it. */
export function useTouchConnector(): (id: string) => void {
  const { keys } = useConnectorServices();
  const client = useQueryClient();
  return (id) => {
    void client.invalidateQueries({ queryKey: keys.connector(id) });
    void client.invalidateQueries({ queryKey: keys.connectors });
  };
}
