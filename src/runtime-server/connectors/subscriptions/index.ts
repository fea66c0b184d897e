/**
 * Subscriptions of a person's bots to events of their connectors: their rows, the loop that keeps them alive, and the route
 * through which events come. Must not know how connectors are reached or what rules do.
 */
import type { BoundRoute } from '../../../kit/http/types.ts';
import type { SubscriptionLookup } from '../ports.ts';
import { createDefinitions } from './definitions.ts';
import type { SubscriptionDeps } from './deps.ts';
import { createEnding } from './ending.ts';
import { createEnrolment } from './enrol.ts';
import { createEventReceiver } from './event-receiver.ts';
import { createOneAtATime } from './one-at-a-time.ts';
import { createRemovals } from './removals.ts';
import { createRounds } from './rounds.ts';
import { subscriptionRoutes } from './routes.ts';
import { createSubscribing } from './subscribing.ts';
import { createWithin } from './within.ts';

export { subscriptionMigrations } from './migrations.ts';

interface Subscriptions {
  readonly routes: readonly BoundRoute[];
  readonly lookup: SubscriptionLookup;
  /** How many are live, by connector. */
  counts(): Promise<ReadonlyMap<string, number>>;
  /** Begins the loop. Call it once the connectors are loaded: one that is not there counts as deleted. */
  start(): void;
  /** The home cloud may be another one, or can be reached again: one round now. */
  now(): Promise<void>;
  close(): Promise<void>;
}

export function createSubscriptions(deps: SubscriptionDeps): Subscriptions {
  const stop = new AbortController();
  const inTurn = createOneAtATime();
  const closing = stop.signal;
  const within = createWithin(deps.timers, closing);
  const definitions = createDefinitions(deps.servers, deps.clock);
  const removals = createRemovals({ ...deps, inTurn });
  const enrolment = createEnrolment({ ...deps, definitions, removals, within, closing });
  const ending = createEnding({ ...deps, enrolment, removals });
  const rounds = createRounds({ ...deps, definitions, enrolment, ending, removals, inTurn, closing });
  const subscribing = createSubscribing({ ...deps, definitions, enrolment, ending, removals, inTurn, within, closing });
  const receiver = createEventReceiver({ ...deps, inTurn, closing });
  return {
    routes: subscriptionRoutes({ ownerId: deps.ownerId, subscribing, receiver }),
    lookup: subscribing.lookup,
    counts: async () => {
      const rows = await deps.store.read((tx) =>
        tx.all<{ id: string; n: number }>(
          'SELECT connector_id AS id, count(*) AS n FROM connector_subscription GROUP BY connector_id',
        ),
      );
      return new Map(rows.map(({ id, n }) => [id, n]));
    },
    start: () => rounds.start(),
    now: () => rounds.now(),
    async close() {
      stop.abort();
      await rounds.close();
    },
  };
}
