/**
 * What the API server of a Kubernetes cluster may ask: figures for its autoscaler, on a port of their own. Must not know how they are counted.
 */
import { createExternalMetrics, createFrontProxyAuthenticator } from '../cloud-api/external-metrics/index.ts';
import { byLabelMetrics } from '../cloud-api/work-queue/figures.ts';
import { createDispatcher } from '../kit/http/dispatcher.ts';
import type { Closing } from './closing.ts';
import type { CloudAreas, CloudParts } from './cloud-areas.ts';
import { stopReason } from './engine-server.ts';

/** Figures of `GET /metrics` that are those of the whole cloud, whichever replica answers, with what an autoscaler makes of their parts. */
const ofEverybody = {
  gantry_work_tasks: 'sum',
  gantry_work_oldest_seconds: 'largest',
  gantry_hosted_computers: 'sum',
} as const;

export function serveCluster(parts: CloudParts, { hosted }: Pick<CloudAreas, 'hosted'>, closing: Closing): void {
  const { cluster, base, ids, log, meter, telemetry, answers } = parts;
  if (cluster == null) return;
  const known = [...parts.metrics, ...hosted.metrics];
  const told = Object.entries(ofEverybody).map(([name, of]) => ({ ...known.find((one) => one.name === name)!, of }));
  const dispatcher = createDispatcher({
    // A client certificate stands in front of every route, so no web page is behind a request; the API server names a Pod's address as Host.
    listener: { kind: 'socket' },
    authenticators: [createFrontProxyAuthenticator(cluster)],
    routes: createExternalMetrics([...told, ...byLabelMetrics(base.store, base.clock)], base.clock),
    owners: {},
    ids,
    log,
    meter,
    telemetry,
    answers,
  });
  cluster.listener.serve((request, response) => void dispatcher.handle(request, response));
  closing.add('questions of the cluster', () => dispatcher.close(stopReason));
}
