/** Figures of all hosted computers for their operator. Must not know who reads them. */
import type { Metric } from '../../kit/metrics/metric.ts';
import type { HostedDriver } from './driver.ts';
import type { ComputerStore } from './store.ts';

export function hostedMetrics({
  computers,
  driver,
}: {
  readonly computers: Pick<ComputerStore, 'countAwake'>;
  readonly driver: Pick<HostedDriver, 'capabilities'>;
}): readonly Metric[] {
  return [
    {
      name: 'gantry_hosted_computers',
      help: 'Hosted computers: claimed by projects and awake, and kept warm for the next create, by toolset.',
      kind: 'gauge',
      async read() {
        const [claimed, { warm }] = await Promise.all([computers.countAwake(), driver.capabilities()]);
        const kept = Object.entries(warm ?? {}).map(([toolset, value]) => ({
          labels: { state: 'warm', toolset },
          value,
        }));
        return [{ labels: { state: 'claimed', toolset: 'any' }, value: claimed }, ...kept];
      },
    },
  ];
}
