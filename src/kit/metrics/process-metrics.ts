/** What every program of Gantry says of itself: version, processor time, memory, and whether its event loop keeps up. */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import type { Metric } from './metric.ts';

/** Samples of the delay: often enough to see a stall of 50 ms, seldom enough to cost nothing. Milliseconds. */
const resolution = 20;
const quantiles = [50, 99, 100];

export function processMetrics(part: string, version: string): readonly Metric[] {
  // From the first scrape on: it wakes the processor, and most Gantries are scraped by nobody.
  let delays: ReturnType<typeof monitorEventLoopDelay> | null = null;
  return [
    {
      name: 'gantry_info',
      help: 'Always 1; the labels say which part of Gantry this is, and its version.',
      kind: 'gauge',
      read: () => [{ labels: { part, version }, value: 1 }],
    },
    {
      name: 'gantry_process_cpu_seconds_total',
      help: 'Processor time of the process.',
      kind: 'counter',
      read() {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1e6;
      },
    },
    {
      name: 'gantry_process_memory_bytes',
      help: 'Memory of the process: resident, and the used part of the JavaScript heap.',
      kind: 'gauge',
      read() {
        const { rss, heapUsed } = process.memoryUsage();
        return [
          { labels: { kind: 'resident' }, value: rss },
          { labels: { kind: 'heap' }, value: heapUsed },
        ];
      },
    },
    {
      name: 'gantry_process_uptime_seconds',
      help: 'Time since the process began.',
      kind: 'gauge',
      read: () => process.uptime(),
    },
    {
      name: 'gantry_event_loop_busy_seconds_total',
      help: 'Time that the event loop spent working rather than waiting.',
      kind: 'counter',
      read: () => performance.eventLoopUtilization().active / 1000,
    },
    {
      name: 'gantry_event_loop_delay_seconds',
      help: 'How late timers fired since the last scrape: median, 99 of 100, and the longest.',
      kind: 'gauge',
      read() {
        if (delays === null) {
          delays = monitorEventLoopDelay({ resolution });
          delays.enable();
        }
        const found = delays;
        // It counts the whole time between two samples. Nothing was counted yet at the first scrape.
        const late = (ns: number) => (found.count === 0 ? 0 : Math.max(0, ns / 1e9 - resolution / 1000));
        const samples = quantiles.map((percent) => ({
          labels: { quantile: String(percent / 100) },
          value: late(found.percentile(percent)),
        }));
        found.reset();
        return samples;
      },
    },
  ];
}
