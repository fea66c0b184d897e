/** The figures of a computer host for Prometheus: its computers by state, and how many it may have. */
import type { Metric } from '../../kit/metrics/metric.ts';
import { processMetrics } from '../../kit/metrics/process-metrics.ts';
import type { Host } from './host.ts';
import { hostStates } from './protocol.ts';

export function computerHostMetrics(
  host: Pick<Host, 'list' | 'warm'>,
  { most, version }: { readonly most: number; readonly version: string },
): readonly Metric[] {
  return [
    ...processMetrics('computer-host', version),
    {
      name: 'gantry_computers',
      help: 'Hosted computers of this machine, by state.',
      kind: 'gauge',
      read() {
        const found = host.list();
        return hostStates.map((state) => ({
          labels: { state },
          value: found.filter((computer) => computer.state === state).length,
        }));
      },
    },
    {
      name: 'gantry_computers_warm',
      help: 'Computers that run for the next creates, which are not among gantry_computers.',
      kind: 'gauge',
      read: () => Object.entries(host.warm() ?? {}).map(([toolset, value]) => ({ labels: { toolset }, value })),
    },
    {
      name: 'gantry_computers_limit',
      help: 'Hosted computers that may be on this machine.',
      kind: 'gauge',
      read: () => most,
    },
  ];
}
