/** The figures of a worker for Prometheus: its tasks by outcome, and how many of its places are taken. */
import { createCounter } from '../../kit/metrics/counters.ts';
import { processMetrics } from '../../kit/metrics/process-metrics.ts';
import { type MetricsServer, serveMetrics } from '../../kit/metrics/serve-metrics.ts';
import type { WorkerEvent } from './worker.ts';

const outcomes = ['succeeded', 'failed', 'stopped', 'lost', 'abandoned', 'kept'] as const;
const isOutcome = (kind: string): kind is (typeof outcomes)[number] => (outcomes as readonly string[]).includes(kind);

interface WorkerMetrics {
  /** Hears what the worker tells. */
  tell(event: WorkerEvent): void;
  serve(where: {
    readonly port: number;
    readonly tokenFile: string;
    readonly now: () => number;
  }): Promise<MetricsServer>;
}

export function createWorkerMetrics({
  concurrency,
  version,
  note,
}: {
  readonly concurrency: number;
  readonly version: string;
  readonly note: (words: string) => void;
}): WorkerMetrics {
  const ended = createCounter('gantry_worker_tasks_total', 'Tasks that this worker ended, by outcome.');
  for (const outcome of outcomes) ended.add({ outcome }, 0);
  const troubles = createCounter('gantry_worker_troubles_total', 'Calls to the queue that failed and were repeated.');
  troubles.add({}, 0);
  const running = new Set<string>();
  const metrics = [
    ...processMetrics('worker', version),
    ended,
    troubles,
    {
      name: 'gantry_worker_running',
      help: 'Tasks that this worker works on.',
      kind: 'gauge' as const,
      read: () => running.size,
    },
    {
      name: 'gantry_worker_running_limit',
      help: 'Tasks that this worker takes at the same time.',
      kind: 'gauge' as const,
      read: () => concurrency,
    },
  ];
  return {
    tell(event) {
      if (event.kind === 'trouble') troubles.add({});
      else if (event.kind === 'began') running.add(event.task.id);
      else if ('task' in event && isOutcome(event.kind)) {
        ended.add({ outcome: event.kind });
        running.delete(event.task.id);
      }
    },
    serve: ({ port, tokenFile, now }) =>
      serveMetrics({
        port,
        tokenFile,
        metrics,
        clock: { now, monotonic: () => performance.now() },
        log: { warn: note, error: note },
      }),
  };
}
