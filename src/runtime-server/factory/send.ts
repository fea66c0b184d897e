/**
 * POST /send: resolves the recipient, answers a repeated key with the first Delivery, writes down what it promised before
 * anything is typed, and waits (at most 10 s) until it can say what became of it (interface.md C "Rules for send";
 * factory.md 2.4; gaps.md "Send"). Owns acceptance; typing belongs to the deliverer. Must not know SQL or HTTP.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Delivery, DeliveryVia, SendPlan, SendRequest, Thread } from '../../contracts/factory/delivery.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Lanes } from '../../kit/lane/lane.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import type { Store, Tx } from '../../kit/store/store.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import type { Deliverer } from './deliverer.ts';
import {
  type DeliveryRecord,
  isSettled,
  laneOf,
  type QueuedSend,
  queueLifeMs,
  queueLimit,
  toDelivery,
} from './model.ts';
import { type Actor, recordAccepted, recordMessage } from './records.ts';
import type { Member } from './registry.ts';
import { findByKey, insertDelivery, readDelivery } from './store/deliveries.ts';
import { insertMessage, readThread, threadConcerns } from './store/threads.ts';

/** An answer comes within 10 s (gaps.md, Send); the rest is for writing it down. Milliseconds. */
const answerWithinMs = 9700;

export interface Sender {
  /** User id, or agent id of a bot: whose idempotency keys these are. */
  readonly caller: string;
  readonly surface: string;
  /** How the recipient reads who it is: `owner`, `web@dev`. */
  readonly name: string;
  /** The bot that sends, or null. */
  readonly agentId: string | null;
  readonly inPerson: boolean;
}

export interface SendService {
  send(request: SendRequest, sender: Sender, headerKey: string | undefined): Promise<Delivery | SendPlan>;
}

export interface SendDeps {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly lanes: Lanes;
  readonly panes: Pick<PaneEngine, 'engine'>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly deliverer: Deliverer;
  readonly registry: { find(idOrAddress: string): Member | null; members(): readonly Member[] };
}

/** Where a send goes, after everything that can be refused was refused. */
interface Route {
  readonly to: string;
  readonly via: DeliveryVia;
  readonly member: Member | null;
  readonly thread: Thread | null;
  /** Why it has to wait; null when it is tried at once. */
  readonly waits: string | null;
}

