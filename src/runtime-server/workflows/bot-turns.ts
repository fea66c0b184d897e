/**
 * Nodes and bots: one bot works on one node at a time. A node is handed over by one message whose key is its attempt, so that it arrives at most
 * once even if a process dies in between. Knows dispatches; must not know processes.
 */

import { AppError } from '../../contracts/common/errors.ts';
import type { Delivery } from '../../contracts/factory/delivery.ts';
import type { Base } from '../base/base.ts';
import type { GoOn } from '../usage/deps.ts';
import type { DispatchTo, OverBudget, StopBot, WorkflowDeps, WorkPlaces } from './deps.ts';
import { cancelledFor, goOnFor, instructionFor, reviewFor } from './instruction.ts';
import { isClosed, type RunNode } from './model.ts';
import type { Queues, Turn } from './queues.ts';
import { attemptFailed } from './rules.ts';
import { isHolding, saveNode } from './store/runs.ts';
import type { Work } from './work.ts';

interface BotTurns {
  add(node: RunNode, turn: Turn): void;
  /** Has the checker of the node review its executor's work. */
  review(work: Work, node: RunNode): void;
  /** Hands over waiting nodes of this run to free bots. */
  startDue(work: Work): void;
  pump(): void;
  /** The bot holds nothing any more. */
  freed(address: string): void;
  /** Sends again, with the same key, a message that may not have been sent. */
  again(work: Work, node: RunNode): void;
  delivered(delivery: Delivery): void;
  /** The same within an operation on its run. */
  landed(work: Work, delivery: Delivery): void;
  tellCancelled(work: Work, node: RunNode): void;
  /** A usage limit cut its bot off in the middle of it. `waits`: the bot continues automatically. */
  limited(work: Work, node: RunNode, why: string, waits: boolean): void;
  /** Its bot may continue. Returns whether it waited for that. */
  goOn(work: Work, node: RunNode, how: GoOn): boolean;
  close(): void;
}

/** A send that broke on the way is repeated with its key. */
const repeatMs = 5000;
/** A message that a person was asked about may arrive after all. */
const mayArrive: readonly string[] = ['unconfirmed', 'budget'];
/** Fates that came before the answer of their send: kept until then, a few. */
const maxEarly = 1000;

