/**
 * Composes connectors on the runtime: other people's servers with their credentials, the subscriptions to their events, and the automatic runs of
 * bots on those events. Must not know what an event is.
 */
import { join } from 'node:path';
import { localUserId } from '../kit/http/principals.ts';
import type { BoundRoute } from '../kit/http/types.ts';
import { createSchemaChecker } from '../kit/schemas/checker.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { newWebhookSecret } from '../kit/signing/webhook.ts';
import type { Approvals } from '../runtime-server/approvals/index.ts';
import type { SignInPort } from '../runtime-server/connectors/attached.ts';
import { createAutomation } from '../runtime-server/connectors/automation/index.ts';
import { createConnectors } from '../runtime-server/connectors/index.ts';
import { createSampleService } from '../runtime-server/connectors/sample.ts';
import { createSubscriptions } from '../runtime-server/connectors/subscriptions/index.ts';
import type { Outbox } from '../runtime-server/events/outbox.ts';
import type { Factory } from './factory/factory.ts';
import type { HomeLink } from './home-link.ts';
import { packageRoot } from './places.ts';
import type { RuntimeCore } from './runtime-core.ts';
import type { RuntimeTools } from './runtime-tools.ts';

type Tools = Pick<RuntimeTools, 'attached' | 'oauth'>;

interface RuntimeConnectors {
  readonly routes: readonly BoundRoute[];
  /** Takes up what was begun. Waits for no server. */
  start(): Promise<void>;
}

export function createRuntimeConnectors({
  tools,
  homeLink,
  approvals,
  outbox,
  factory,
  ...core
}: RuntimeCore & {
  readonly tools: Tools;
  readonly homeLink: HomeLink;
  readonly approvals: Approvals;
  readonly outbox: Outbox;
  readonly factory: Factory;
}): RuntimeConnectors {
  const { timers, log, closing } = core;
  const { attached } = tools;
  const { home } = homeLink;
  const connectors = createConnectors({ attached: attached.servers, signIns: signInsOf(tools), log });
  const sample = createSampleService({
    program: join(packageRoot(), 'examples', 'mcp-events', 'server.mjs'),
    attached: attached.servers,
    fetch,
  });
  closing.add('sample service', () => sample.close());
  const schemas = createSchemaChecker({ timers });
  closing.add('schemas of others', () => schemas.close());
  const automation = createAutomation({
    ...core,
    ...factory.connectors,
    schemas,
    approvals,
    connector: (id) => connectors.servers.find(id) !== null,
  });
  closing.add('automation', () => automation.close());
  const subscriptions = createSubscriptions({
    ...core,
    ...factory.connectors,
    sealer: createSealer({ masterKey: core.masterKey, purpose: 'connector-subscriptions' }),
    newSecret: newWebhookSecret,
    ownerId: localUserId,
    servers: connectors.servers,
    schemas,
    automation,
    home: {
      name: () => homeLink.pairedWith() ?? 'this computer',
      url: () => home.current().cloudUrl,
      call: (request) => home.call(request),
    },
    events: outbox,
  });
  closing.add('subscriptions', () => subscriptions.close());
  let started = false;
  // Another home knows nothing of them, and what failed for want of one may work now.
  const look = () => (started ? void subscriptions.now() : undefined);
  homeLink.onHome(look);
  homeLink.onLinked(look);
  return {
    routes: [
      ...sample.routes,
      ...connectors.routes(() => subscriptions.counts()),
      ...subscriptions.routes,
      ...automation.routes(subscriptions.lookup),
    ],
    async start() {
      sample.resume().catch((error) => log.warn('The sample service could not be started.', { fault: String(error) }));
      await automation.start();
      started = true;
      subscriptions.start();
    },
  };
}

/** Sign-ins by the id of a server. One that is gone has none. */
function signInsOf({ attached, oauth }: Tools): SignInPort {
  return {
    about: (id) => oauth.about(id),
    async begin(id) {
      const target = attached.signInAt(id);
      if (target === null) throw new Error(`${id} is no server that anybody signs in at.`);
      return oauth.begin(target);
    },
    async revoke(id) {
      const target = attached.signInAt(id);
      return target === null ? null : oauth.revoke(target);
    },
  };
}
