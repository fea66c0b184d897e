/** The calls of the area of connectors, loaded with it: its route tables are large, and most pages need none of them. Must not know React. */
import { type ClientOptions, createClient } from '../../../client/client.ts';
import { connectorRoutes } from '../../../contracts/connectors/connector.ts';
import { ruleRoutes } from '../../../contracts/connectors/rule.ts';
import { sampleRoutes } from '../../../contracts/connectors/sample.ts';
import { subscriptionRoutes } from '../../../contracts/connectors/subscription.ts';
import { endEdgeSubscription, listApps, readCatalog } from '../../../contracts/edge/routes.ts';

/** `wire` reaches the computer that is meant, which has the connectors; `home` the cloud, which lets apps in. */
export function createConnectorApi(wire: ClientOptions, home: ClientOptions) {
  return {
    connectors: createClient([...connectorRoutes, ...sampleRoutes, ...subscriptionRoutes, ...ruleRoutes], wire),
    edge: createClient([listApps, endEdgeSubscription, readCatalog], home),
  };
}

export type ConnectorApi = ReturnType<typeof createConnectorApi>;
