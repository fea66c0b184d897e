/**
 * Takes queued sends out of a bot's outbox, one at a time, and settles each by the evidence for it. Never types unless the bot's gate is open; never
 * types again what may have arrived. Must not know who sent it, nor HTTP.
 */

import type { DeliveryVia } from '../../contracts/factory/delivery.ts';
import type { LaneItem, LaneOutcome, Lanes } from '../../kit/lane/lane.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { PlacedBot } from '../agents/placement.ts';
import type { Member } from '../agents/registry.ts';
import type { Base } from '../base/base.ts';
import type { DeliverResult, Outgoing } from '../harness/harness.ts';
import { obstacleInWords } from '../harness/wording.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import { unreadable } from '../panes/readable.ts';
import { agentOfLane, type DeliveryRecord, type QueuedSend } from './model.ts';
import { recordMove } from './records.ts';
import { type DeliveryMove, moveDelivery, readDelivery } from './store/deliveries.ts';

/** Handles an outbox's items (kit/lane, `LanesOptions`). */
interface LaneWorker {
  send(item: LaneItem): Promise<LaneOutcome>;
  gate(lane: string): string | null;
  onExpired(tx: Tx, item: LaneItem): void;
}

/** Makes the lanes that hold queued sends. */
export type OpenLanes = (worker: LaneWorker) => Lanes;

export interface Deliverer extends LaneWorker {
  /** Why nothing can be typed into this bot now; null when it can take a message. */
  obstacle(agentId: string): string | null;
  /** A caller waits for a send to this bot: the lane is tried even if the bot cannot take it. Returns the end of waiting. */
  accepted(agentId: string): () => void;
  /** The delivery that is being typed into this bot now, or null. */
  typing(agentId: string): string | null;
  /** Moves a delivery if its state allows it, with its ledger row. Tells the listeners after the commit. */
  move(tx: Tx, id: string, move: Omit<DeliveryMove, 'at'>): DeliveryRecord | null;
  /** Told after each committed move. */
  onMoved(listener: (record: DeliveryRecord) => void): () => void;
  /** Told when a bot has taken a message. */
  onTaken(listener: (agentId: string) => void): () => void;
  /** Called when a bot's outbox was tried, with the result. */
  onTried(listener: (agentId: string) => void): () => void;
}

