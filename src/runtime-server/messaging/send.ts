/**
 * POST /send: answers a repeated key with the first Delivery, stores its promise before anything is typed, and waits (at most 10 s) for the result.
 * Owns acceptance; typing belongs to the deliverer. Must not know SQL or HTTP.
 */

import { AppError } from '../../contracts/common/errors.ts';
import type { Delivery, SendPlan, SendRequest, Thread } from '../../contracts/factory/delivery.ts';
import type { Lanes } from '../../kit/lane/lane.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Member } from '../agents/registry.ts';
import type { Actor } from '../base/actor.ts';
import type { Base } from '../base/base.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import type { ChannelOut } from '../phone/ports.ts';
import type { Deliverer } from './deliverer.ts';
import {
  type DeliveryRecord,
  firstWordsOf,
  isSettled,
  laneOf,
  type QueuedSend,
  queueLifeMs,
  shownDelivery,
} from './model.ts';
import { recordAccepted, recordMessage } from './records.ts';
import { cannotTake, createFindRoute, type Sender, type SendRoute, type SendRouteDeps } from './send-route.ts';
import { findByKey, insertDelivery, readDelivery } from './store/deliveries.ts';
import { insertMessage } from './store/threads.ts';

/** A send is answered within 10 s; the rest of that time is for storing it. Milliseconds. */
export const answerWithinMs = 9700;

export interface SendService {
  send(request: SendRequest, sender: Sender, headerKey: string | undefined): Promise<Delivery | SendPlan>;
}

/** Work for bots of vendors. */
interface Tickets {
  open(
    tx: Tx,
    ticket: {
      id: string;
      botId: string;
      source: { kind: 'vendor'; ref: string };
      title: string;
      data: unknown;
      threadId: string | null;
      at: number;
    },
  ): void;
}

