/**
 * Traces of a worker: what it does for a task is part of the span that added the task, which the queue names beside the lease. Without an endpoint
 * nothing of OpenTelemetry is loaded. Must not know what a task does.
 */
import type { Fetch } from '../../client/client.ts';
import { openTelemetry } from '../../kit/telemetry/telemetry.ts';
import type { WorkerOptions } from './worker.ts';

interface WorkerTracing {
  /** For the worker's calls. */
  readonly fetch: Fetch;
  /** The same work, in a span. */
  run(run: WorkerOptions['run']): WorkerOptions['run'];
  /** Sends what is left, within half a second. */
  close(): Promise<void>;
}

export async function traceWorker(
  env: Readonly<Record<string, string | undefined>>,
  version: string,
): Promise<WorkerTracing> {
  const telemetry = await openTelemetry(env, { name: 'worker', version });
  /** Of the lease that was answered last: a worker asks for one at a time, and begins it at once. */
  let traceparent: string | null = null;
  return {
    async fetch(input, init) {
      const answer = await fetch(input, init);
      traceparent = answer.headers.get('traceparent') ?? traceparent;
      return answer;
    },
    run(run) {
      return (leased) => {
        const from = traceparent === null ? undefined : { traceparent, trusted: true };
        traceparent = null;
        return telemetry.span({ name: 'task', kind: 'internal', attributes: {}, from }, () => run(leased));
      };
    },
    close: () => telemetry.close(),
  };
}
