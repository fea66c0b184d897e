/**
 * This computer's reports to its home cloud: events and model spend. Each is a row written in the transaction of its cause, sent in order and kept
 * while the cloud cannot be reached. The cloud keeps each once, by its id. Must not know who emits.
 */
import type { EventData, NotifiableEvent } from '../../contracts/events/registry.ts';
import { type ForwardedEvent, forwardEvents } from '../../contracts/events/routes.ts';
import { type ReportedSpend, reportUsage } from '../../contracts/usage/routes.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { LaneItem, LaneOutcome, Lanes } from '../../kit/lane/lane.ts';
import type { Tx } from '../../kit/store/store.ts';

/** For parts that observe something a person may want to know. */
export interface RuntimeEvents {
  /** Call it in the transaction of the cause. `id` names the event: the same one is sent once. */
  emit<T extends NotifiableEvent>(
    tx: Tx,
    event: { readonly type: T; readonly id: string; readonly data: EventData<T> },
  ): void;
}

/** One request to a model; `microUsd` null where its price is not known. */
interface SpentOnModel {
  readonly id: string;
  readonly at: number;
  readonly agentId: string;
  readonly runId: string | null;
  readonly model: string;
  readonly microUsd: number | null;
}

export interface Outbox extends RuntimeEvents {
  spent(tx: Tx, spend: SpentOnModel): void;
  /** The home cloud may be reached now. */
  wake(): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** A waiting row: its event, and the home it is for if this computer was paired at that time. */
interface Waiting {
  readonly paired?: string;
}

const lane = { events: 'events', usage: 'usage' } as const;
/** Events older than a week are dropped; money is reported however late. */
const eventsRetentionMs = 7 * 24 * 60 * 60_000;
const microPerCent = 10_000;

export function createOutbox({
  openLanes,
  call,
  home,
  clock,
  log,
}: {
  readonly openLanes: (send: (item: LaneItem, signal: AbortSignal) => Promise<LaneOutcome>) => Lanes;
  /** Calls the home cloud as this computer's device, signed. Throws when it cannot be reached. */
  readonly call: (request: {
    readonly method: string;
    readonly path: string;
    readonly body: unknown;
    readonly signal: AbortSignal;
  }) => Promise<{ readonly status: number; readonly body: unknown }>;
  /** Names the cloud and the person there that this computer is paired with; null while it is not. */
  readonly home: () => string | null;
  readonly clock: Clock;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): Outbox {
  const lanes = openLanes(async (item, signal) => {
    const { paired, ...told } = item.body as Waiting;
    // Events from one pairing must not reach the next home.
    const now = home();
    if (paired !== undefined && now !== null && paired !== now) {
      log.warn('An item that waited for the previous home was dropped.', {
        id: item.id,
        lane: item.lane,
        home: paired,
      });
      return { to: 'dead', reason: 'it was for the previous home' };
    }
    const { route, body } =
      item.lane === lane.events
        ? { route: forwardEvents, body: { events: [told] } }
        : { route: reportUsage, body: { lines: [told] } };
    const answer = await call({ method: route.method, path: route.path, body, signal });
    if (answer.status === 200) {
      const refused = (answer.body as { refused?: readonly unknown[] } | null)?.refused ?? [];
      if (refused.length > 0) log.warn('The cloud refused an event of this computer.', { refused: refused[0] });
      return { to: 'done' };
    }
    // 401: our clock is off, or the signature was used: the next try signs again.
    if (answer.status === 401 || answer.status === 408 || answer.status === 429 || answer.status >= 500) {
      return { to: 'retry', reason: `the cloud answered ${answer.status}` };
    }
    log.warn('The cloud refused a report of this computer.', { id: item.id, lane: item.lane, status: answer.status });
    return { to: 'dead', reason: `the cloud answered ${answer.status}` };
  });

  const waiting = (told: ForwardedEvent | ReportedSpend): Waiting => ({ ...told, paired: home() ?? undefined });

  return {
    emit(tx, { type, id, data }) {
      const now = clock.now();
      const body: ForwardedEvent = { id, type, at: iso(now), data: { ...data } };
      lanes.append(tx, {
        lane: lane.events,
        id: `${type}:${id}`,
        body: waiting(body),
        deadline: now + eventsRetentionMs,
      });
    },
    spent(tx, { id, at, agentId, runId, model, microUsd }) {
      if (microUsd === null) return;
      const cents = microUsd / microPerCent;
      const body: ReportedSpend = { id, at: iso(at), botId: agentId, runId, model, cents };
      lanes.append(tx, { lane: lane.usage, id: `spend:${id}`, body: waiting(body) });
    },
    wake: () => lanes.wake(),
    start: () => lanes.start(),
    close: () => lanes.close(),
  };
}
