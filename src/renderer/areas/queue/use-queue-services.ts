/** The services of the page with the calls and reads of this area, which no other page loads; and what keeps its lists true. */
import { useMemo } from 'react';
import { useServices } from '../../app/services.tsx';
import type { ConnectionsDeps } from '../../data/connections.ts';
import { createQueueEvents } from '../../data/queue-events.ts';
import { queueQueriesOf } from '../../data/queue-queries.ts';
import { createQueueApi } from './api.ts';

function createQueue({ api, client, slots }: ConnectionsDeps) {
  const queue = createQueueApi(api.wireOf(null));
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
