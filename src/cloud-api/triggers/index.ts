/**
 * The public route of triggers: a post goes into the lane of the computer that the key begins with, and the answer is 202 once that is durable. Only
 * the computer knows which keys are valid. No table of its own.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import { deliverTrigger, postTrigger, type TriggerEvent } from '../../contracts/factory/work-engine/trigger-events.ts';
import { largestTriggerBody, triggerKey } from '../../contracts/factory/work-engine/triggers.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import { readRaw } from '../../kit/http/body.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { LaneItem, SharedLaneOutcome, SharedLanes } from '../../kit/lane/lane.ts';
import { tooManyWait } from '../../kit/receipts/refusals.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { readPosted } from './posted.ts';

interface TriggerEndpoint {
  readonly routes: readonly BoundRoute[];
  /** The computer answers again: sends its waiting posts at once. */
  wake(computerId: string): void;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Keeps people who guess computers' ids from filling the disk. */
const maxWaiting = 1000;
/** A computer that stays away longer misses the rest, as with events of connectors. */
const retentionMs = 24 * 60 * 60_000;

export function createTriggerEndpoint(deps: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
  /** The person of a computer; null: nobody. */
  readonly ownerOf: (computerId: string) => Promise<string | null>;
  readonly openLanes: (send: (item: LaneItem, signal: AbortSignal) => Promise<SharedLaneOutcome>) => SharedLanes;
  /** Calls a computer's runtime as the cloud. Throws if the runtime cannot be reached. */
  readonly call: (
    computerId: string,
    request: { readonly method: string; readonly path: string; readonly body: unknown; readonly signal: AbortSignal },
  ) => Promise<{ readonly status: number }>;
}): TriggerEndpoint {
  const { store, clock, ids } = deps;
  const lanes = deps.openLanes(async (item, signal) => {
    const { method, path } = deliverTrigger;
    const { status } = await deps.call(item.lane, { method, path, body: item.body, signal });
    if (status === 200) return { to: 'done' };
    // 401: the clock is off; the next attempt gets a new signature.
    if (status === 401 || status === 408 || status === 429 || status >= 500) {
      return { to: 'retry', reason: `the computer answered ${status}` };
    }
    deps.log.warn('A computer refused what was posted to a trigger.', { computer: item.lane, status });
    return { to: 'dead', reason: `the computer answered ${status}` };
  });

  async function accept(key: string, request: IncomingMessage): Promise<{ status: 200 | 202; body: object }> {
    const computerId = triggerKey.exec(key)?.[1];
    const person = computerId === undefined ? null : await deps.ownerOf(computerId);
    if (computerId === undefined || person === null) {
      throw new AppError('not_found', 'There is no such trigger.', 'Check the address.', {
        wireCode: 'trigger_not_found',
      });
    }
    const bytes = await readRaw(request, largestTriggerBody);
    if (lanes.depth(computerId) >= maxWaiting) {
      throw tooManyWait(`${maxWaiting} events are waiting for this computer.`);
    }
    const { mark, data, challenge } = readPosted(request.headers, bytes);
    if (challenge !== null) return { status: 200, body: { challenge } };
    const eventId = mark === null ? ids.next('event') : eventOf(key, mark);
    const body: TriggerEvent = { key, eventId, receivedAt: iso(clock.now()), data };
    // A repeated post that still waits is in the lane already; the computer knows those it received.
    await store.write((tx) =>
      lanes.append(tx, { lane: computerId, id: eventId, body, deadline: clock.now() + retentionMs, person }),
    );
    return { status: 202, body: { status: 'accepted', eventId } };
  }

  return {
    routes: [
      bind(postTrigger, async ({ params, request, response }) => {
        const { status, body } = await accept(params.key, request);
        const text = JSON.stringify(body);
        response.writeHead(status, {
          'content-type': 'application/json; charset=utf-8',
          'content-length': Buffer.byteLength(text),
        });
        response.end(text);
      }),
    ],
    wake: (computerId) => lanes.wake(computerId),
    start: () => lanes.start(),
    close: () => lanes.close(),
  };
}

/** The sender's mark, bound to the key: two senders may use the same numbers. */
const eventOf = (key: string, mark: string) => `event_${hash('sha256', `${key}\n${mark}`, 'hex').slice(0, 40)}`;
