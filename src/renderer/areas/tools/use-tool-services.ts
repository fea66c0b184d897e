/** The services of the page with the calls and reads of this area, which no other page loads; and the calls that a person makes. */
import { useMemo } from 'react';
import { useServices } from '../../app/services.tsx';
import { createToolCalls } from '../../data/tool-calls.ts';
import { toolQueriesOf } from '../../data/tool-queries.ts';
import { createToolApi } from './api.ts';

const makeToolCalls = () => createToolCalls();

export function useToolServices() {
  const services = useServices();
  return useMemo(() => {
    const tools = createToolApi(services.api.wireOf(services.computer));
    return {
      ...services,
      api: { ...services.api, tools },
      queries: { ...services.queries, ...toolQueriesOf(tools, services.keys) },
      toolCalls: services.once(makeToolCalls),
    };
  }, [services]);
}
