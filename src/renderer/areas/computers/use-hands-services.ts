/** The services of the page with the calls and reads of this area, which no other page loads. */
import { useMemo } from 'react';
import { useServices } from '../../app/services.tsx';
import { computerUseQueriesOf } from '../../data/computer-use-queries.ts';
import { createHandsApi } from '../../data/hands-api.ts';

export function useHandsServices() {
  const services = useServices();
  return useMemo(() => {
    const hands = createHandsApi(services.api.wireOf(services.computer), services.api.wireOf(null));
    return {
      ...services,
      api: { ...services.api, ...hands },
      queries: { ...services.queries, ...computerUseQueriesOf(hands, services.keys) },
    };
  }, [services]);
}
