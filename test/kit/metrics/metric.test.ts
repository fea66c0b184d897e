/** The text that Prometheus reads, and what keeps its labels from growing without end. */
import { expect, test } from 'vitest';
import { createCounter, createSecondsHistogram } from '../../../src/kit/metrics/counters.ts';
import { metricsText } from '../../../src/kit/metrics/metric.ts';

const never = (name: string, fault: unknown) => {
  throw new Error(`${name}: ${String(fault)}`);
};

test('each metric has its help, its type and its samples, with labels that cannot break out of their quotes', async () => {
  const text = await metricsText(
    [
      { name: 'gantry_a', help: 'One\nline.', kind: 'gauge', read: () => 3 },
      { name: 'gantry_b', help: 'B.', kind: 'gauge', read: async () => [{ labels: { x: 'a"b\\c\nd' }, value: 1.5 }] },
    ],
    never,
  );
  expect(text).toBe(
    '# HELP gantry_a One\\nline.\n# TYPE gantry_a gauge\ngantry_a 3\n' +
      '# HELP gantry_b B.\n# TYPE gantry_b gauge\ngantry_b{x="a\\"b\\\\c\\nd"} 1.5\n',
  );
});

test('a thousand values of a label become a hundred series, and nothing is left out of their sum', async () => {
  const counter = createCounter('gantry_models_total', 'Models.');
  for (let i = 0; i < 1000; i += 1) counter.add({ model: `model-${i}` });
  const gauge = {
    name: 'gantry_gauge',
    help: 'Gauge.',
    kind: 'gauge' as const,
    read: () => Array.from({ length: 1000 }, (_, i) => ({ labels: { model: `m${i}` }, value: 1 })),
  };
  for (const metric of [counter, gauge]) {
    const lines = (await metricsText([metric], never)).split('\n').filter((line) => line.startsWith(`${metric.name}{`));
    expect(lines).toHaveLength(100);
    expect(lines.at(-1)).toBe(`${metric.name}{model="other"} 901`);
  }
});

test('a histogram counts each value in every bound that it does not exceed', async () => {
  const seconds = createSecondsHistogram('gantry_seconds', 'Seconds.');
  for (const value of [0.0005, 0.3, 60]) seconds.observe({ area: 'a' }, value);
  const text = await metricsText([seconds], never);
  expect(text).toContain('gantry_seconds_bucket{area="a",le="0.001"} 1\n');
  expect(text).toContain('gantry_seconds_bucket{area="a",le="0.5"} 2\n');
  expect(text).toContain('gantry_seconds_bucket{area="a",le="30"} 2\n');
  expect(text).toContain('gantry_seconds_bucket{area="a",le="+Inf"} 3\n');
  expect(text).toContain('gantry_seconds_sum{area="a"} 60.3005\n');
  expect(text).toContain('gantry_seconds_count{area="a"} 3\n');
});

test('a metric that cannot be read is reported, and the others are still answered', async () => {
  const faults: string[] = [];
  const broken = {
    name: 'gantry_broken',
    help: 'Broken.',
    kind: 'gauge' as const,
    read(): number {
      throw new Error('away');
    },
  };
  const text = await metricsText([broken, { ...broken, name: 'gantry_fine', read: () => 1 }], (name) => {
    faults.push(name);
  });
  expect(faults).toEqual(['gantry_broken']);
  expect(text).toContain('gantry_fine 1\n');
});
