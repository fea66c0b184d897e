/**
 * Deliveries to apps: one lane for each subscription, in order. A message is retried on a fixed schedule and then dropped; the subscription stays.
 * Each attempt first checks again that the app may still receive events. Control messages say that something was lost (`gap`) or that a subscription
 * has ended (`terminated`). Must not know where events come from.
 */
import { type ControlMessage, type DeliveredEvent, eventCodes } from '../../contracts/tool-server/mcp-events.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../kit/clock/timers.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import { createBackoff } from '../../kit/lane/backoff.ts';
import type { LaneItem, SharedLaneOutcome, SharedLanes } from '../../kit/lane/lane.ts';
import { createSharedLanes } from '../../kit/lane/shared-lanes.ts';
import type { Op, SharedStore, SharedTx } from '../../kit/store/shared-store.ts';
import type { TraceContext } from '../../kit/telemetry/telemetry.ts';
import { faultOfStatus, type Poster, type PostFault } from './post.ts';
import { isLive, type SubscriptionRow, type Subscriptions } from './subscriptions.ts';
import type { MayStill } from './visit.ts';

type EndReason = 'ended_by_owner' | 'access_revoked';

type Owed = Pick<SubscriptionRow, 'id' | 'epoch' | 'user_id' | 'gap'>;

