/**
 * Composes connectors on the runtime: other people's servers with their credentials, the subscriptions to their events, and the automatic runs of
 * bots on those events. Must not know what an event is.
 */
import { join } from 'node:path';
import type { Clock } from '../kit/clock/clock.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import { localUserId } from '../kit/http/principals.ts';
import type { BoundRoute } from '../kit/http/types.ts';
import type { Ids } from '../kit/ids/ids.ts';
import type { Ledger } from '../kit/ledger/ledger.ts';
import type { Log } from '../kit/log/log.ts';
import { createSchemaChecker } from '../kit/schemas/checker.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { newWebhookSecret } from '../kit/signing/webhook.ts';
import type { Store } from '../kit/store/store.ts';
import type { Approvals } from '../runtime-server/approvals/index.ts';
import type { SignInPort } from '../runtime-server/connectors/attached.ts';
import { createAutomation } from '../runtime-server/connectors/automation/index.ts';
import { createConnectors } from '../runtime-server/connectors/index.ts';
import { createSampleService } from '../runtime-server/connectors/sample.ts';
import { createSubscriptions } from '../runtime-server/connectors/subscriptions/index.ts';
import type { Outbox } from '../runtime-server/events/outbox.ts';
import type { Closing } from './closing.ts';
import type { DataFolder } from './data-folder.ts';
import type { Factory } from './factory/factory.ts';
import type { HomeLink } from './home-link.ts';
import { packageRoot } from './places.ts';
import type { RuntimeTools } from './runtime-tools.ts';

interface RuntimeConnectorsDeps {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly tools: Pick<RuntimeTools, 'attached' | 'oauth'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly folder: DataFolder;
  readonly homeLink: HomeLink;
  readonly approvals: Approvals;
  readonly outbox: Outbox;
  readonly factory: Factory;
  readonly closing: Closing;
}

interface RuntimeConnectors {
  readonly routes: readonly BoundRoute[];
  /** Takes up what was begun. Waits for no server. */
  start(): Promise<void>;
}

export function createRuntimeConnectors(deps: RuntimeConnectorsDeps): RuntimeConnectors {
  const { store, ledger, clock, ids, log, homeLink, outbox, factory, closing } = deps;
  const { attached } = deps.tools;
  const { home } = homeLink;
  const connectors = createConnectors({ attached: attached.servers, signIns: signInsOf(deps.tools), log });
  const sample = createSampleService({
    program: join(packageRoot(), 'examples', 'mcp-events', 'server.mjs'),
    attached: attached.servers,
    fetch,
  });
  closing.add('sample service', () => sample.close());
  const schemas = createSchemaChecker({ timers: systemTimers });
  closing.add('schemas of others', () => schemas.close());
  const automation = createAutomation({
    ...factory.connectors,
    store,
    ledger,
    clock,
    timers: systemTimers,
    ids,
    log,
    schemas,
    approvals: deps.approvals,
    connector: (id) => connectors.servers.find(id) !== null,
  });
  closing.add('automation', () => automation.close());
  const subscriptions = createSubscriptions({
    ...factory.connectors,
    store,
    ledger,
    clock,
    timers: systemTimers,
    ids,
    log,
    sealer: createSealer({ masterKey: deps.folder.masterKey, purpose: 'connector-subscriptions' }),
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
function signInsOf({ attached, oauth }: RuntimeConnectorsDeps['tools']): SignInPort {
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
