/** A worker in the process of its test. */
import { onTestFinished } from 'vitest';
import { startWorker, type WorkerEvent, type WorkerOptions } from '../../../src/programs/worker/worker.ts';

export function begin(port: number, run: WorkerOptions['run'], more: Partial<WorkerOptions> = {}) {
  const events: WorkerEvent[] = [];
  const worker = startWorker({
    url: `http://127.0.0.1:${port}`,
    key: 'ada',
    workerId: 'w1',
    run,
    random: () => 0.01,
    tell: (event) => events.push(event),
    ...more,
  });
  onTestFinished(async () => {
    worker.abort();
    await worker.ended.catch(() => {});
  });
  return { worker, events, kinds: () => events.map(({ kind }) => kind) };
}
