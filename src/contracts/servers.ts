/** The tables that each server serves: the one list behind OpenAPI and the walk over every route. */
import { approvalRoutes, heldApprovalRoutes } from './approvals/routes.ts';
import type { Route } from './common/route.ts';
import { deviceRoutes } from './computer-use/device-routes.ts';
import { approveRun, runRoutes } from './computer-use/run-routes.ts';
import { connectorAreaRoutes, connectorCloudRoutes, connectorEngineRoutes } from './connectors/routes.ts';
import { edgeRoutes } from './edge/routes.ts';
import { eventRoutes } from './events/routes.ts';
import { factoryPeerRoutes, peerRoutes } from './factory/peer-routes.ts';
import { factoryRoutes } from './factory/routes.ts';
import { deliverTrigger, postTrigger } from './factory/work-engine/trigger-events.ts';
import { poolRoutes } from './hosted-computers/admin.ts';
import { hostRoutes } from './hosted-computers/hosts.ts';
import { hostedComputerRoutes } from './hosted-computers/routes.ts';
import { identityRoutes } from './identity/routes.ts';
import { linkRoutes, localPairingRoutes } from './link/routes.ts';
import { externalMetricRoutes } from './metrics/external.ts';
import { metricsRoutes } from './metrics/routes.ts';
import { notificationRoutes } from './notifications/routes.ts';
import { phoneEngineRoutes, phoneRoutes } from './phone/routes.ts';
import { toolServerCloudRoutes, toolServerRoutes } from './tool-server/routes.ts';
import { usageRoutes } from './usage/routes.ts';
import { workQueueRoutes } from './work-queue/routes.ts';

export interface ServerTable {
  readonly name: 'cloud' | 'engine' | 'peer' | 'cluster';
  readonly url: string;
  readonly description: string;
  readonly routes: readonly Route[];
}

export const serverTables: readonly ServerTable[] = [
  {
    name: 'cloud',
    url: 'http://127.0.0.1:3010',
    description: 'Cloud API and web interface. Factory routes are forwarded to the runtime.',
    routes: [
      ...identityRoutes,
      ...linkRoutes,
      ...localPairingRoutes,
      ...approvalRoutes,
      ...eventRoutes,
      ...notificationRoutes,
      ...usageRoutes,
      ...workQueueRoutes,
      ...factoryRoutes,
      ...factoryPeerRoutes,
      ...toolServerRoutes,
      ...toolServerCloudRoutes,
      ...runRoutes,
      approveRun,
      ...deviceRoutes,
      ...hostedComputerRoutes,
      ...poolRoutes,
      ...hostRoutes,
      postTrigger,
      ...connectorAreaRoutes,
      ...connectorCloudRoutes,
      ...edgeRoutes,
      ...phoneRoutes,
      ...metricsRoutes,
    ],
  },
  {
    name: 'engine',
    url: 'http://127.0.0.1:3011',
    description: 'The runtime, also on the Unix socket run/engine.sock in the data folder.',
    routes: [
      ...factoryRoutes,
      ...heldApprovalRoutes,
      ...localPairingRoutes,
      ...toolServerRoutes,
      ...deviceRoutes,
      ...runRoutes,
      deliverTrigger,
      ...connectorAreaRoutes,
      ...connectorEngineRoutes,
      ...phoneEngineRoutes,
      ...metricsRoutes,
    ],
  },
  {
    name: 'peer',
    url: 'http://127.0.0.1:3019',
    description:
      'Other computers of the same person, through the link or a forwarded port; only while this one is paired.',
    routes: peerRoutes,
  },
  {
    name: 'cluster',
    url: 'https://127.0.0.1:3443',
    description:
      'The API server of a Kubernetes cluster, which passes the questions of its autoscaler on; only where GANTRY_CLUSTER_LISTEN is set.',
    routes: externalMetricRoutes,
  },
];
