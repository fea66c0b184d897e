/** The services of the page with the calls and reads of this area, which no other page loads. */
import { useMemo } from 'react';
import { useServices } from '../../base/services.tsx';
import { createHandsApi } from './api.ts';
import { computerUseKeysOf, computerUseQueriesOf } from './queries.ts';

export function useHandsServices() {
  const services = useServices();
  return useMemo(() => {
    const hands = createHandsApi(services.api.wireOf(services.computer), services.api.home);
    return {
      ...services,
      api: { ...services.api, ...hands },
      keys: { ...services.keys, ...computerUseKeysOf(services.keys) },
      queries: { ...services.queries, ...computerUseQueriesOf(hands, services.keys) },
    };
  }, [services]);
}