export function createBotTurns(
  deps: Pick<Base, 'timers' | 'log'> & {
    readonly queues: Queues;
    readonly dispatch: DispatchTo;
    readonly stopBot?: StopBot | undefined;
    readonly overBudget?: OverBudget | undefined;
    readonly places: WorkPlaces;
    /** A budget is used up: then it is held, and does not begin. */
    holdBack(work: Work, node: RunNode): boolean;
    persist(dagId: string, change: (work: Work) => void): void;
  },
): BotTurns {
  const { queues } = deps;
  const early = new Map<string, Delivery>();
  /** Bots that something waits for and that may be free. */
  const due = new Set<string>();
  let closed = false;

  const folderOf = (node: RunNode) => deps.places.folderOf(node.assignee);

  function add(node: RunNode, turn: Turn): void {
    const address = turn === 'review' ? node.checker : node.assignee;
    if (address === null) return;
    queues.addFor(address, { dagId: node.dagId, nodeId: node.nodeId, turn });
    due.add(address);
  }

  function startDue(work: Work): void {
    for (const address of [...due]) {
      if (queues.firstFor(address)?.dagId !== work.run.dagId) continue;
      due.delete(address);
      startFor(work, address);
    }
  }

  function startFor(work: Work, address: string): void {
    // Changed nodes are written at the end of the operation, but the rows show who holds what: so they are written first.
    for (const node of work.touched) saveNode(work.tx, node);
    if (isHolding(work.tx, address)) return;
    while (queues.firstFor(address)?.dagId === work.run.dagId) {
      const waiting = queues.takeFor(address);
      const node = waiting === undefined ? undefined : work.run.nodes.get(waiting.nodeId);
      if (node === undefined) continue;
      if (waiting?.turn === 'review' ? handReview(work, node, address) : handWork(work, node, address)) return;
    }
    if (queues.firstFor(address) !== undefined) due.add(address);
  }

  function handWork(work: Work, node: RunNode, address: string): boolean {
    if (node.status !== 'ready' || node.handed !== 'no' || node.wakeAt !== null || node.assignee !== address)
      return false;
    if (deps.holdBack(work, node)) return false;
    node.attempt += 1;
    node.tries += 1;
    node.proven = new Set();
    const text = instructionFor(work.run, node, work.valueFor, deps.places.has(node.assignee));
    node.holder = address;
    node.handed = 'sending';
    work.move(node, 'ready', 'assigned', node.detail);
    work.after(() => send(node, address, text, `${node.dagId}:${node.nodeId}:${node.attempt}`));
    return true;
  }

  function handReview(work: Work, node: RunNode, address: string): boolean {
    if (node.status !== 'checking' || node.cause !== 'reviewing' || node.handed !== 'no') return false;
    node.holder = address;
    node.handed = 'sending';
    work.touch(node);
    const text = reviewFor(work.run, node, work.valueFor, folderOf(node));
    work.after(() => send(node, address, text, reviewKey(node)));
    return true;
  }

  const reviewKey = (node: RunNode) => `${node.dagId}:${node.nodeId}:${node.attempt}:check`;

  function send(node: RunNode, address: string, text: string, idempotencyKey: string): void {
    if (closed) return;
    const { dagId, nodeId, stepId, attempt } = node;
    // A bot that could not be moved on does its work on the branch that it is on.
    const placed =
      address === node.assignee
        ? deps.places.takeUp(address, { stepId, nodeId }).catch((error: unknown) => {
            deps.log.warn(`${address} could not be switched to its own branch for ${nodeId}.`, {
              error: String(error),
            });
          })
        : Promise.resolve();
    const dispatch = () => deps.dispatch(address, text, { dagId, nodeId, idempotencyKey });
    const sent = placed.then(async () => {
      if (address !== node.assignee || (await deps.places.setUp(address)) === 'ready') return dispatch();
      // Minutes may have passed: a step that was cancelled in between is not handed over.
      return (await isStillHanded(dagId, nodeId, attempt)) ? dispatch() : null;
    });
    sent.then(
      (delivery) => {
        if (delivery === null) return;
        deps.persist(dagId, (work) => {
          const now = work.run.nodes.get(nodeId);
          if (now === undefined || now.attempt !== attempt || now.handed !== 'sending') return;
          now.handed = 'sent';
          now.delivery = delivery.id;
          work.touch(now);
          // The delivery's end may have arrived before this answer.
          const later = early.get(delivery.id);
          early.delete(delivery.id);
          apply(work, now, later ?? delivery, deps.overBudget);
        });
      },
      (error: unknown) => {
        if (closed) return;
        if (error instanceof AppError && (error.code === 'transport' || error.code === 'timeout')) {
          deps.timers.after(repeatMs, () => send(node, address, text, idempotencyKey));
          return;
        }
        const why = error instanceof AppError ? error.fact : String(error);
        deps.persist(dagId, (work) => {
          const now = work.run.nodes.get(nodeId);
          if (now === undefined || now.attempt !== attempt || now.handed !== 'sending') return;
          notDelivered(work, now, why);
        });
      },
    );
  }

  const isStillHanded = (dagId: string, nodeId: string, attempt: number) =>
    new Promise<boolean>((resolve) => {
      deps.persist(dagId, (work) => {
        const now = work.run.nodes.get(nodeId);
        resolve(!closed && now?.attempt === attempt && now.handed === 'sending' && !isClosed(now.status));
      });
    });

  function landed(work: Work, delivery: Delivery): void {
    const node = work.run.nodes.get(delivery.nodeId ?? '');
    if (node === undefined) return;
    if (node.handed === 'sending') {
      if (early.size >= maxEarly) early.delete(early.keys().next().value as string);
      early.set(delivery.id, delivery);
    } else if (node.handed === 'sent' && node.delivery === delivery.id) apply(work, node, delivery, deps.overBudget);
  }

  return {
    add,
    review(work, node) {
      node.handed = 'no';
      node.delivery = null;
      work.move(node, 'checking', 'reviewing', `${node.checker} is checking it.`);
      add(node, 'review');
    },
    startDue,
    pump() {
      for (const address of due) {
        const first = queues.firstFor(address);
        if (first === undefined) due.delete(address);
        else deps.persist(first.dagId, () => {});
      }
    },
    freed(address) {
      if (queues.firstFor(address) !== undefined) due.add(address);
    },
    again(work, node) {
      if (node.status === 'checking' && node.checker !== null) {
        const text = reviewFor(work.run, node, work.valueFor, folderOf(node));
        work.after(() => send(node, node.checker ?? '', text, reviewKey(node)));
        return;
      }
      const text = instructionFor(work.run, node, work.valueFor, deps.places.has(node.assignee));
      work.after(() => send(node, node.assignee, text, `${node.dagId}:${node.nodeId}:${node.attempt}`));
    },
    delivered(delivery) {
      const { dagId } = delivery;
      if (dagId !== undefined) deps.persist(dagId, (work) => landed(work, delivery));
    },
    landed,
    tellCancelled: (work, node) => tellCancelled(deps, work, node),
    limited(work, node, why, waits) {
      if (node.status !== 'working' && !(node.status === 'needs_you' && node.cause === 'usage_limit')) return;
      // Its time does not run while its bot may do nothing.
      node.wakeAt = null;
      const to = waits ? 'working' : 'needs_you';
      if (node.status !== to || node.detail !== why) work.move(node, to, 'usage_limit', why);
    },
    goOn(work, node, { over, afresh }) {
      if (node.cause !== 'usage_limit' || (node.status !== 'working' && node.status !== 'needs_you')) return false;
      const minutes = node.step.timeoutMinutes;
      node.wakeAt = minutes === undefined ? null : work.now + minutes * 60_000;
      work.move(node, 'working', 'resumed');
      const again = afresh ? instructionFor(work.run, node, work.valueFor, deps.places.has(node.assignee)) : null;
      tellToGoOn(deps, work, node, node.assignee, 'limit', over, again);
      return true;
    },
    close() {
      closed = true;
    },
  };
}

