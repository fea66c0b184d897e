/**
 * This replica among those that share the database: that it runs, and which links it holds. The newest
 * connection of a computer counts, wherever it was made; the replica that holds an older one closes it and writes nothing. Must not know how a link
 * works or how another replica is asked.
 */
import type { Timers } from '../../kit/clock/timers.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import {
  claimConnection,
  heldBy,
  noteReplica,
  releaseConnection,
  removeReplica,
  removeSilent,
} from './connections-store.ts';
import type { DialIns } from './dial-ins.ts';
import { aliveMs, type Elsewhere, place } from './elsewhere.ts';

export interface Replicas {
  readonly id: string;
  /** A link came or went here: the others know once this resolves. Never rejects: the next beat repeats a failed write. */
  changed(computerId: string): Promise<void>;
  /** Called when the link of this computer may have changed, at any replica. Returns a function that unsubscribes. */
  onChange(computerId: string, listener: () => void): () => void;
  /** Resolves on a possible change, after `ms`, or when `signal` is aborted. */
  wait(computerId: string, ms: number, signal: AbortSignal): Promise<void>;
  /** Registers this replica, and keeps its entry fresh. */
  start(): Promise<void>;
  /** Removes this replica's entry. */
  close(): Promise<void>;
}

const beatMs = 5_000;
const silentMs = 60_000;

const single = { isolation: 'statement' } as const;

const topicOf = (computerId: string) => `link/${computerId}`;
const topicOfReplica = (id: string) => `links/${id}`;

export function createReplicas(deps: {
  readonly store: SharedStore;
  /** The store's own clock: replicas compare times. */
  readonly clock: { now(): number; compare(): Promise<void> };
  readonly timers: Timers;
  /** Of this process. */
  readonly id: string;
  /** Address for the other replicas. */
  readonly address: string;
  /** Seals the bearers of links. */
  readonly sealer: Sealer;
  readonly elsewhere: Pick<Elsewhere, 'forgetSuspicions'>;
  readonly dialIns: Pick<DialIns, 'current' | 'linked' | 'retire'>;
  readonly onFault: (what: string, fault: unknown) => void;
}): Replicas {
  const { store, clock, timers, id, sealer, dialIns } = deps;
  const { wake } = store;
  /** Writes of one computer's row, in order. */
  const writing = new Map<string, { again: boolean; readonly done: Promise<void> }>();
  let closed = false;
  let cancelBeat = () => {};
  let beating: Promise<void> = Promise.resolve();
  let stopListening = () => {};

  /** Writes one computer's current state. */
  async function write(computerId: string): Promise<void> {
    const current = dialIns.current(computerId);
    if (current === null) {
      await store.write((tx) => releaseConnection(tx, computerId, id), single);
      wake.signal(topicOf(computerId));
      return;
    }
    const { epoch, token } = current;
    const credential = sealer.seal(place(computerId), token);
    const at = clock.now();
    const claim = { computerId, replica: id, epoch, credential, at, aliveSince: at - aliveMs };
    const { lost, from } = await store.write((tx) => claimConnection(tx, claim), { isolation: 'rows' });
    if (lost) {
      dialIns.retire(computerId, epoch);
      return;
    }
    wake.signal(topicOf(computerId));
    if (from !== null) wake.signal(topicOfReplica(from));
  }

  function changed(computerId: string): Promise<void> {
    const busy = writing.get(computerId);
    if (busy !== undefined) {
      busy.again = true;
      return busy.done;
    }
    const rounds = async () => {
      do {
        entry.again = false;
        await write(computerId);
      } while (entry.again);
    };
    const done = Promise.resolve()
      .then(rounds)
      .catch((fault) => deps.onFault('Who holds the link of a computer could not be said.', fault))
      .finally(() => writing.delete(computerId));
    const entry = { again: false, done };
    writing.set(computerId, entry);
    return done;
  }

  /** Makes the rows of this replica match its state. */
  async function look(): Promise<void> {
    const said = new Map((await heldBy(store, id)).map((row) => [row.id, row.epoch]));
    for (const computerId of dialIns.linked()) {
      if (said.get(computerId) !== dialIns.current(computerId)?.epoch) await changed(computerId);
      said.delete(computerId);
    }
    for (const computerId of said.keys()) await changed(computerId);
  }

  async function sayHere(): Promise<void> {
    await clock.compare();
    const now = clock.now();
    await store.write((tx) => noteReplica(tx, id, deps.address, now), single);
    deps.elsewhere.forgetSuspicions(now - silentMs);
  }

  function beatLater(): void {
    if (closed) return;
    cancelBeat = timers.after(beatMs, () => {
      beating = sayHere()
        .then(look)
        .then(() => store.write((tx) => removeSilent(tx, clock.now() - silentMs), { isolation: 'rows' }))
        .catch((fault) => deps.onFault('The other replicas did not learn of this one.', fault))
        .finally(beatLater);
    });
  }

  return {
    id,
    changed,
    onChange: (computerId, listener) => wake.on(topicOf(computerId), listener),
    wait: (computerId, ms, signal) => wake.wait(topicOf(computerId), ms, signal),
    async start() {
      await sayHere();
      beatLater();
      stopListening = wake.on(topicOfReplica(id), () => {
        look().catch((fault) => deps.onFault('Links that were taken over could not be looked for.', fault));
      });
    },
    async close() {
      closed = true;
      cancelBeat();
      stopListening();
      await beating;
      await Promise.all([...writing.values()].map(({ done }) => done));
      await store.write((tx) => removeReplica(tx, id), { isolation: 'rows' });
    },
  };
}
