/** The services of the page with the calls and reads of this area, which no other page loads; and what keeps its lists true. */
import { useMemo } from 'react';
import type { ConnectionsDeps } from '../../base/data/connections.ts';
import { useServices } from '../../base/services.tsx';
import { createQueueApi } from './api.ts';
import { queueQueriesOf } from './queries.ts';
import { createQueueEvents } from './queue-events.ts';

function createQueue({ api, client, slots }: ConnectionsDeps) {
  const queue = createQueueApi(api.home);
  return { queue, queries: queueQueriesOf(queue), queueEvents: createQueueEvents({ queue, client, slots }) };
}

export function useQueueServices() {
  const services = useServices();
  return useMemo(() => {
    const { queue, queries, queueEvents } = services.once(createQueue);
    return {
      ...services,
      api: { ...services.api, queue },
      queries: { ...services.queries, ...queries },
      queueEvents,
    };
  }, [services]);
}
