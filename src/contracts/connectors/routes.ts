/** The routes of connectors, by the server that has them. Must not know what they do. */
import type { Route } from '../common/route.ts';
import { connectorRoutes } from './connector.ts';
import { twinOf } from './mount.ts';
import { deliverEvent, registrationRoutes } from './relay.ts';
import { ruleRoutes } from './rule.ts';
import { sampleRoutes } from './sample.ts';
import { subscriptionRoutes } from './subscription.ts';

const declared: readonly Route[] = [...sampleRoutes, ...connectorRoutes, ...subscriptionRoutes, ...ruleRoutes];

/** Routes of the computer, at both mounts, which the cloud forwards. */
export const connectorAreaRoutes: readonly Route[] = declared.flatMap((route) => [route, twinOf(route)]);
/** Only on the cloud. */
export const connectorCloudRoutes = registrationRoutes;
/** Only on the computer. */
export const connectorEngineRoutes = [deliverEvent] as const;
