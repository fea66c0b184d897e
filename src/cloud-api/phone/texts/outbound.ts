/**
 * Outbound texts: one lane for each pair of numbers, each text sent once. The transaction just before sending decides whether it may leave, so STOP
 * wins over queued texts. An unanswered text is looked up at the carrier before it is tried again (paid-steps.ts). Must not know who asked, or
 * routes.
 */
import type { Clock } from '../../../kit/clock/clock.ts';
import type { Ids } from '../../../kit/ids/ids.ts';
import type { LaneItem, SharedLaneOutcome, SharedLanes } from '../../../kit/lane/lane.ts';
import type { Asked, Op, SharedReader, SharedStore, SharedTx } from '../../../kit/store/shared-store.ts';
import type { PaidSteps } from '../carrier/paid-steps.ts';
import { CarrierFault, type CarrierTexts, isUnreached } from '../carrier/port.ts';
import type { OpenPhoneLanes, TextLimits } from '../part.ts';
import type { HeldNumber, Numbers } from '../ports.ts';
import { deliveryReason, isRate } from './delivery-errors.ts';
import { isExempt, type ServiceKind, type TextRow, type TextStatus } from './model.ts';
import type { OptOutLog } from './opt-outs.ts';
import { partsOf } from './parts.ts';
import { addText, findText, moveText, noteOnText, nthLeftSince } from './store.ts';

export interface OutboundDeps {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly texts: Pick<CarrierTexts, 'send' | 'findSent'>;
  readonly steps: Pick<PaidSteps, 'run'>;
  readonly numbers: Pick<Numbers, 'read'>;
  readonly optOuts: Pick<OptOutLog, 'isOptedOut'>;
  readonly limits: (tx: SharedReader, number: HeldNumber) => Asked<TextLimits>;
  /** The carrier's own opt-out list has them. */
  readonly blocked: (tx: SharedTx, row: TextRow, said: string, at: number) => Op<unknown>;
  readonly openLanes: OpenPhoneLanes;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}

interface NewText {
  readonly to: string;
  readonly text: string;
  readonly by: 'person' | 'bot' | 'service';
  readonly kind?: ServiceKind;
  readonly computerId?: string | null;
}

