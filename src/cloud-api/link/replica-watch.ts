/**
 * Watches whether the replicas behind our connections are up: one that hangs, or whose machine lost its power, closes nothing, and a caller that
 * waits for an answer through it would wait for ever. Must not know what the connections carry.
 */
import type { Socket } from 'node:net';
import type { Timers } from '../../kit/clock/timers.ts';
import type { PipeTarget, ReplicaPipes } from './replica-pipes.ts';

interface ReplicaWatch {
  /** This connection leads through that replica, until it closes. */
  add(target: PipeTarget, socket: Socket): void;
  close(): void;
}

interface Watched {
  readonly sockets: Set<Socket>;
  /** Bytes received up to the last look. */
  heard: number;
  cancel: () => void;
}

/** A replica that sent nothing for this long is asked whether it is up. */
export const quietMs = 2_000;

export function createReplicaWatch({
  isThere,
  timers,
  onGone,
}: {
  readonly isThere: ReplicaPipes['isThere'];
  readonly timers: Timers;
  /** Called after its connections were ended. */
  readonly onGone: (replica: string) => void;
}): ReplicaWatch {
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

  /** Whether anything came since the last check. A closed connection took its count along, and its end counts as a sign of life. */
  function isHeard(entry: Watched): boolean {
    const before = entry.heard;
    entry.heard = 0;
    for (const { bytesRead } of entry.sockets) entry.heard += bytesRead;
    return entry.heard !== before;
  }

  /** Asks twice: this process itself may have hung, or a packet was lost. */
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
