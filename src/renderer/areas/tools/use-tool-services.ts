/** The services of the page with the calls and reads of this area, which no other page loads; and the calls that a person makes. */
import { useMemo } from 'react';
import { useServices } from '../../base/services.tsx';
import { createToolApi } from './api.ts';
import { toolKeysOf, toolQueriesOf } from './queries.ts';
import { createToolCalls } from './tool-calls.ts';

const makeToolCalls = () => createToolCalls();

export function useToolServices() {
  const services = useServices();
  return useMemo(() => {
    const tools = createToolApi(services.api.wireOf(services.computer));
    return {
      ...services,
      api: { ...services.api, tools },
      keys: { ...services.keys, ...toolKeysOf(services.keys) },
      queries: { ...services.queries, ...toolQueriesOf(tools, services.keys) },
      toolCalls: services.once(makeToolCalls),
    };
  }, [services]);
}