export function createSendService(
  deps: Pick<Base, 'store' | 'ledger' | 'clock' | 'timers' | 'ids'> & {
    readonly lanes: Lanes;
    readonly panes: Pick<PaneEngine, 'engine'>;
    readonly deliverer: Deliverer;
    readonly registry: { find(idOrAddress: string): Member | null; members(): readonly Member[] };
    readonly tickets: Tickets;
    readonly hasStep: SendRouteDeps['hasStep'];
    /** Takes over what leaves by the outside channel of a thread; absent where no thread has one. */
    readonly channelOut?: ChannelOut | undefined;
  },
): SendService {
  const { store, ledger, lanes, deliverer } = deps;
  const resolve = createFindRoute(deps);
  const outcome = createOutcome(deps);
  /** First sends under way by key: a duplicate waits for the first one's answer. */
  const running = new Map<string, Promise<Delivery>>();

  const accept = async (route: SendRoute, request: SendRequest, sender: Sender, key: string | null) => {
    const by: Actor = { actor: sender.caller, surface: sender.surface };
    const at = deps.clock.now();
    const id = deps.ids.next('delivery');
    const messageId = route.thread === null ? null : deps.ids.next('message');
    const accepted: DeliveryRecord = {
      id,
      agentId: route.member?.id ?? null,
      to: route.to,
      via: route.via,
      state: 'accepted',
      evidence: null,
      detail: null,
      ticket: route.via === 'vendor' ? deps.ids.next('ticket') : null,
      messageId,
      threadId: route.thread?.id ?? null,
      dagId: request.dagId ?? null,
      nodeId: request.nodeId ?? null,
      at,
      caller: sender.caller,
      surface: sender.surface,
      idempotencyKey: key,
      sender: sender.name,
      firstWords: firstWordsOf(request.text),
    };
    return store.write((tx): { record: DeliveryRecord; repeated: boolean } => {
      const first = key === null ? null : findByKey(tx, sender.caller, key);
      if (first !== null) return { record: first, repeated: true };
      sender.report?.take(tx);
      insertDelivery(tx, accepted);
      recordAccepted(tx, ledger, accepted, request.text, by);
      if (messageId !== null) writeMessage(tx, route, request, sender, accepted, by);
      if (route.member === null) return { record: sayInThread(tx, route, request, accepted), repeated: false };
      if (route.via === 'vendor') return { record: openTicket(tx, route, request, accepted, by), repeated: false };
      lanes.append(tx, {
        lane: laneOf(route.member.id),
        id,
        body: queuedSend(route.member, route.thread, request, sender, id),
        deadline: at + queueLifeMs,
      });
      if (route.waits === null) return { record: accepted, repeated: false };
      const queued = deliverer.move(tx, id, {
        state: 'queued',
        via: route.via,
        evidence: null,
        detail: route.waits,
      });
      return { record: queued ?? accepted, repeated: false };
    });
  };

  const writeMessage = (
    tx: Tx,
    route: SendRoute,
    request: SendRequest,
    sender: Sender,
    delivery: DeliveryRecord,
    by: Actor,
  ) => {
    if (delivery.messageId === null || delivery.threadId === null) return;
    const direction: 'in' | 'out' = route.member === null ? 'out' : 'in';
    const message = {
      id: delivery.messageId,
      threadId: delivery.threadId,
      from: sender.name,
      to: route.to,
      text: request.text,
      at: delivery.at,
      direction,
      deliveryId: delivery.id,
      agentId: route.member?.id ?? sender.agentId,
    };
    insertMessage(tx, message);
    recordMessage(tx, ledger, message, by);
  };

  /** Out by the thread's channel; a thread without one keeps the message: nobody outside could witness it. */
  const sayInThread = (
    tx: Tx,
    { thread }: SendRoute,
    request: SendRequest,
    accepted: DeliveryRecord,
  ): DeliveryRecord => {
    if (thread?.channel && deps.channelOut) {
      const { channel, botId } = thread;
      deps.channelOut.append(tx, { deliveryId: accepted.id, channel, botId, text: request.text });
      return readDelivery(tx, accepted.id) ?? accepted;
    }
    const kept = deliverer.move(tx, accepted.id, {
      state: 'best_effort',
      via: 'channel',
      evidence: null,
      detail: 'kept in the thread, which has no outside channel',
    });
    return kept ?? accepted;
  };

  /** A message to a vendor's bot is work for an app outside, whose presence is unknown here. */
  const openTicket = (tx: Tx, route: SendRoute, request: SendRequest, accepted: DeliveryRecord, by: Actor) => {
    const { member } = route;
    if (member !== null && accepted.ticket !== null) {
      deps.tickets.open(tx, {
        id: accepted.ticket,
        botId: member.id,
        source: { kind: 'vendor', ref: accepted.id },
        title: titleOf(request.text),
        data: { text: request.text, from: by.actor },
        threadId: accepted.threadId,
        at: accepted.at,
      });
      ledger.append(tx, {
        type: 'vendor.ticket.created',
        ...by,
        subject: `ticket:${accepted.ticket}`,
        body: { v: 1, ticketId: accepted.ticket, botId: member.id, threadId: accepted.threadId },
      });
    }
    const detail = 'it became a ticket; Gantry cannot see whether the vendor’s app works on it';
    return deliverer.move(tx, accepted.id, { state: 'best_effort', via: 'vendor', evidence: null, detail }) ?? accepted;
  };

  /** From acceptance to the answer the lane is tried at once, whatever it waited for before. */
  const acceptAndWait = async (route: SendRoute, request: SendRequest, sender: Sender, key: string | null) => {
    const end =
      route.waits === null && route.member !== null && route.via !== 'vendor'
        ? deliverer.accepted(route.member.id)
        : () => {};
    try {
      const { record, repeated } = await accept(route, request, sender, key);
      return { result: await outcome(record, request.queue !== false), repeated };
    } finally {
      end();
    }
  };

  const sendOnce = async (request: SendRequest, sender: Sender, key: string | null): Promise<Delivery> => {
    const known = key === null ? null : await store.read((tx) => findByKey(tx, sender.caller, key));
    if (known !== null) return shownDelivery(await outcome(known, request.queue !== false));
    const route = await resolve(request, sender);
    const { result, repeated } = await acceptAndWait(route, request, sender, key);
    if (!repeated && request.queue === false && route.member !== null && result.detail?.startsWith('refused: ')) {
      throw cannotTake(route.member, result.detail.slice('refused: '.length), deps.panes);
    }
    return shownDelivery(result);
  };

  return {
    async send(request, sender, headerKey) {
      if (request.dryRun === true) return plan(await resolve(request, sender), request);
      const key = request.idempotencyKey ?? checkedHeader(headerKey);
      if (key === null) return sendOnce(request, sender, null);
      const name = JSON.stringify([sender.caller, key]);
      const first = running.get(name);
      if (first !== undefined) return first;
      const sending = sendOnce(request, sender, key);
      running.set(name, sending);
      try {
        return await sending;
      } finally {
        running.delete(name);
      }
    },
  };
}