/** Applies the delivery's state to the node that it hands over. */
function apply(work: Work, node: RunNode, delivery: Delivery, overBudget: OverBudget | undefined): void {
  const detail = delivery.detail ?? null;
  if (delivery.state === 'failed') {
    notDelivered(work, node, detail ?? 'The message could not be delivered.');
    return;
  }
  if (node.status === 'checking') {
    if (delivery.state === 'queued' || delivery.state === 'accepted') return;
    if (delivery.state !== 'unconfirmed') {
      work.asked(node);
      return;
    }
    work.move(
      node,
      'needs_you',
      'proof_to_accept',
      `Whether ${node.checker} was asked to check is unknown. ${detail ?? ''}`.trim(),
    );
    return;
  }
  switch (delivery.state) {
    case 'queued':
    case 'accepted':
      queued(work, node, detail, overBudget?.(node.assignee) ?? null);
      return;
    case 'unconfirmed':
      if (node.status === 'ready') work.move(node, 'needs_you', 'unconfirmed', detail);
      return;
    default:
      if (node.status !== 'ready' && !(node.status === 'needs_you' && mayArrive.includes(node.cause))) return;
      node.wakeAt = node.step.timeoutMinutes === undefined ? null : work.now + node.step.timeoutMinutes * 60_000;
      work.move(node, 'working', 'delivered');
  }
}

/** It waits before its bot. One that may spend no more is a question to a person. */
function queued(work: Work, node: RunNode, detail: string | null, asks: string | null): void {
  const asked = node.status === 'needs_you' && node.cause === 'budget';
  if (asks !== null && (node.status === 'ready' || (asked && node.detail !== asks))) {
    work.move(node, 'needs_you', 'budget', asks);
  } else if (asks === null && (asked || (node.status === 'ready' && node.cause !== 'queued'))) {
    work.move(node, 'ready', 'queued', detail);
  }
}

function notDelivered(work: Work, node: RunNode, why: string): void {
  if (node.status === 'checking') {
    node.holder = null;
    work.move(node, 'needs_you', 'proof_to_accept', `${node.checker} could not be asked to check: ${why}`);
  } else if (node.status === 'ready' || (node.status === 'needs_you' && node.cause === 'budget'))
    attemptFailed(work, node, 'delivery_failed', why);
}

/** Its turn is ended where it can be; else its bot reads that the step is cancelled. */
function tellCancelled(deps: Pick<WorkflowDeps, 'dispatch' | 'stopBot' | 'log'>, work: Work, node: RunNode): void {
  const address = node.holder;
  if (address === null) return;
  const { dagId, nodeId } = node;
  const text = cancelledFor(work.run, node);
  const dispatch = { dagId, nodeId, idempotencyKey: `${dagId}:${nodeId}:${node.attempt}:cancel` };
  work.after(() => {
    const stop = async () => {
      const stopped = await deps.stopBot?.(address, { dagId, nodeId }).catch((error: unknown) => {
        deps.log.warn(`The turn of ${address} could not be ended.`, { error: String(error) });
        return false;
      });
      if (stopped !== true) await deps.dispatch(address, text, dispatch);
    };
    stop().catch((error: unknown) => {
      deps.log.warn(`${address} could not be notified that ${nodeId} was cancelled.`, {
        error: String(error),
      });
    });
  });
}

/** What stopped its bot in the middle of the step is over, as `over` says in a sentence. `cause` keeps the message apart from others. */
export function tellToGoOn(
  { dispatch, log }: Pick<WorkflowDeps, 'dispatch' | 'log'>,
  work: Work,
  node: RunNode,
  address: string,
  cause: 'limit' | 'budget',
  over: string,
  /** The whole instruction, for a bot that no longer has it. */
  again: string | null = null,
): void {
  const { dagId, nodeId, attempt } = node;
  const idempotencyKey = `${dagId}:${nodeId}:${attempt}:${cause}:${work.now}`;
  const text = again === null ? goOnFor(work.run, node, over) : `${over}\n\n${again}`;
  work.after(() => {
    dispatch(address, text, { dagId, nodeId, idempotencyKey }).catch((error: unknown) => {
      log.warn(`${address} did not get the message to continue ${nodeId}.`, { error: String(error) });
    });
  });
}
