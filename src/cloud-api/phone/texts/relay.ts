/**
 * Delivers texts to the computer of their bot: one lane for each computer and conversation, signed for its device, retried for 24 hours. A text
 * belongs to the bot that had the number when it came, even if the number moves in the meantime. Owns the meaning of each response of a computer;
 * must not know keywords.
 */
import { deliverText, type Media, type RelayedText } from '../../../contracts/phone/texts.ts';
import { type Clock, iso } from '../../../kit/clock/clock.ts';
import type { LaneItem, SharedLaneOutcome, SharedLanes } from '../../../kit/lane/lane.ts';
import type { Op, SharedStore, SharedTx } from '../../../kit/store/shared-store.ts';
import type { EventBackbone } from '../../events/backbone.ts';
import type { DirectMessage } from '../../notifications/direct.ts';
import type { CallComputer, OpenPhoneLanes } from '../part.ts';
import type { TextRow } from './model.ts';
import { findText, noteOnText, relayed } from './store.ts';

export interface RelayDeps {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly call: CallComputer;
  readonly isLinked: (computerId: string) => boolean | Promise<boolean>;
  readonly openLanes: OpenPhoneLanes;
  readonly events: Pick<EventBackbone, 'emit'>;
  /** In the transaction that records the delivery, so that it is announced once. */
  readonly pushDirectly: (tx: SharedTx, message: DirectMessage) => Op<unknown>;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}

export interface Relay {
  /** In the transaction that stores it. */
  append(
    tx: SharedTx,
    row: Pick<TextRow, 'id' | 'numberId' | 'userId' | 'peer'> & { readonly computerId: string },
  ): Op<void>;
  /** The computer answers again. */
  wake(computerId: string): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

const backoffMs = [5_000, 15_000, 30_000, 60_000, 120_000, 300_000];
const retentionMs = 24 * 60 * 60_000;
const dayMs = 24 * 60 * 60_000;
/** The lane of an absent computer sleeps until the link wakes it; it checks this often in case it missed that. */
const asleep: SharedLaneOutcome = { to: 'hold', reason: 'the computer is not linked', forMs: 5 * 60_000 };
const parallel = 64;
/** As much as an event may contain (contracts/events/registry.ts). */
const maxToldLength = 20_000;

const computerIn = (lane: string) => lane.slice(0, lane.indexOf('/'));

export function createRelay(deps: RelayDeps): Relay {
  const { store, clock } = deps;
  const lanes: SharedLanes = deps.openLanes({ name: 'relay', send, onExpired, backoffMs, parallel });

  async function send(item: LaneItem, signal: AbortSignal): Promise<SharedLaneOutcome> {
    const computerId = computerIn(item.lane);
    if (!(await deps.isLinked(computerId))) return asleep;
    const row = await store.read((tx) => findText(tx, item.id));
    if (row === null) return { to: 'done' };
    const { method, path } = deliverText;
    const body = deliveryOf(row, item.attempt);
    const answered = await deps.call(computerId, { method, path, body, signal }).catch(async (thrown: unknown) => {
      // Cut off with its link, so this does not count as a failed attempt; the link says when to try again.
      if (await deps.isLinked(computerId)) throw thrown;
      return null;
    });
    if (answered === null) return asleep;
    const { status } = answered;
    if (status === 200) return { to: 'done', commit: (tx) => brought(tx, row, computerId) };
    // 401: the clock is off; the next attempt gets a new signature.
    if (status >= 500 || [401, 408, 425, 429].includes(status)) {
      return { to: 'retry', reason: `the computer answered ${status}` };
    }
    // The reason is left out: it may quote the text.
    if (status !== 410) deps.log.warn('A computer refused a text.', { id: row.id, computer: computerId, status });
    const reason = status === 410 ? 'The bot is gone from its computer.' : `The computer refused it (${status}).`;
    return { to: 'dead', reason, commit: (tx) => lost(tx, row, reason) };
  }

  function* brought(tx: SharedTx, row: TextRow, computerId: string): Op<void> {
    yield* relayed(tx, row.id, clock.now());
    const { userId, botId, botName } = row;
    const bot = { ...(botId === null ? {} : { botId }), ...(botName === null ? {} : { botName }) };
    const said = { messageId: row.id, provider: 'sms', from: row.peer, text: row.text.slice(0, maxToldLength) };
    yield* deps.pushDirectly(tx, { userId, computerId, message: { ...bot, ...said } });
  }

  function* onExpired(tx: SharedTx, { id }: LaneItem): Op<void> {
    const row = yield* findText(tx, id);
    if (row !== null) yield* lost(tx, row, 'It waited 24 hours for the computer of its bot.');
  }

  /** Notifies its person once a day for each conversation; the text itself is in the list. */
  function* lost(tx: SharedTx, row: TextRow, reason: string): Op<void> {
    yield* noteOnText(tx, row.id, { reason });
    const now = clock.now();
    const bot = {
      ...(row.botId === null ? {} : { botId: row.botId }),
      ...(row.botName === null ? {} : { botName: row.botName }),
    };
    yield* deps.events.emit(tx, {
      userId: row.userId,
      type: 'thread.needs_user',
      sourceId: `text-lost:${row.numberId}:${row.peer}:${Math.floor(now / dayMs)}`,
      occurredAt: now,
      data: { ...bot, reason: `A text from ${row.peer} did not reach its bot. ${reason}` },
    });
  }

  return {
    *append(tx, { id, numberId, userId, peer, computerId }) {
      const deadline = clock.now() + retentionMs;
      yield* lanes.append(tx, { lane: `${computerId}/${numberId}/${peer}`, id, body: null, deadline, person: userId });
    },
    wake(computerId) {
      lanes.wake([...lanes.depths().keys()].filter((lane) => computerIn(lane) === computerId));
    },
    start: () => lanes.start(),
    close: () => lanes.close(),
  };
}

function deliveryOf(row: TextRow, attempt: number): RelayedText {
  return {
    provider: 'sms',
    messageId: row.id,
    numberId: row.numberId,
    botId: row.botId ?? '',
    from: row.peer,
    to: row.ours,
    text: row.text,
    media: JSON.parse(row.media) as Media[],
    ...(row.unclear === 1 ? { flag: 'may_mean_stop' as const } : {}),
    receivedAt: iso(row.at),
    attempt,
  };
}
