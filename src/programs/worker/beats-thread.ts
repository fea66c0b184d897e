/**
 * The worker's heartbeat thread: a task that blocks its own thread does not lose its lease. Ends with its process, so that no lease outlives the work.
 * Must not know what a task does.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { createClient } from '../../client/client.ts';
import { workRoutes } from '../../contracts/work-queue/routes.ts';
import { type BeatSettings, type FromBeats, sharedNow, type ToBeats } from './beat-messages.ts';
import { keepBeating } from './beating.ts';

const { url, key, workerId } = workerData as BeatSettings;
const port = parentPort;
if (port === null) throw new Error('beats-thread runs as a thread of a worker.');
const client = createClient(workRoutes, { baseUrl: url, token: key });
const kept = new Map<string, () => void>();
const tell = (message: FromBeats) => port.postMessage(message);

function hold({ taskId, leaseId, ttlMs, askedAt }: Extract<ToBeats, { kind: 'hold' }>): void {
  const stop = keepBeating(
    { ttlMs, askedAt },
    {
      async beat(signal) {
        const input = { params: { id: taskId }, body: { worker_id: workerId, lease_id: leaseId } };
        const { lease, stop_requested: stopRequested } = await client.heartbeatTask(input, { signal });
        return { ttlMs: lease.ttl_seconds * 1000, stopRequested };
      },
      now: sharedNow,
      after(ms, effect) {
        const timer = setTimeout(effect, Math.max(0, ms));
        return () => clearTimeout(timer);
      },
      onStop: () => tell({ kind: 'stop', leaseId }),
      onLost(why) {
        kept.delete(leaseId);
        tell({ kind: 'lost', leaseId, why });
      },
    },
  );
  kept.set(leaseId, stop);
}

port.on('message', (message: ToBeats) => {
  if (message.kind === 'hold') hold(message);
  else {
    kept.get(message.leaseId)?.();
    kept.delete(message.leaseId);
  }
});
