/** The worker's end of the heartbeat thread. Must not know HTTP. */
import { Worker as Thread } from 'node:worker_threads';
import { programFile } from '../../kit/process/programs.ts';
import type { BeatSettings, FromBeats, ToBeats } from './beat-messages.ts';

interface HeldLease {
  readonly taskId: string;
  readonly leaseId: string;
  readonly ttlMs: number;
  readonly askedAt: number;
  /** The task should end soon. */
  readonly onStop: () => void;
  /** Somebody else may have the task from now on. */
  readonly onLost: (why: string) => void;
}

export interface Beats {
  /** Beats until the answer is called, or the lease is lost. */
  hold(lease: HeldLease): () => void;
  close(): Promise<void>;
}

export function startBeats(settings: BeatSettings): Beats {
  const thread = new Thread(programFile('worker-beats'), { workerData: settings });
  const held = new Map<string, HeldLease>();
  const send = (message: ToBeats) => thread.postMessage(message);
  const loseAll = (why: string) => {
    for (const [leaseId, lease] of [...held]) {
      held.delete(leaseId);
      lease.onLost(why);
    }
  };
  // What waits in here must not keep a program alive that has nothing left to do.
  thread.unref();
  thread.on('message', (message: FromBeats) => {
    const lease = held.get(message.leaseId);
    if (lease === undefined) return;
    if (message.kind === 'stop') return lease.onStop();
    held.delete(message.leaseId);
    lease.onLost(message.why);
  });
  thread.on('error', (error) => loseAll(`The heartbeat thread ended: ${String(error)}`));
  thread.on('exit', () => loseAll('The heartbeat thread ended.'));

  return {
    hold(lease) {
      const { taskId, leaseId, ttlMs, askedAt } = lease;
      held.set(leaseId, lease);
      send({ kind: 'hold', taskId, leaseId, ttlMs, askedAt });
      return () => {
        if (held.delete(leaseId)) send({ kind: 'letGo', leaseId });
      };
    },
    async close() {
      held.clear();
      await thread.terminate();
    },
  };
}
