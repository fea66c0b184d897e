/**
 * Figures for the autoscaler of a Kubernetes cluster: the part of `external.metrics.k8s.io/v1beta1` that it asks for. Served only to the cluster's API
 * server, on a port of its own. The names and forms are those of that API.
 */
import { z } from 'zod';
import { defineRoute, type Route } from '../common/route.ts';

const groupVersion = 'external.metrics.k8s.io/v1beta1';

const common = {
  area: 'metrics',
  method: 'GET',
  auth: ['cluster'],
  scope: null,
  owner: { none: 'figures of the whole cloud, without the id of anything' },
  errors: 'plain',
} as const;

/**
 * The API server passes on what its clients ask with, such as `timeout=32s`. A list that is refused for that keeps every namespace of the cluster from
 * being deleted: the cluster asks each API first what it may have there.
 */
const ofOthers = z.object({});

/** What is not said here is not sent. */
const ExternalMetricValue = z.strictObject({
  metricName: z.string(),
  metricLabels: z.record(z.string(), z.string()),
  timestamp: z.iso.datetime(),
  /** A quantity of Kubernetes: whole, or in thousandths (`1500m`). */
  value: z.string().regex(/^\d+m?$/, 'a whole number, or one of thousandths with m at its end'),
});
export type ExternalMetricValue = z.infer<typeof ExternalMetricValue>;

export const listExternalMetrics = defineRoute({
  ...common,
  op: 'listExternalMetrics',
  summary: 'Names of the figures that a Kubernetes autoscaler may ask for',
  path: `/apis/${groupVersion}`,
  query: ofOthers,
  answers: {
    200: z.strictObject({
      kind: z.literal('APIResourceList'),
      apiVersion: z.literal('v1'),
      groupVersion: z.literal(groupVersion),
      resources: z.array(
        z.strictObject({
          name: z.string(),
          singularName: z.literal(''),
          namespaced: z.literal(true),
          kind: z.literal('ExternalMetricValueList'),
          verbs: z.array(z.literal('get')),
        }),
      ),
    }),
  },
});

export const readExternalMetric = defineRoute({
  ...common,
  op: 'readExternalMetric',
  summary: 'One figure for a Kubernetes autoscaler, of what a label selector selects; the same in each namespace',
  path: `/apis/${groupVersion}/namespaces/:namespace/:metric`,
  params: z.strictObject({ namespace: z.string().max(253), metric: z.string().max(253) }),
  query: ofOthers.extend({ labelSelector: z.string().max(4096).optional() }),
  answers: {
    200: z.strictObject({
      kind: z.literal('ExternalMetricValueList'),
      apiVersion: z.literal(groupVersion),
      metadata: z.strictObject({}),
      items: z.array(ExternalMetricValue),
    }),
  },
});

export const externalMetricsVersion = groupVersion;
export const externalMetricRoutes = [listExternalMetrics, readExternalMetric] as const satisfies readonly Route[];
