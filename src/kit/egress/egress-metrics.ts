/** Requests to addresses that somebody else chose, for `GET /metrics`: how many are under way, and what became of the others, by what they are for. */
import { AppError } from '../../contracts/common/errors.ts';
import { createCounter } from '../metrics/counters.ts';
import type { Metric } from '../metrics/metric.ts';
import type { Egress } from './egress.ts';

export interface EgressMeter {
  /** The same way out, with its requests counted. `use` is a word of ours, such as `pushes`. */
  count<Counted extends Pick<Egress, 'request'>>(use: string, egress: Counted): Counted;
  readonly metrics: readonly Metric[];
}

export function createEgressMeter(uses: readonly string[]): EgressMeter {
  const outcomes = createCounter('gantry_egress_requests_total', 'Requests to addresses outside, by use and outcome.');
  const underWay = new Map(uses.map((use) => [use, 0]));
  // A query should find 0, and not nothing, before the first request.
  for (const use of uses) outcomes.add({ use, outcome: 'answered' }, 0);
  const change = (use: string, by: number) => underWay.set(use, (underWay.get(use) ?? 0) + by);
  return {
    count: (use, egress) => ({
      ...egress,
      async request(request) {
        change(use, 1);
        try {
          const answer = await egress.request(request);
          outcomes.add({ use, outcome: answer.status >= 500 ? 'failed' : 'answered' });
          return answer;
        } catch (error) {
          outcomes.add({ use, outcome: error instanceof AppError && error.code === 'refused' ? 'refused' : 'failed' });
          throw error;
        } finally {
          change(use, -1);
        }
      },
    }),
    metrics: [
      outcomes,
      {
        name: 'gantry_egress_requests_in_flight',
        help: 'Requests to addresses outside that are under way, by use.',
        kind: 'gauge',
        read: () => [...underWay].map(([use, value]) => ({ labels: { use }, value })),
      },
    ],
  };
}
