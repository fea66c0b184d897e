/**
 * Events of the public edge: apps list them, subscribe with a webhook, and receive them signed. Owns the composition of subscriptions, verification,
 * fan-out and deliveries; must not know endpoints, tools or pages.
 */
import { type EdgeSubscription, endEdgeSubscription } from '../../contracts/edge/routes.ts';
import { eventMethods, eventsCapability } from '../../contracts/tool-server/mcp-events.ts';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { Egress } from '../../kit/egress/egress.ts';
import { type BoundRoute, bind, type OwnerLookups } from '../../kit/http/types.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { SharedLanes } from '../../kit/lane/lane.ts';
import type { Capabilities, McpRequest, McpServiceOptions } from '../../kit/mcp/service.ts';
import type { Sealer } from '../../kit/secrets/sealer.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import type { TraceContext } from '../../kit/telemetry/telemetry.ts';
import { createDeliveries } from './deliveries.ts';
import { createFanOut } from './fan-out.ts';
import { createPoster } from './post.ts';
import { createSubscribing } from './subscribing.ts';
import { createSubscriptions, toEdgeSubscription } from './subscriptions.ts';
import { createVerification } from './verification.ts';
import type { EdgeVisit, MayStill } from './visit.ts';

export { edgeEventMigrations } from './event-migrations.ts';
export { type EdgeServer, offeredEvents } from './offered-events.ts';

export interface EdgeEvents {
  /** For {@link McpServiceOptions.methods}; `visit` names the server of a request and its caller. */
  methods(visit: (request: McpRequest) => EdgeVisit): NonNullable<McpServiceOptions['methods']>;
  /** For {@link McpServiceOptions.extensions}, the same in both eras. */
  readonly capabilities: Capabilities;
  /** The owner ends the subscription. */
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  /** The subscriptions of each of a person's apps, by client id. */
  subscriptionsOf(userId: string): Promise<ReadonlyMap<string, readonly EdgeSubscription[]>>;
  /** Removes what ended a week ago. */
  forgetOld(now: number): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createEdgeEvents(deps: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
  readonly sealer: Sealer;
  readonly egress: Pick<Egress, 'request' | 'refusal'>;
  /** Called once events are durable. */
  readonly events: { onEmit(listener: () => void): () => void };
  readonly mayStill: MayStill;
  /** 0 ≤ x < 1. */
  readonly random?: () => number;
  /** An event is sent as a part of the span that caused it. */
  readonly trace?: TraceContext | undefined;
  /** Shows what waits. */
  readonly watch?: (lanes: SharedLanes) => SharedLanes;
}): EdgeEvents {
  const { store, clock } = deps;
  const subscriptions = createSubscriptions(deps);
  const poster = createPoster(deps);
  const deliveries = createDeliveries({ ...deps, subscriptions, poster });
  const fanOut = createFanOut({ ...deps, deliveries });
  const verification = createVerification({ ...deps, poster });
  const subscribing = createSubscribing({ ...deps, subscriptions, verification, dropped: deliveries.wake });
  return {
    methods: (visit) => ({
      [eventMethods.list]: (request) => subscribing.list(visit(request).server, request.params),
      [eventMethods.subscribe]: (request) => subscribing.subscribe(visit(request), request.params),
      [eventMethods.unsubscribe]: (request) => subscribing.unsubscribe(visit(request), request.params),
    }),
    capabilities: { [eventsCapability.key]: {}, extensions: { [eventsCapability.extension]: {} } },
    routes: [
      bind(endEdgeSubscription, async ({ params }) => {
        await store.write((tx) => deliveries.end(tx, params.id, 'ended_by_owner'));
        return { body: undefined };
      }),
    ],
    owners: {
      'edge-subscription': async ({ userId }, id) => {
        const row = await subscriptions.get(id);
        return row !== null && row.user_id === userId && row.ended_at === null;
      },
    },
    async subscriptionsOf(userId) {
      const rows = await subscriptions.of(userId);
      const byClient = Map.groupBy(rows, ({ client_id }) => client_id);
      const now = clock.now();
      return new Map([...byClient].map(([client, its]) => [client, its.map((row) => toEdgeSubscription(row, now))]));
    },
    async forgetOld(now) {
      await subscriptions.forget(now);
      await verification.forget(now);
    },
    async start() {
      await deliveries.start();
      fanOut.start();
    },
    async close() {
      await fanOut.close();
      await deliveries.close();
    },
  };
}
