/** The route of the figures: reads them one after the other and answers with their text. */
import { getMetrics } from '../../contracts/metrics/routes.ts';
import { type BoundRoute, bind } from '../http/types.ts';
import { type Metric, metricsText } from './metric.ts';

export function metricsRoute(
  metrics: readonly Metric[],
  log: { warn(message: string, facts?: Record<string, unknown>): void },
): BoundRoute {
  return bind(getMetrics, async ({ response }) => {
    const text = await metricsText(metrics, (metric, fault) =>
      log.warn('A metric could not be read.', { metric, fault: String(fault) }),
    );
    response.setHeader('content-type', 'text/plain; version=0.0.4; charset=utf-8');
    response.end(text);
  });
}
