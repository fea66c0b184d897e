/**
 * Answers a Kubernetes autoscaler: picks from figures what its label selector selects, and makes one number of it. Must not know where the figures come
 * from, or who asks.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { RouteAnswer } from '../../contracts/common/route.ts';
import {
  type ExternalMetricValue,
  externalMetricsVersion,
  listExternalMetrics,
  readExternalMetric,
} from '../../contracts/metrics/external.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Metric } from '../../kit/metrics/metric.ts';
import { readSelector } from './selector.ts';

export { createFrontProxyAuthenticator } from './front-proxy.ts';

/** A gauge whose labelled parts add up, or of which the largest counts. */
interface ExternalMetric extends Pick<Metric, 'name' | 'read'> {
  readonly of: 'sum' | 'largest';
}

export function createExternalMetrics(metrics: readonly ExternalMetric[], clock: Clock): readonly BoundRoute[] {
  const byName = new Map(metrics.map((metric) => [metric.name, metric]));
  const list: RouteAnswer<typeof listExternalMetrics> = {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: externalMetricsVersion,
    resources: [...byName.keys()].map((name) => ({
      name,
      singularName: '',
      namespaced: true,
      kind: 'ExternalMetricValueList',
      verbs: ['get'],
    })),
  };

  async function answerOf(
    metric: ExternalMetric,
    selects: ReturnType<typeof readSelector>,
  ): Promise<ExternalMetricValue> {
    const samples = await metric.read();
    const parts = typeof samples === 'number' ? [{ value: samples, labels: {} }] : samples;
    const values = parts.filter(({ labels }) => selects(labels ?? {})).map(({ value }) => value);
    const value = metric.of === 'sum' ? values.reduce((sum, one) => sum + one, 0) : Math.max(0, ...values);
    return { metricName: metric.name, metricLabels: {}, timestamp: iso(clock.now()), value: quantity(value) };
  }

  return [
    bind(listExternalMetrics, () => ({ body: list })),
    bind(readExternalMetric, async ({ params, query }) => {
      const metric = byName.get(params.metric);
      if (metric === undefined) throw unknown(params.metric, [...byName.keys()]);
      // Always one value: an autoscaler adds up what it gets, which is wrong for ages, and takes none for a failure.
      const items = [await answerOf(metric, readSelector(query.labelSelector ?? ''))];
      const list = {
        kind: 'ExternalMetricValueList',
        apiVersion: externalMetricsVersion,
        metadata: {},
        items,
      } as const;
      return { body: list };
    }),
  ];
}

/** Kubernetes has thousandths, and no exponent that both sides round alike. */
function quantity(value: number): string {
  const thousandths = Math.max(0, Math.round(value * 1000));
  return thousandths % 1000 === 0 ? String(thousandths / 1000) : `${thousandths}m`;
}

function unknown(name: string, names: readonly string[]): AppError {
  return new AppError('not_found', `There is no figure ${JSON.stringify(name)}.`, `Use ${names.join(', ')}.`);
}