export interface Deliveries {
  /** Queues an event in the transaction that claims it. If the queue is full, the event is lost and the app gets a `gap`. */
  queue(tx: SharedTx, row: Owed, event: DeliveredEvent): Op<void>;
  /** Ends a subscription: its app hears of that and gets nothing else. */
  end(tx: SharedTx, id: string, reason: EndReason): Op<void>;
  /** Checks the queue again at once and drops what is no longer owed. */
  wake(id: string): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** An event unchanged, or a control message with an id of its own. */
type Outgoing = { readonly epoch: string } & (
  | { readonly event: DeliveredEvent }
  | { readonly messageId: string; readonly control: ControlMessage }
);

/** `refused`: the address rejected this message. */
type Outcome = 'delivered' | 'refused' | 'lost';

const minute = 60_000;
const waits = [1000, 10_000, minute, 5 * minute, 15 * minute];
const maxAttempts = waits.length + 1;
/** Limits what queues up behind a failing address, so that it fills no disk and delivers nothing outdated. */
const maxWaiting = 1000;
const retentionMs = 24 * 60 * minute;
/** At shutdown, an address that is answering gets this long: cut off, the message would be sent again after the next start or by another replica. */
const lastMs = 1000;
/** An address that hangs holds each place for ten seconds. */
const parallel = 64;
/** Responses that reject this message: it is not sent again, whatever the subscription. */
const finalStatuses: ReadonlySet<number> = new Set([410, 413]);
const passing: ReadonlySet<number> = new Set([408, 425, 429]);

export function createDeliveries(deps: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
  readonly subscriptions: Subscriptions;
  readonly poster: Poster;
  readonly mayStill: MayStill;
  readonly random?: () => number;
  /** An event is sent as a part of the span that caused it. */
  readonly trace?: TraceContext | undefined;
  /** Shows what waits. */
  readonly watch?: (lanes: SharedLanes) => SharedLanes;
}): Deliveries {
  const { store, clock, timers, ids, log, subscriptions, poster, mayStill } = deps;
  const backoff = createBackoff(waits, deps.random);
  const { trace, watch = (same) => same } = deps;
  const lanes = watch(
    createSharedLanes({
      store,
      clock,
      timers,
      name: 'edge',
      parallel,
      trace,
      send,
      onExpired: (tx, item) => lose(tx, item),
      onFault: (fault) => log.warn('Events could not be sent to apps.', { fault: String(fault) }),
    }),
  );

  async function send(item: LaneItem, signal: AbortSignal): Promise<SharedLaneOutcome> {
    const outgoing = item.body as Outgoing;
    const row = await subscriptions.get(item.lane);
    if (row === null || row.epoch !== outgoing.epoch) return { to: 'dead', reason: 'the subscription is gone' };
    const ending = isEnding(outgoing);
    if (!ending && !isLive(row, clock.now())) {
      return { to: 'dead', reason: 'the subscription has ended' };
    }
    if (!ending && !(await isAllowed(row))) {
      return { to: 'dead', reason: 'access was lost', commit: (tx) => end(tx, row.id, 'access_revoked') };
    }
    const cut = soonAfter(signal);
    const posted = await poster.post({
      url: row.url,
      subscriptionId: row.id,
      messageId: 'event' in outgoing ? outgoing.event.eventId : outgoing.messageId,
      keys: subscriptions.keysOf(row),
      body: 'event' in outgoing ? outgoing.event : outgoing.control,
      signal: cut.signal,
    });
    cut.forget();
    if (posted.answered && posted.status >= 200 && posted.status < 300) {
      return { to: 'done', commit: (tx) => deliver(tx, row, outgoing) };
    }
    // Cut off by our shutdown: delivery continues after the next start.
    if (signal.aborted && !posted.answered) return { to: 'retry', reason: 'cut off', at: clock.now() };
    const fault = posted.answered ? faultOfStatus(posted.status) : posted.fault;
    const isFinal = posted.answered && isFinalAnswer(posted.status, outgoing);
    const failures = row.failures + 1;
    if (!isFinal && failures < maxAttempts) {
      await store.write((tx) => subscriptions.failed(tx, row, fault), { isolation: 'statement' });
      return { to: 'retry', reason: fault, at: clock.now() + backoff.after(failures) };
    }
    return { to: 'dead', reason: fault, commit: (tx) => giveUp(tx, row, outgoing, fault, isFinal) };
  }

  async function isAllowed({ user_id: userId, client_id: clientId, server }: SubscriptionRow): Promise<boolean> {
    return await mayStill({ userId, clientId, scope: server === 'agents' ? 'agents:read' : 'bots:act' });
  }

  function* settle(tx: SharedTx, row: SubscriptionRow, outgoing: Outgoing, how: Outcome): Op<void> {
    if (isEnding(outgoing)) yield* subscriptions.remove(tx, row);
    else if ('control' in outgoing) yield* subscriptions.toldOfLoss(tx, row, how === 'lost' ? 'owed' : 'none');
    else if (how === 'delivered') yield* subscriptions.delivered(tx, row);
  }

  function* deliver(tx: SharedTx, row: SubscriptionRow, outgoing: Outgoing): Op<void> {
    yield* settle(tx, row, outgoing, 'delivered');
    if (row.failures > 0) yield* subscriptions.nextIsFirst(tx, row);
  }

  function* giveUp(
    tx: SharedTx,
    row: SubscriptionRow,
    outgoing: Outgoing,
    fault: PostFault,
    isFinal: boolean,
  ): Op<void> {
    yield* settle(tx, row, outgoing, isFinal ? 'refused' : 'lost');
    yield* subscriptions.failed(tx, row, fault);
    yield* subscriptions.nextIsFirst(tx, row);
    if (!('event' in outgoing)) return;
    yield* subscriptions.givenUp(tx, row);
    // A message that the address rejected is not a loss to it.
    if (!isFinal) yield* tellOfLoss(tx, row, outgoing.event.eventId);
  }

  function* lose(tx: SharedTx, item: LaneItem): Op<void> {
    const outgoing = item.body as Outgoing;
    const row = yield* subscriptions.find(tx, item.lane);
    if (row === null || row.epoch !== outgoing.epoch) return;
    yield* settle(tx, row, outgoing, 'lost');
    if (row.failures > 0) yield* subscriptions.nextIsFirst(tx, row);
    if (!('event' in outgoing)) return;
    yield* subscriptions.givenUp(tx, row);
    yield* tellOfLoss(tx, row, outgoing.event.eventId);
  }

  /** One `gap` at a time: losses before the app has received it are covered by the same one. */
  function* tellOfLoss(tx: SharedTx, row: Owed, cursor: string): Op<void> {
    if (yield* subscriptions.lost(tx, row)) yield* append(tx, row, { type: 'gap', cursor });
  }

  function* append(tx: SharedTx, row: Owed, control: ControlMessage): Op<void> {
    const messageId = ids.next(`msg_${control.type}`);
    const body: Outgoing = { epoch: row.epoch, messageId, control };
    const deadline = clock.now() + retentionMs;
    yield* lanes.append(tx, { lane: row.id, id: messageId, body, deadline, person: row.user_id });
  }

  function* end(tx: SharedTx, id: string, reason: EndReason): Op<void> {
    const row = yield* subscriptions.find(tx, id);
    if (row === null || row.ended_at !== null) return;
    if (!isLive(row, clock.now())) {
      // Its app has let it expire, and does not know it any more.
      yield* subscriptions.remove(tx, row);
      return;
    }
    yield* subscriptions.end(tx, row);
    const error = { code: eventCodes.forbidden, message: 'Forbidden', data: { reason } };
    yield* append(tx, row, { type: 'terminated', reason, error });
    tx.afterCommit(() => lanes.wake(id));
  }

  return {
    *queue(tx, row, event) {
      if (lanes.depth(row.id) >= maxWaiting) {
        yield* subscriptions.givenUp(tx, row);
        yield* tellOfLoss(tx, row, event.eventId);
        return;
      }
      if (row.gap === 'owed') yield* tellOfLoss(tx, row, event.eventId);
      const body: Outgoing = { epoch: row.epoch, event };
      const deadline = clock.now() + retentionMs;
      const id = `${row.epoch}:${event.eventId}`;
      yield* lanes.append(tx, { lane: row.id, id, body, deadline, person: row.user_id });
    },
    end,
    wake: (id) => lanes.wake(id),
    start: () => lanes.start(),
    close: () => lanes.close(),
  };
}

/** Aborts a little after `signal`. Uses real time, like every wait on the network. */
function soonAfter(signal: AbortSignal): { readonly signal: AbortSignal; forget(): void } {
  const cut = new AbortController();
  let cancel = () => {};
  const begin = () => {
    cancel = systemTimers.after(lastMs, () => cut.abort());
  };
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true });
  return {
    signal: cut.signal,
    forget() {
      signal.removeEventListener('abort', begin);
      cancel();
    },
  };
}

function isEnding(outgoing: Outgoing): boolean {
  return 'control' in outgoing && outgoing.control.type === 'terminated';
}

/** An app that does not know `gap` rejects it; that must not hold up what follows. */
function isFinalAnswer(status: number, outgoing: Outgoing): boolean {
  if (finalStatuses.has(status)) return true;
  const isGap = 'control' in outgoing && outgoing.control.type === 'gap';
  return isGap && status < 500 && !passing.has(status);
}
