/** The calls of the work queue, loaded with its first page. Must not know React. */
import { type ClientOptions, createClient } from '../../../client/client.ts';
import { workRoutes } from '../../../contracts/work-queue/routes.ts';

/** `home` reaches the cloud, which has the queue. */
export const createQueueApi = (home: ClientOptions) => createClient(workRoutes, home);

export type QueueApi = ReturnType<typeof createQueueApi>;