export interface Outbound {
  /** In the transaction of its cause; it is sent once that is durable. Returns its id. */
  queue(tx: SharedTx, number: HeldNumber, text: NewText): Op<string>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Called whenever a text was sent or will not be. */
export const textsTopic = 'phone-texts';

/** Carriers drop a text that waited longer, and nobody expects an answer any more. */
const retentionMs = 4 * 60 * 60_000;
/** Only a prompt confirmation of a STOP is allowed; a late one is one text too many. */
const answerRetentionMs = 5 * 60_000;
const minuteMs = 60_000;
const backoffMs = [5_000, 20_000, 60_000, 300_000];
const rateMs = 10_000;
/** How long to wait for receipts, which name the text, while the carrier's records lag behind. */
const silenceMs = 2 * 60_000;
/** While the carrier's records cannot be read, other texts to the same person wait this long behind it. */
const unreadableMs = 10 * 60_000;
const nobodyKnows = 'The carrier did not answer, so it may or may not have been sent. It is not sent again.';
const parallel = 32;

/** It is not sent, and `status` has the outcome; null: it was settled before. */
class Withheld extends CarrierFault {
  readonly status: TextStatus | null;
  constructor(status: TextStatus | null, reason: string) {
    super('gone', reason);
    this.status = status;
  }
}

/** It is sent later. */
class Slowed extends CarrierFault {
  readonly forMs: number;
  constructor(forMs: number, reason: string) {
    super('service', reason);
    this.forMs = forMs;
  }
}

/** Unreadable records say nothing about what was sent. */
function cannotTell(thrown: unknown, forGood: boolean): never {
  if (!(thrown instanceof CarrierFault)) throw thrown;
  if (forGood) throw new Withheld('unconfirmed', nobodyKnows);
  const { message, code, retryAfter } = thrown;
  throw new CarrierFault('unknown', message, { code, retryAfter, cause: thrown });
}

export function createOutbound(deps: OutboundDeps): Outbound {
  const { store, clock, steps } = deps;
  const tell = () => store.wake.signal(textsTopic);
  const { findSent, leave } = createSending(deps, tell);
  const lanes: SharedLanes = deps.openLanes({ name: 'texts', send, onExpired, backoffMs, parallel });

  async function send(item: LaneItem): Promise<SharedLaneOutcome> {
    const { id } = item;
    const row = await store.read((tx) => findText(tx, id));
    if (row === null || (row.status !== 'queued' && row.status !== 'sending')) return { to: 'done' };
    try {
      const sent = await steps.run(`text:${id}`, { find: () => findSent(id), act: () => leave(id) });
      const changes = { carrierKey: `out:${sent.carrierId}`, parts: sent.parts, reason: null };
      return { to: 'done', commit: (tx) => settled(tx, id, 'sent', changes) };
    } catch (fault) {
      if (!(fault instanceof CarrierFault)) throw fault;
      return outcomeOf(row, fault);
    }
  }

  async function outcomeOf(row: TextRow, fault: CarrierFault): Promise<SharedLaneOutcome> {
    const { id } = row;
    if (fault instanceof Withheld) {
      const { status, message: reason } = fault;
      return status === null ? { to: 'done' } : { to: 'done', commit: (tx) => settled(tx, id, status, { reason }) };
    }
    if (fault instanceof Slowed) return { to: 'hold', reason: fault.message, forMs: fault.forMs };
    const reason = deliveryReason(fault.code, fault.message);
    if (fault.kind === 'unknown') {
      const at = fault.retryAfter === null ? undefined : clock.now() + fault.retryAfter * 1000;
      return { to: 'retry', reason, ...(at === undefined ? {} : { at }) };
    }
    const isAway = isUnreached(fault);
    if (fault.kind === 'service' && (fault.retryAfter !== null || isRate(fault.code) || isAway)) {
      // Nothing was sent: it waits like any other, and STOP ends it.
      await store.write((tx) => putBack(tx, id, `Delayed: ${reason}`));
      const forMs = fault.retryAfter === null ? rateMs : fault.retryAfter * 1000;
      return isAway ? { to: 'retry', reason } : { to: 'hold', reason, forMs };
    }
    deps.log.warn('The carrier refused a text.', { id, kind: fault.kind, code: fault.code });
    return {
      to: 'done',
      *commit(tx) {
        yield* settled(tx, id, 'failed', { reason, code: fault.code });
        if (fault.kind === 'opted_out') yield* deps.blocked(tx, row, fault.message, clock.now());
      },
    };
  }

  function* putBack(tx: SharedTx, id: string, reason: string): Op<void> {
    // Somebody may have said STOP while the carrier refused it.
    const row = yield* findText(tx, id);
    if (row === null || row.status !== 'sending') return;
    const out = !isExempt(row) && (yield* deps.optOuts.isOptedOut(tx, row.numberId, row.peer));
    yield* out
      ? moveText(tx, id, 'cancelled', { reason: 'They said STOP before it was sent.' })
      : moveText(tx, id, 'queued', { reason });
    tx.afterCommit(tell);
  }

  function* settled(tx: SharedTx, id: string, to: TextStatus, changes: Parameters<typeof moveText>[3]): Op<void> {
    // A receipt was faster, and knows more: keep its status, and add what it lacked.
    const moved = yield* moveText(tx, id, to, changes);
    if (!moved && to === 'sent') yield* noteOnText(tx, id, { carrierKey: changes?.carrierKey, parts: changes?.parts });
    tx.afterCommit(tell);
  }

  function* onExpired(tx: SharedTx, { id }: LaneItem): Op<void> {
    const row = yield* findText(tx, id);
    if (row === null) return;
    const isOpen = row.status === 'sending';
    const reason = isOpen
      ? nobodyKnows
      : `It could not be sent in time: ${row.reason ?? 'the carrier could not be reached.'}`;
    if (isOpen || row.status === 'queued') yield* settled(tx, id, isOpen ? 'unconfirmed' : 'failed', { reason });
  }

  return {
    *queue(tx, number, { to, text, by, kind = null, computerId = null }) {
      const id = deps.ids.next('text');
      const now = clock.now();
      const about = { id, numberId: number.id, userId: number.userId, ours: number.e164, peer: to };
      const state = { status: 'queued', reason: null, code: null, by, kind, unclear: 0, carrierKey: null } as const;
      const bot = { botId: number.botId, botName: number.botName, computerId };
      const sizes = { text, media: '[]', parts: partsOf(text), at: now, saidAt: now };
      yield* addText(tx, { ...about, ...state, ...bot, ...sizes, direction: 'out' });
      const deadline = now + (by === 'service' && kind !== 'approval' ? answerRetentionMs : retentionMs);
      yield* lanes.append(tx, { lane: `${number.id}/${to}`, id, body: null, deadline, person: number.userId });
      return id;
    },
    start: () => lanes.start(),
    close: () => lanes.close(),
  };
}

/** How a text leaves: whether it may now, and whether it did. */
function createSending(deps: OutboundDeps, tell: () => void) {
  const { store, clock, texts } = deps;
  return { findSent, leave };

  /** The result of a text that was begun. A receipt may have arrived already. */
  async function findSent(id: string): Promise<{ readonly carrierId: string; readonly parts: number } | null> {
    const row = await store.read((tx) => findText(tx, id));
    if (row === null) throw new Withheld(null, 'The text is gone.');
    if (row.carrierKey !== null) return { carrierId: row.carrierKey.slice('out:'.length), parts: row.parts };
    // It was never begun.
    if (row.leftAt === null) return null;
    const asked = { from: row.ours, to: row.peer, tag: id, since: row.leftAt };
    const since = clock.now() - row.leftAt;
    const found = await texts.findSent(asked).catch((thrown: unknown) => cannotTell(thrown, since >= unreadableMs));
    const left = silenceMs - since;
    if (found !== null || left <= 0 || left > silenceMs) return found;
    throw new CarrierFault('unknown', 'The carrier did not answer, and may still report that it was sent.', {
      retryAfter: Math.ceil(left / 1000),
    });
  }

  async function leave(id: string): Promise<{ readonly carrierId: string; readonly parts: number }> {
    const may = await store.write((tx) => mayLeave(tx, id));
    if (may instanceof CarrierFault) throw may;
    const { row, profileId } = may;
    const { carrierId, parts } = await texts.send({ from: row.ours, to: row.peer, text: row.text, profileId, tag: id });
    return { carrierId, parts };
  }

  function* mayLeave(
    tx: SharedTx,
    id: string,
  ): Op<{ readonly row: TextRow; readonly profileId: string } | Withheld | Slowed> {
    const row = yield* findText(tx, id);
    if (row === null || (row.status !== 'queued' && row.status !== 'sending'))
      return new Withheld(null, 'It has ended.');
    const number = yield* deps.numbers.read(tx, row.numberId);
    if (number === null) return new Withheld('cancelled', 'The number was released before it was sent.');
    if (number.smsState !== 'active')
      return new Withheld('failed', `The number cannot text now: it is ${number.smsState}.`);
    if (number.profileId === null) return new Withheld('failed', 'The number is not set up for texts at the carrier.');
    if (!isExempt(row) && (yield* deps.optOuts.isOptedOut(tx, row.numberId, row.peer))) {
      return new Withheld('cancelled', 'They said STOP before it was sent.');
    }
    const now = clock.now();
    const { perMinute } = yield* deps.limits(tx, number);
    const full = perMinute === null ? null : yield* nthLeftSince(tx, row.numberId, now - minuteMs, perMinute);
    // A text tried again within the minute is among them.
    if (full !== null && (row.leftAt === null || row.leftAt <= now - minuteMs)) {
      const reason = `Delayed: this number may send ${perMinute} texts a minute.`;
      yield* noteOnText(tx, id, { reason });
      tx.afterCommit(tell);
      return new Slowed(Math.max(1, full + minuteMs - now), reason);
    }
    if (row.status === 'sending') yield* noteOnText(tx, id, { leftAt: now });
    else yield* moveText(tx, id, 'sending', { leftAt: now, reason: null });
    return { row: { ...row, leftAt: now }, profileId: number.profileId };
  }
}