/** What a sender is answered: how far its message came by then. */
function createOutcome({
  store,
  timers,
  deliverer,
}: Pick<Base, 'store' | 'timers'> & { readonly deliverer: Deliverer }) {
  return outcome;

  /** Resolves once the delivery is queued or settled, or when the time for an answer has run out. */
  async function outcome(accepted: DeliveryRecord, mayQueue: boolean): Promise<DeliveryRecord> {
    if (accepted.state !== 'accepted') return accepted;
    let give = (_record: DeliveryRecord | null) => {};
    const moved = new Promise<DeliveryRecord | null>((resolveMoved) => {
      give = resolveMoved;
    });
    const off = deliverer.onMoved((record) => {
      if (record.id === accepted.id) give(record);
    });
    const cancel = timers.after(answerWithinMs, () => give(null));
    try {
      // The lane may have been faster than this listener.
      const now = await store.read((tx) => readDelivery(tx, accepted.id));
      if (now !== null && now.state !== 'accepted') return now;
      return (await moved) ?? (await timeIsOver(accepted, mayQueue));
    } finally {
      off();
      cancel();
    }
  }

  async function timeIsOver(accepted: DeliveryRecord, mayQueue: boolean): Promise<DeliveryRecord> {
    const typing = accepted.agentId !== null && deliverer.typing(accepted.agentId) === accepted.id;
    return store.write((tx) => {
      const now = readDelivery(tx, accepted.id) ?? accepted;
      if (isSettled(now.state) || now.state === 'queued') return now;
      if (now.via === 'hosted' || now.via === 'acp') {
        const detail =
          now.via === 'acp' ? 'the agent has not started to answer yet' : 'its model has not started to answer yet';
        return deliverer.move(tx, accepted.id, { state: 'queued', via: now.via, evidence: null, detail }) ?? now;
      }
      // Another computer's silence says nothing about typing. The same key asks it again, so what may wait is queued.
      if (now.via === 'peer')
        return deliverer.move(tx, accepted.id, { ...unanswered(mayQueue), evidence: null }) ?? now;
      const change = typing
        ? {
            state: 'unconfirmed' as const,
            via: now.via,
            detail: 'it was typed, but nothing confirmed in time that it arrived',
          }
        : { state: 'queued' as const, via: 'pane_queue' as const, detail: 'other messages are typed first' };
      return deliverer.move(tx, accepted.id, { ...change, evidence: null }) ?? now;
    });
  }
}

/** A message to another computer that has not answered in time: it may have arrived. */
function unanswered(mayQueue: boolean): Pick<DeliveryRecord, 'state' | 'via' | 'detail'> {
  return mayQueue
    ? {
        state: 'queued',
        via: 'peer',
        detail: 'its computer has not answered yet; Gantry asks again, and it arrives once',
      }
    : {
        state: 'unconfirmed',
        via: 'peer',
        detail: 'its computer has not answered: whether it arrived there is unknown',
      };
}

/** The first line of a text, as a title. */
function titleOf(text: string): string {
  const line = text.trim().split('\n', 1)[0] ?? '';
  return line.length > 200 ? `${line.slice(0, 199)}…` : line || 'A message';
}

function checkedHeader(key: string | undefined): string | null {
  if (key === undefined) return null;
  if (/^[\x21-\x7e]{1,255}$/.test(key)) return key;
  throw new AppError(
    'usage',
    'The Idempotency-Key header is not 1 to 255 visible ASCII characters.',
    'Send a ULID or UUID.',
  );
}

function queuedSend(
  member: Member,
  thread: Thread | null,
  request: SendRequest,
  sender: Sender,
  deliveryId: string,
): QueuedSend {
  return {
    deliveryId,
    agentId: member.id,
    senderLine: `From ${sender.name}`,
    text: request.text,
    replyLine:
      thread === null || !member.placement.answersByVerb
        ? null
        : `Reply with: gantry orchestration reply ${thread.id} "your text"`,
    raw: request.raw === true,
    mayQueue: request.queue !== false,
  };
}

function plan(route: SendRoute, request: SendRequest): SendPlan {
  const message = route.thread === null ? [] : ['message.recorded'];
  const body: SendPlan['plan'] = {
    to: route.to,
    via: route.via,
    threadId: route.thread?.id ?? null,
    records: ['delivery.accepted', ...message, 'delivery'],
  };
  if (route.via === 'vendor') {
    const records = ['delivery.accepted', ...message, 'vendor.ticket.created', 'delivery'];
    return { dryRun: true, plan: { ...body, records } };
  }
  const mayQueue = route.member !== null && request.queue !== false;
  return { dryRun: true, plan: mayQueue ? { ...body, ifQueued: ['delivery'] } : body };
}
