/** The routes of subscriptions, at both mounts, and the signed endpoint of events. Must not know SQL. */
import { AppError } from '../../../contracts/common/errors.ts';
import { twinOf } from '../../../contracts/connectors/mount.ts';
import { deliverEvent } from '../../../contracts/connectors/relay.ts';
import {
  endSubscription,
  listConnectorEvents,
  listTrail,
  subscribeToEvent,
} from '../../../contracts/connectors/subscription.ts';
import { type BoundRoute, bind } from '../../../kit/http/types.ts';
import type { EventReceiver } from './event-receiver.ts';
import type { Subscribing } from './subscribing.ts';

export function subscriptionRoutes({
  ownerId,
  subscribing,
  receiver,
}: {
  readonly ownerId: string;
  readonly subscribing: Subscribing;
  readonly receiver: EventReceiver;
}): readonly BoundRoute[] {
  const both = [
    bind(listConnectorEvents, async ({ params }) => ({ body: await subscribing.list(params.id) })),
    bind(subscribeToEvent, async ({ params, body }) => {
      const subscription = await subscribing.subscribe(params.id, body);
      return { status: subscription.status === 'active' ? (200 as const) : (502 as const), body: { subscription } };
    }),
    bind(endSubscription, async ({ params }) => {
      await subscribing.end(params.id, params.sid);
      return { body: undefined };
    }),
    bind(listTrail, async ({ params, query }) => ({ body: await subscribing.trail(params.id, params.sid, query) })),
  ];
  return [
    ...both.flatMap(({ route, handler }): BoundRoute[] => [
      { route, handler },
      { route: twinOf(route), handler },
    ]),
    bind(deliverEvent, async ({ body, principal }) => {
      if (principal.userId === ownerId) return { body: await receiver.deliver(body) };
      throw new AppError('refused', 'This computer belongs to somebody else.', 'Pair it again.');
    }),
  ];
}