export function createSendService(deps: SendDeps): SendService {
  const { store, ledger, lanes, deliverer } = deps;
  /** First sends under way by key: a duplicate waits for the first one's answer. */
  const running = new Map<string, Promise<Delivery>>();

  const resolve = async (request: SendRequest, sender: Sender): Promise<Route> => {
    const channel = /^channel:(.+)$/.exec(request.to)?.[1];
    const threadId = channel ?? request.threadId;
    const thread = threadId === undefined ? null : await findThread(threadId, sender);
    if (request.raw === true && !sender.inPerson) {
      throw new AppError('refused', 'raw was asked for by somebody else than the owner.', 'Send it without raw.');
    }
    if (channel !== undefined) {
      if (request.threadId !== undefined && request.threadId !== channel) {
        throw new AppError(
          'usage',
          `to names thread ${channel} and threadId names ${request.threadId}.`,
          'Leave threadId out.',
        );
      }
      return { to: request.to, via: 'channel', member: null, thread, waits: null };
    }
    const member = deps.registry.find(request.to);
    if (member === null) throw unknownRecipient(request.to, deps.registry.members());
    refuseUnbuilt(member, request);
    return { to: member.address, thread, member, ...place(member, request) };
  };

  const findThread = async (id: string, sender: Sender): Promise<Thread> => {
    const thread = await store.read((tx) => {
      const found = readThread(tx, id);
      return found !== null && sender.agentId !== null && !threadConcerns(tx, id, sender.agentId) ? null : found;
    });
    if (thread === null) {
      throw new AppError('not_found', `No thread has the id ${id}.`, 'List them with `gantry orchestration threads`.');
    }
    return thread;
  };

  /** The gate: at once, later, or not at all. */
  const place = (member: Member, request: SendRequest): { via: DeliveryVia; waits: string | null } => {
    const depth = lanes.depth(laneOf(member.id));
    if (depth >= queueLimit) {
      throw new AppError(
        'refused',
        `${depth} sends wait for ${member.address}; no more are taken.`,
        'Look what holds it (`gantry agents show`), or try again later.',
        { status: 409 },
      );
    }
    const obstacle = deliverer.obstacle(member.id);
    // Sends that are being typed settle in moments: one that comes meanwhile takes its turn instead of being put off.
    const behind = depth > 0 && deliverer.typing(member.id) === null ? `${depth} wait before it` : null;
    const why = obstacle ?? behind;
    if (request.queue === true) return { via: 'pane_queue', waits: why ?? 'it was asked to wait in the queue' };
    if (why === null) return { via: 'pane', waits: null };
    if (request.queue === false) throw cannotTake(member, why, deps.panes);
    return { via: 'pane_queue', waits: why };
  };

  const accept = async (route: Route, request: SendRequest, sender: Sender, key: string | null) => {
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
      ticket: null,
      messageId,
      threadId: route.thread?.id ?? null,
      dagId: request.dagId ?? null,
      nodeId: request.nodeId ?? null,
      at,
      caller: sender.caller,
      surface: sender.surface,
      idempotencyKey: key,
    };
    return store.write((tx): { record: DeliveryRecord; repeated: boolean } => {
      const first = key === null ? null : findByKey(tx, sender.caller, key);
      if (first !== null) return { record: first, repeated: true };
      insertDelivery(tx, accepted);
      recordAccepted(tx, ledger, accepted, request.text, by);
      if (messageId !== null) writeMessage(tx, route, request, sender, accepted, by);
      if (route.member === null) return { record: keepInThread(tx, accepted), repeated: false };
      lanes.append(tx, {
        lane: laneOf(route.member.id),
        id,
        body: queuedSend(route.member, route.thread, request, sender, id),
        deadline: at + queueLifeMs,
      });
      if (route.waits === null) return { record: accepted, repeated: false };
      const queued = deliverer.move(tx, id, {
        state: 'queued',
        via: 'pane_queue',
        evidence: null,
        detail: route.waits,
      });
      return { record: queued ?? accepted, repeated: false };
    });
  };

  const writeMessage = (
    tx: Tx,
    route: Route,
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

  /** A thread without an outside channel keeps the message: nobody outside could witness it. */
  const keepInThread = (tx: Tx, accepted: DeliveryRecord): DeliveryRecord => {
    const kept = deliverer.move(tx, accepted.id, {
      state: 'best_effort',
      via: 'channel',
      evidence: null,
      detail: 'kept in the thread, which has no outside channel',
    });
    return kept ?? accepted;
  };

  /** Resolves once the delivery is queued or settled, or when the time for an answer is over. */
  const outcome = async (accepted: DeliveryRecord): Promise<DeliveryRecord> => {
    if (accepted.state !== 'accepted') return accepted;
    let give = (_record: DeliveryRecord | null) => {};
    const moved = new Promise<DeliveryRecord | null>((resolveMoved) => {
      give = resolveMoved;
    });
    const off = deliverer.onMoved((record) => {
      if (record.id === accepted.id) give(record);
    });
    const cancel = deps.timers.after(answerWithinMs, () => give(null));
    try {
      // The lane may have been faster than this listener.
      const now = await store.read((tx) => readDelivery(tx, accepted.id));
      if (now !== null && now.state !== 'accepted') return now;
      return (await moved) ?? (await timeIsOver(accepted));
    } finally {
      off();
      cancel();
    }
  };

  const timeIsOver = async (accepted: DeliveryRecord): Promise<DeliveryRecord> => {
    const typing = accepted.agentId !== null && deliverer.typing(accepted.agentId) === accepted.id;
    return store.write((tx) => {
      const now = readDelivery(tx, accepted.id) ?? accepted;
      if (isSettled(now.state) || now.state === 'queued') return now;
      const change = typing
        ? {
            state: 'unconfirmed' as const,
            via: now.via,
            detail: 'it was typed, but nothing proved in time that it arrived',
          }
        : { state: 'queued' as const, via: 'pane_queue' as const, detail: 'others are typed before it' };
      return deliverer.move(tx, accepted.id, { ...change, evidence: null }) ?? now;
    });
  };

  /** From acceptance to the answer the lane is tried at once, whatever it waited for before. */
  const acceptAndWait = async (route: Route, request: SendRequest, sender: Sender, key: string | null) => {
    const end = route.waits === null && route.member !== null ? deliverer.accepted(route.member.id) : () => {};
    try {
      const { record, repeated } = await accept(route, request, sender, key);
      return { result: await outcome(record), repeated };
    } finally {
      end();
    }
  };

  const sendOnce = async (request: SendRequest, sender: Sender, key: string | null): Promise<Delivery> => {
    const known = key === null ? null : await store.read((tx) => findByKey(tx, sender.caller, key));
    if (known !== null) return toDelivery(await outcome(known));
    const route = await resolve(request, sender);
    const { result, repeated } = await acceptAndWait(route, request, sender, key);
    if (!repeated && request.queue === false && route.member !== null && result.detail?.startsWith('refused: ')) {
      throw cannotTake(route.member, result.detail.slice('refused: '.length), deps.panes);
    }
    return toDelivery(result);
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
    replyLine: thread === null ? null : `Reply with: gantry orchestration reply ${thread.id} "your text"`,
    raw: request.raw === true,
    mayQueue: request.queue !== false,
  };
}

function plan(route: Route, request: SendRequest): SendPlan {
  const message = route.thread === null ? [] : ['message.recorded'];
  const body: SendPlan['plan'] = {
    to: route.to,
    via: route.via,
    threadId: route.thread?.id ?? null,
    records: ['delivery.accepted', ...message, 'delivery'],
  };
  const mayQueue = route.member !== null && request.queue !== false;
  return { dryRun: true, plan: mayQueue ? { ...body, ifQueued: ['delivery'] } : body };
}

function unknownRecipient(to: string, members: readonly Member[]): AppError {
  const shown = members.slice(0, 10).map((member) => member.address);
  const action =
    shown.length === 0
      ? 'No team is here yet: add one below .gantry/teams.'
      : `Bots here: ${shown.join(', ')}${members.length > shown.length ? ', …' : ''}.`;
  return new AppError('not_found', `Nobody has the address "${to}".`, action);
}

/** Kinds of bots that come later say so, before anything is written. */
function refuseUnbuilt(member: Member, request: SendRequest): void {
  const type = member.live ? 'terminal' : (member.definition?.binding.type ?? 'terminal');
  if (type === 'vendor' && request.threadId === undefined) {
    throw new AppError(
      'usage',
      `${member.address} is a vendor's bot, and no thread was named.`,
      'Name one with threadId.',
    );
  }
  if (type !== 'terminal') {
    throw new AppError(
      'not_found',
      `${member.address} is a ${type} bot; sending to those is not built yet.`,
      'Give it a terminal binding.',
    );
  }
}

function cannotTake(member: Member, why: string, panes: Pick<PaneEngine, 'engine'>): AppError {
  const action = 'Leave out queue: false, and it waits its turn.';
  if (!panes.engine().running) return new AppError('transport', `${member.address} cannot be reached: ${why}.`, action);
  return new AppError('refused', `${member.address} cannot take a message now: ${why}.`, action, { status: 409 });
}
