/** What waits in the outboxes of a program, for `GET /metrics`: each is added by its name when it is opened. */
import type { Clock } from '../clock/clock.ts';
import type { Metric } from '../metrics/metric.ts';
import type { LaneLoad } from './lane.ts';

export interface LaneMetrics {
  /** Returns the same lanes. */
  watch<Watched extends { load(): LaneLoad }>(name: string, lanes: Watched): Watched;
  readonly metrics: readonly Metric[];
}

export function createLaneMetrics(clock: Clock): LaneMetrics {
  const watched = new Map<string, { load(): LaneLoad }>();
  const each = (name: string, help: string, value: (load: LaneLoad) => number): Metric => ({
    name,
    help,
    kind: 'gauge',
    read: () => [...watched].map(([lanes, one]) => ({ labels: { lanes }, value: value(one.load()) })),
  });
  return {
    watch(name, lanes) {
      watched.set(name, lanes);
      return lanes;
    },
    metrics: [
      each('gantry_lane_items', 'Items of an outbox that were not taken yet.', ({ items }) => items),
      each('gantry_lane_oldest_seconds', 'How long the oldest item of an outbox has waited.', ({ oldestAt }) =>
        oldestAt === null ? 0 : Math.max(0, clock.now() - oldestAt) / 1000,
      ),
      each('gantry_lane_sending', 'Items of an outbox that are being sent.', ({ sending }) => sending),
      each(
        'gantry_lane_sending_limit',
        'Items of an outbox that may be sent at the same time.',
        (load) => load.parallel,
      ),
    ],
  };
}
