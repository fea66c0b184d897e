/**
 * The link of a cloud of several replicas: a computer that dialled in here is reached directly, one that dialled in elsewhere through the replica
 * that holds it. Owns that connections over a replaced link are closed; must not know routes or rows.
 */
import type { Socket } from 'node:net';
import type { Timers } from '../../kit/clock/timers.ts';
import { drainingEvent } from '../../kit/link/pipe.ts';
import type { DialIns } from './dial-ins.ts';
import { away } from './dial-ins.ts';
import type { Elsewhere } from './elsewhere.ts';
import type { Link } from './link.ts';
import { NotLinked, NotThere, type ReplicaPipes } from './replica-pipes.ts';
import { createReplicaWatch } from './replica-watch.ts';
import type { Replicas } from './replicas.ts';

interface SharedLink extends Link {
  close(): void;
}

/** Connections to one computer through another replica. */
interface Passage {
  /** The epoch of the link that they lead to. */
  epoch: number;
  readonly sockets: Set<Socket>;
  readonly stop: () => void;
}

/** Callers that wait for a link look this often, in case its notice was lost. */
const lookMs = 1000;

export function createSharedLink({
  dialIns,
  elsewhere,
  replicas,
  pipes,
  clock,
  timers,
}: {
  readonly dialIns: Pick<DialIns, 'open' | 'state' | 'credential' | 'onChange'>;
  readonly elsewhere: Pick<Elsewhere, 'find' | 'suspect'>;
  readonly replicas: Pick<Replicas, 'changed' | 'onChange' | 'wait'>;
  readonly pipes: ReplicaPipes;
  /** The store's. */
  readonly clock: { now(): number };
  readonly timers: Timers;
}): SharedLink {
  const passages = createPassages({ find: elsewhere.find, onChange: replicas.onChange });
  const watch = createReplicaWatch({ isThere: pipes.isThere, timers, onGone: elsewhere.suspect });
  const listeners = new Set<(computerId: string, linked: boolean) => void>();
  // A listener may ask at another replica next, so the others must know first.
  const stop = dialIns.onChange((computerId, linked) => {
    void replicas.changed(computerId).then(() => {
      for (const listener of [...listeners]) listener(computerId, linked);
    });
  });

  async function find(computerId: string) {
    const reach = await elsewhere.find(computerId);
    passages.follow(computerId, reach);
    return reach;
  }

  async function open(computerId: string, side: Parameters<Link['open']>[1]): Promise<Socket> {
    const reach = await find(computerId);
    if (!reach.linked) throw away(computerId, reach.since);
    try {
      const socket = await pipes.open(reach, computerId, side);
      passages.add(computerId, reach.epoch, socket);
      watch.add(reach, socket);
      return socket;
    } catch (thrown) {
      if (thrown instanceof NotLinked) throw away(computerId, clock.now());
      if (!(thrown instanceof NotThere)) throw thrown;
      elsewhere.suspect(reach.replica);
      throw away(computerId, (await elsewhere.find(computerId)).since);
    }
  }

  const state: Link['state'] = async (computerId) => {
    const here = dialIns.state(computerId);
    if (here.linked) return here;
    const { linked, since } = await find(computerId);
    // The replica that had the link last saw its end last.
    return { linked, since: linked ? since : Math.max(since, here.since) };
  };

  return {
    open: (computerId, side) =>
      dialIns.state(computerId).linked ? dialIns.open(computerId, side) : open(computerId, side),
    state,
    async credential(computerId) {
      const here = dialIns.credential(computerId);
      if (here !== null) return here;
      const reach = await find(computerId);
      return reach.linked ? reach.credential : null;
    },
    async untilLinked(computerId, ms, signal) {
      const late = new AbortController();
      const end = AbortSignal.any([signal, late.signal]);
      const cancel = timers.after(ms, () => late.abort());
      try {
        while (!end.aborted) {
          if ((await state(computerId)).linked) return true;
          await replicas.wait(computerId, lookMs, end);
        }
        return false;
      } finally {
        cancel();
      }
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      stop();
      watch.close();
      passages.close();
    },
  };
}

/** Connections through other replicas, by computer and by the link that they lead to. */
function createPassages({
  find,
  onChange,
}: {
  readonly find: Elsewhere['find'];
  readonly onChange: Replicas['onChange'];
}) {
  const passages = new Map<string, Passage>();

  function passageTo(computerId: string, epoch: number): Passage {
    const known = passages.get(computerId);
    if (known !== undefined) return known;
    const look = () =>
      void find(computerId).then(
        (reach) => follow(computerId, reach),
        () => {},
      );
    const made = { epoch, sockets: new Set<Socket>(), stop: onChange(computerId, look) };
    passages.set(computerId, made);
    return made;
  }

  /** Closes idle connections over a link that is no longer the newest; those in use may finish. */
  function follow(computerId: string, reach: Awaited<ReturnType<Elsewhere['find']>>): void {
    const passage = passages.get(computerId);
    if (passage === undefined || (reach.linked && reach.epoch === passage.epoch)) return;
    passage.stop();
    passages.delete(computerId);
    for (const socket of passage.sockets) socket.emit(drainingEvent);
  }

  return {
    follow,
    add(computerId: string, epoch: number, socket: Socket): void {
      const passage = passageTo(computerId, epoch);
      passage.sockets.add(socket);
      socket.once('close', () => {
        passage.sockets.delete(socket);
        if (passage.sockets.size > 0 || passages.get(computerId) !== passage) return;
        passage.stop();
        passages.delete(computerId);
      });
    },
    close(): void {
      for (const { stop, sockets } of passages.values()) {
        stop();
        for (const socket of sockets) socket.destroy();
      }
      passages.clear();
    },
  };
}
