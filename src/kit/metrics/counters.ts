/** Metrics that are added to where something happens: a counter, and a histogram with fixed bounds. Both cost a look into a map. */
import { createLabelSets, type Metric, type Sample } from './metric.ts';

type Labels = Readonly<Record<string, string>>;

interface Counter extends Metric {
  add(labels: Labels, by?: number): void;
}

interface Histogram extends Metric {
  observe(labels: Labels, value: number): void;
}

export function createCounter(name: string, help: string): Counter {
  const sets = createLabelSets(() => ({ sum: 0 }));
  return {
    name,
    help,
    kind: 'counter',
    add(labels, by = 1) {
      sets.of(labels).sum += by;
    },
    read: () => [...sets.entries()].map(({ labels, kept }) => ({ labels, value: kept.sum })),
  };
}

/** Bounds in seconds that fit a store's commit as well as a call that waits half a minute. */
const secondsBounds = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30];

export function createSecondsHistogram(name: string, help: string): Histogram {
  const sets = createLabelSets(() => ({ counts: secondsBounds.map(() => 0), sum: 0, count: 0 }));
  return {
    name,
    help,
    kind: 'histogram',
    observe(labels, value) {
      const kept = sets.of(labels);
      kept.sum += value;
      kept.count += 1;
      const index = secondsBounds.findIndex((bound) => value <= bound);
      if (index !== -1) kept.counts[index]! += 1;
    },
    read() {
      const samples: (Sample & { line: string })[] = [];
      for (const { labels, kept } of sets.entries()) {
        let below = 0;
        for (const [index, bound] of secondsBounds.entries()) {
          below += kept.counts[index]!;
          samples.push({ line: `${name}_bucket`, labels: { ...labels, le: String(bound) }, value: below });
        }
        samples.push({ line: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: kept.count });
        samples.push({ line: `${name}_sum`, labels, value: kept.sum });
        samples.push({ line: `${name}_count`, labels, value: kept.count });
      }
      return samples;
    },
  };
}
