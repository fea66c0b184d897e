/** The figures of a cloud, over everybody's data: read when they are scraped, each along an index and up to a limit. */
import { waitingApprovals } from '../cloud-api/approvals/store.ts';
import { queueFigures } from '../cloud-api/work-queue/figures.ts';
import type { Clock } from '../kit/clock/clock.ts';
import type { Metric } from '../kit/metrics/metric.ts';
import { processMetrics } from '../kit/metrics/process-metrics.ts';
import type { OpenedSharedStore } from '../kit/store/shared-store.ts';
import { agesOf, oldestOf } from './metric-ages.ts';
import { packageVersion } from './places.ts';

export function cloudMetrics(deps: {
  readonly store: OpenedSharedStore;
  readonly clock: Clock;
  /** Computers whose link this process holds. */
  readonly linked: () => number;
  readonly parts: readonly (readonly Metric[])[];
}): readonly Metric[] {
  const { store, clock } = deps;
  const pool = store.connections;
  return [
    ...processMetrics('cloud', packageVersion()),
    ...deps.parts.flat(),
    {
      name: 'gantry_links',
      help: 'Computers that are linked to this process.',
      kind: 'gauge',
      read: deps.linked,
    },
    {
      name: 'gantry_approvals_waiting',
      help: 'Approvals that wait for their person, by how long they have waited.',
      kind: 'gauge',
      read: async () => agesOf(await waitingApprovals(store, clock.now()), clock.now()),
    },
    {
      name: 'gantry_approvals_oldest_seconds',
      help: 'How long the oldest approval has waited.',
      kind: 'gauge',
      read: async () => oldestOf(await waitingApprovals(store, clock.now()), clock.now()),
    },
    {
      name: 'gantry_work_tasks',
      help: 'Tasks of the work queue that have not succeeded and were not cancelled, by state.',
      kind: 'gauge',
      read: async () => (await queueFigures(store, clock.now())).states,
    },
    {
      name: 'gantry_work_oldest_seconds',
      help: 'How long the oldest task that could be leased has waited, to a step that grows with it: ten seconds from ten minutes on, a day from two days on.',
      kind: 'gauge',
      async read() {
        const { oldest } = await queueFigures(store, clock.now());
        return oldest === null ? 0 : Math.max(0, clock.now() / 1000 - oldest);
      },
    },
    ...(pool === undefined
      ? []
      : [
          {
            name: 'gantry_store_connections',
            help: 'Connections to the database: lent, and the most that may be.',
            kind: 'gauge',
            read() {
              const { lent, max } = pool();
              return [
                { labels: { state: 'lent' }, value: lent },
                { labels: { state: 'max' }, value: max },
              ];
            },
          } satisfies Metric,
          {
            name: 'gantry_store_connections_awaited',
            help: 'Callers that wait for a connection to the database.',
            kind: 'gauge',
            read: () => pool().waiting,
          } satisfies Metric,
        ]),
  ];
}