export function createDeliverer(
  deps: Pick<Base, 'store' | 'ledger' | 'clock'> & {
    readonly panes: Pick<PaneEngine, 'engine'>;
    readonly registry: { find(agentId: string): Member | null; bot(agentId: string): PlacedBot | null };
    /** Limits that hold bots; absent where usage is not counted. */
    readonly limits?: { held(agentId: string): string | null };
  },
): Deliverer {
  const underWay = new Map<string, string>();
  /** Each bot head's last reason to wait: while it is unchanged, the outbox need not be tried. */
  const heldFor = new Map<string, string>();
  /** Bots with sends whose callers wait for an answer, by their number. */
  const fresh = new Map<string, number>();
  const movedListeners = new Set<(record: DeliveryRecord) => void>();
  const takenListeners = new Set<(agentId: string) => void>();
  const triedListeners = new Set<(agentId: string) => void>();

  const move: Deliverer['move'] = (tx, id, change) => {
    const record = moveDelivery(tx, id, { ...change, at: deps.clock.now() });
    if (record === null) return null;
    recordMove(tx, deps.ledger, record);
    tx.afterCommit(() => {
      for (const listener of movedListeners) listener(record);
    });
    return record;
  };

  /** Where a send waits: before a pane, or before the loop. */
  const queueVia = (agentId: string): DeliveryVia => {
    const member = deps.registry.find(agentId);
    return member === null ? 'pane_queue' : member.placement.via.waiting;
  };

  const inPaneHere = (agentId: string): boolean => {
    const member = deps.registry.find(agentId);
    return member === null || !member.live || member.placement.inPaneHere;
  };

  const obstacle = (agentId: string): string | null => {
    const away = inPaneHere(agentId) ? unreadable(deps.panes) : null;
    if (away !== null) return `the panes cannot be read: ${away}`;
    const bot = deps.registry.bot(agentId);
    if (bot === null) {
      const member = deps.registry.find(agentId);
      if (member === null) return 'this bot is no longer in a team';
      return member.shown.reason === null
        ? `${member.address} is not running`
        : `${member.address} is not running: ${member.shown.reason}`;
    }
    const held = deps.limits?.held(agentId) ?? null;
    if (held !== null) return held;
    const gate = bot.gate();
    if (gate.open) return null;
    const why = obstacleInWords(gate.why);
    return gate.setup && !why.startsWith('setup') ? `setup: ${why}` : why;
  };

  /** The delivery stays in the outbox. Its row names the reason, once for each. */
  const hold = async (item: LaneItem, queued: QueuedSend, why: string): Promise<LaneOutcome> => {
    heldFor.set(queued.agentId, why);
    if (!queued.mayQueue) return settle(item, { state: 'failed', detail: `refused: ${why}; waiting was not allowed` });
    await deps.store.write((tx) => {
      const now = readDelivery(tx, item.id);
      if (now === null || (now.state === 'queued' && now.detail === why)) return;
      move(tx, item.id, { state: 'queued', via: queueVia(queued.agentId), evidence: null, detail: why });
    });
    return { to: 'hold', reason: why };
  };

  const settle = (
    item: LaneItem,
    result: Pick<DeliveryMove, 'state'> & { detail?: string; evidence?: DeliveryMove['evidence'] },
  ): LaneOutcome => {
    const commit = (tx: Tx) => {
      const via = readDelivery(tx, item.id)?.via ?? 'pane';
      move(tx, item.id, { state: result.state, via, evidence: result.evidence ?? null, detail: result.detail ?? null });
    };
    return result.state === 'failed'
      ? { to: 'dead', reason: result.detail ?? 'failed', commit }
      : { to: 'done', commit };
  };

  const attempt = async (item: LaneItem, queued: QueuedSend): Promise<LaneOutcome> => {
    if (item.interrupted) return goOn(item, queued);
    const why = obstacle(queued.agentId);
    const bot = deps.registry.bot(queued.agentId);
    if (why !== null || bot === null) return hold(item, queued, why ?? 'it is not running');
    heldFor.delete(queued.agentId);
    const result = await type(queued, (message) => bot.deliver(message));
    if (result.state === 'held') return hold(item, queued, obstacleInWords(result.why));
    for (const listener of takenListeners) listener(queued.agentId);
    return settle(item, result);
  };

  /** An earlier runtime ended while it typed this. Only a harness that knows how far it came may continue it. */
  const goOn = async (item: LaneItem, queued: QueuedSend): Promise<LaneOutcome> => {
    const away = inPaneHere(queued.agentId) ? unreadable(deps.panes) : null;
    if (away !== null) return hold(item, queued, `the panes cannot be read: ${away}`);
    const bot = deps.registry.bot(queued.agentId);
    const result = bot === null ? null : await type(queued, (message) => bot.resume(message));
    if (result === null) {
      return settle(item, {
        state: 'unconfirmed',
        detail: 'Gantry stopped while typing this. Check the pane before you send it again.',
      });
    }
    return result.state === 'held' ? hold(item, queued, obstacleInWords(result.why)) : settle(item, result);
  };

  const type = async <Result>(
    queued: QueuedSend,
    way: (message: Outgoing) => Promise<Result>,
  ): Promise<Result | DeliverResult> => {
    underWay.set(queued.agentId, queued.deliveryId);
    try {
      return await way({
        deliveryId: queued.deliveryId,
        senderLine: queued.senderLine,
        text: queued.text,
        replyLine: queued.replyLine,
        raw: queued.raw,
        mayQueue: queued.mayQueue,
      });
    } catch (error) {
      // Whether bytes reached the program is not known: typing them again could make it act twice.
      const fact = error instanceof Error ? error.message : String(error);
      return { state: 'unconfirmed', evidence: null, detail: `typing was cut off: ${fact}` };
    } finally {
      underWay.delete(queued.agentId);
    }
  };

  return {
    async send(item) {
      const queued = item.body as QueuedSend;
      try {
        return await attempt(item, queued);
      } finally {
        for (const listener of triedListeners) listener(queued.agentId);
      }
    },
    gate(lane) {
      const agentId = agentOfLane(lane);
      const why = obstacle(agentId);
      return why !== null && heldFor.get(agentId) === why && !fresh.has(agentId) ? why : null;
    },
    onExpired(tx, item) {
      const hours = Math.round(((item.deadline ?? item.at) - item.at) / 3_600_000);
      const detail = `it waited ${hours} h, and the bot could not take it`;
      move(tx, item.id, { state: 'failed', via: queueVia(agentOfLane(item.lane)), evidence: null, detail });
    },
    accepted: (agentId) => {
      fresh.set(agentId, (fresh.get(agentId) ?? 0) + 1);
      return () => {
        const left = (fresh.get(agentId) ?? 1) - 1;
        if (left > 0) fresh.set(agentId, left);
        else fresh.delete(agentId);
      };
    },
    obstacle,
    typing: (agentId) => underWay.get(agentId) ?? null,
    move,
    onMoved(listener) {
      movedListeners.add(listener);
      return () => movedListeners.delete(listener);
    },
    onTaken(listener) {
      takenListeners.add(listener);
      return () => takenListeners.delete(listener);
    },
    onTried(listener) {
      triedListeners.add(listener);
      return () => triedListeners.delete(listener);
    },
  };
}
