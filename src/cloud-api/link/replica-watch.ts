/**
 * Whether the replicas that connections lead through are still there: one that stands still, or whose computer lost its power, closes
 * nothing, and who waits for an answer through it would wait for ever. Must not know what the connections carry.
 */
import type { Socket } from 'node:net';
import type { Timers } from '../../kit/clock/timers.ts';
import type { PipeTarget, ReplicaPipes } from './replica-pipes.ts';

export interface ReplicaWatchDeps {
  readonly isThere: ReplicaPipes['isThere'];
  readonly timers: Timers;
  /** Its connections were ended. */
  readonly onGone: (replica: string) => void;
}

export interface ReplicaWatch {
  /** This connection leads through that replica, until it closes. */
  add(target: PipeTarget, socket: Socket): void;
  close(): void;
}

interface Watched {
  readonly sockets: Set<Socket>;
  /** Bytes that had come when it was looked at last. */
  heard: number;
  cancel: () => void;
}

/** One from which nothing came for so long is asked whether it is there. */
export const quietMs = 2_000;

export function createReplicaWatch({ isThere, timers, onGone }: ReplicaWatchDeps): ReplicaWatch {
  const watched = new Map<string, Watched>();
  let closed = false;

  function begin(target: PipeTarget): Watched {
    const entry: Watched = { sockets: new Set(), heard: 0, cancel: () => {} };
    watched.set(target.replica, entry);
    lookLater(target, entry);
    return entry;
  }

  function lookLater(target: PipeTarget, entry: Watched): void {
    entry.cancel = timers.after(quietMs, () => void look(target, entry));
  }

  async function look(target: PipeTarget, entry: Watched): Promise<void> {
    if (!isHeard(entry) && (await isGone(target)) && !closed && !isHeard(entry)) {
      onGone(target.replica);
      const fault = Object.assign(new Error('The replica on the way does not answer.'), { code: 'ETIMEDOUT' });
      for (const socket of entry.sockets) socket.destroy(fault);
    }
    if (!closed && watched.get(target.replica) === entry) lookLater(target, entry);
  }

  /** Whether anything came since this was asked last. What was closed took its count along, and was heard of as well. */
  function isHeard(entry: Watched): boolean {
    const before = entry.heard;
    entry.heard = 0;
    for (const { bytesRead } of entry.sockets) entry.heard += bytesRead;
    return entry.heard !== before;
  }

  /** Asked twice: it was this process that stood still, or a packet was lost. */
  const isGone = async (target: PipeTarget) => !(await isThere(target)) && !(await isThere(target));

  return {
    add(target, socket) {
      const entry = watched.get(target.replica) ?? begin(target);
      entry.sockets.add(socket);
      socket.once('close', () => {
        entry.sockets.delete(socket);
        if (entry.sockets.size > 0) return;
        entry.cancel();
        watched.delete(target.replica);
      });
    },
    close() {
      closed = true;
      for (const { cancel } of watched.values()) cancel();
      watched.clear();
    },
  };
}
