/**
 * Delivers events to the computer: one lane for each subscription, signed for the computer's device, retried for 24 hours. Owns the meaning of each
 * response of a computer; must not know servers or their signatures.
 */
import { deliverEvent, type EventDelivery } from '../../contracts/connectors/relay.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { LaneAppend, LaneItem, SharedLaneOutcome, SharedLanes } from '../../kit/lane/lane.ts';
import { createReceipts, type Seen } from '../../kit/receipts/receipts.ts';
import type { Op, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import {
  dropWaiting,
  known,
  lost,
  type Posted,
  type PostedItem,
  receiptOf,
  type SubscriptionName,
  taken,
} from './receipts.ts';
import type { Notice, Registration, Registrations } from './registrations.ts';

/** Waits after the 1st, 2nd … attempt; the last one repeats. */
export const relayBackoffMs = [5_000, 15_000, 30_000, 60_000, 120_000, 300_000];
/** Counted from receipt. */
const retentionMs = 24 * 60 * 60_000;
/** The lane of an absent computer sleeps until the link wakes it; it checks this often in case it missed that. */
const asleepMs = 5 * 60_000;
const asleep: SharedLaneOutcome = { to: 'hold', reason: 'the computer is not linked', forMs: asleepMs };
/** Keeps servers that may post from filling the disk. */
const maxWaiting = 10_000;
const maxReasonLength = 300;

export interface RelayDeps {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly registrations: Registrations;
  readonly link: { state(computerId: string): { readonly linked: boolean } | Promise<{ readonly linked: boolean }> };
  readonly openLanes: OpenRelayLanes;
  /** Calls a computer's runtime as the cloud, signed with its device's key. Throws when it cannot be reached. */
  readonly call: (
    computerId: string,
    request: { readonly method: string; readonly path: string; readonly body: unknown; readonly signal: AbortSignal },
  ) => Promise<{ readonly status: number; readonly body: unknown }>;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}

type OpenRelayLanes = (how: {
  readonly send: (item: LaneItem, signal: AbortSignal) => Promise<SharedLaneOutcome>;
  readonly onExpired: (tx: SharedTx, item: LaneItem) => Op<void>;
  readonly isWanted: (tx: SharedTx, item: LaneItem) => Op<boolean>;
  readonly backoffMs: readonly number[];
}) => SharedLanes;

/** The content of a lane's item. `notice`: events were dropped; the registration has their number. */
type Relayed = PostedItem | { readonly kind: 'notice' };

export interface Relay {
  /** Resolves once the event's receipt and the row that delivers it are durable. */
  take(to: Registration, posted: Posted): Promise<Seen>;
  /** Whether this subscription's queue is full. */
  isFull(name: SubscriptionName): boolean;
  /** The subscription is gone: its waiting events are dropped, and the one that is being sent once it does not arrive. */
  drop(tx: SharedTx, name: SubscriptionName): Op<void>;
  /** The computer answers again. */
  wake(computerId: string): void;
  forgetOld(now: number): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

const laneOf = ({ computerId, subscriptionId }: SubscriptionName) => `${computerId}/${subscriptionId}`;

function nameIn(lane: string): SubscriptionName {
  const cut = lane.indexOf('/');
  return { computerId: lane.slice(0, cut), subscriptionId: lane.slice(cut + 1) };
}

/** One item of a lane at a time. */
const noticeOf = (lane: string): LaneAppend => ({
  lane,
  id: `expired ${lane}`,
  body: { kind: 'notice' } satisfies Relayed,
});

export function createRelay(deps: RelayDeps): Relay {
  const { store, clock, registrations, link, log } = deps;
  const lanes: SharedLanes = deps.openLanes({
    send,
    onExpired,
    isWanted: (tx, item) => registrations.has(tx, nameIn(item.lane)),
    backoffMs: relayBackoffMs,
  });
  const receipts = createReceipts(store, 'connector_receipt', lanes);

  async function send(item: LaneItem, signal: AbortSignal): Promise<SharedLaneOutcome> {
    const name = nameIn(item.lane);
    const isLinked = async () => (await link.state(name.computerId)).linked;
    if (!(await isLinked())) return asleep;
    const content = item.body as Relayed;
    const notice = content.kind === 'notice' ? await store.write((tx) => registrations.notice(tx, name)) : null;
    const body = deliveryOf(content, name.subscriptionId, notice);
    if (body === null) return { to: 'done' };
    const { method, path } = deliverEvent;
    const answered = await deps.call(name.computerId, { method, path, body, signal }).catch(async (thrown: unknown) => {
      // Cut off with its link, so this does not count as a failed attempt; the link says when to try again.
      if (await isLinked()) throw thrown;
      return null;
    });
    if (answered === null) return asleep;
    const { status, body: answer } = answered;
    if (status === 200) {
      return {
        to: 'done',
        commit: (tx) => (notice === null ? taken(tx, item.id, clock.now()) : told(tx, item.lane, notice)),
      };
    }
    const reason = reasonOf(status, answer);
    // 401: the clock is off; the next attempt gets a new signature.
    if (status >= 500 || [401, 408, 425, 429].includes(status)) return { to: 'retry', reason };
    // The reason is left out: it may quote the event.
    if (status !== 410) log.warn('A computer refused an event of a connector.', { ...name, status });
    return { to: 'dead', reason, commit: (tx) => lost(tx, item.id, 'dead', reason) };
  }

  function* onExpired(tx: SharedTx, item: LaneItem): Op<void> {
    const reason = 'It waited 24 hours for the computer.';
    yield* lost(tx, item.id, 'expired', reason);
    if (yield* registrations.expire(tx, nameIn(item.lane))) yield* lanes.append(tx, noticeOf(item.lane));
  }

  function* told(tx: SharedTx, lane: string, notice: Notice): Op<void> {
    if (yield* registrations.told(tx, nameIn(lane), notice)) yield* lanes.append(tx, noticeOf(lane));
  }

  return {
    take(to, posted) {
      const now = clock.now();
      const receipt = receiptOf(to, posted, now);
      const ends = posted.content.kind === 'terminated';
      return receipts.take({
        receipt,
        item: { lane: laneOf(to), body: posted.content, deadline: now + retentionMs, person: to.userId },
        // A server that missed the response to its ending sends the ending again.
        wanted: registrations.existing(to, ends ? 'ended' : undefined),
        known: (tx) => known(tx, receipt),
        also: ends ? (tx) => registrations.end(tx, to) : undefined,
      });
    },
    isFull: (name) => lanes.depth(laneOf(name)) >= maxWaiting,
    *drop(tx, name) {
      yield* lanes.clear(tx, laneOf(name));
      yield* dropWaiting(tx, name);
    },
    wake(computerId) {
      lanes.wake([...lanes.depths().keys()].filter((lane) => nameIn(lane).computerId === computerId));
    },
    forgetOld: (now) => receipts.forgetOld(now),
    start: () => lanes.start(),
    close: () => lanes.close(),
  };
}

/** Null: nothing is left to report. */
function deliveryOf(content: Relayed, subscriptionKey: string, notice: Notice | null): EventDelivery | null {
  if (content.kind === 'event') return { subscriptionKey, event: content.event, receivedAt: content.receivedAt };
  if (content.kind === 'gap') return { subscriptionKey, type: 'gap', cursor: content.cursor };
  if (content.kind === 'terminated') return { subscriptionKey, type: 'terminated', error: content.error };
  return notice === null ? null : { subscriptionKey, type: 'expired', count: notice.count, notice: notice.id };
}

/** Uses the computer's own words, if it sent any. */
function reasonOf(status: number, answer: unknown): string {
  if (status === 410) return 'The subscription has ended on the computer.';
  const said = answer as { error?: unknown; message?: unknown } | null;
  const words = [said?.error, said?.message].filter((word) => typeof word === 'string').join(': ');
  return words === '' ? `The computer answered ${status}.` : words.slice(0, maxReasonLength);
}
