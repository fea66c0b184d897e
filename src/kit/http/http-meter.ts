/** Counts the requests of a server for `GET /metrics`: by area and status, never by path, which has ids. Must not know what routes do. */
import type { Route } from '../../contracts/common/route.ts';
import { createCounter, createSecondsHistogram } from '../metrics/counters.ts';
import type { Metric } from '../metrics/metric.ts';

export interface HttpMeter {
  /** A request was matched to a route; call what is returned once with the status of its answer. */
  began(route: Route): (status: number) => void;
  readonly metrics: readonly Metric[];
}

export function createHttpMeter(): HttpMeter {
  const requests = createCounter('gantry_http_requests_total', 'Requests that a route answered, by status.');
  const seconds = createSecondsHistogram(
    'gantry_http_request_seconds',
    'Time until a request was answered, by area. Event streams are left out; calls that wait for something count in full.',
  );
  let inFlight = 0;
  return {
    began(route) {
      const start = performance.now();
      inFlight += 1;
      return (status) => {
        inFlight -= 1;
        requests.add({ status: String(status) });
        if (route.kind !== 'sse') seconds.observe({ area: route.area }, (performance.now() - start) / 1000);
      };
    },
    metrics: [
      requests,
      seconds,
      {
        name: 'gantry_http_requests_in_flight',
        help: 'Requests that are being answered.',
        kind: 'gauge',
        read: () => inFlight,
      },
    ],
  };
}
