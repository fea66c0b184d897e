/**
 * Composition root of the cloud API (architecture.md, "Processes and ports"): identity, the factory proxy and the web
 * interface on 127.0.0.1:3010. Embedded in one process with the runtime, or apart; it reaches a runtime only over the link.
 */
import { join } from 'node:path';
import express from 'express';
import { approvalMigrations, createApprovals } from '../cloud-api/approvals/index.ts';
import { createFactoryProxy } from '../cloud-api/factory/index.ts';
import { createIdentity, identityMigrations } from '../cloud-api/identity/index.ts';
import { createRuntimeCalls } from '../cloud-api/link/call-runtime.ts';
import { createDevices, deviceMigrations } from '../cloud-api/link/devices.ts';
import type { Link } from '../cloud-api/link/link.ts';
import { createPages } from '../cloud-api/pages/index.ts';
import { createTriggerDoor } from '../cloud-api/triggers/index.ts';
import { AppError } from '../contracts/common/errors.ts';
import type { Route } from '../contracts/common/route.ts';
import { unbuiltRoutes } from '../contracts/unbuilt.ts';
import type { Clock } from '../kit/clock/clock.ts';
import { createDispatcher, type DispatcherOptions, type HttpLog } from '../kit/http/dispatcher.ts';
import { createIdempotency, idempotencyMigrations } from '../kit/http/idempotency.ts';
import { createOwnerAuthenticator, localUserId } from '../kit/http/principals.ts';
import { bindUnbuilt } from '../kit/http/unbuilt.ts';
import type { Ids } from '../kit/ids/ids.ts';
import { createLanes } from '../kit/lane/create-lanes.ts';
import { laneMigrations } from '../kit/lane/migrations.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import { createDeviceAuthenticator, signingMigrations } from '../kit/signing/authenticator.ts';
import { openStore } from '../kit/store/open-store.ts';
import { createClosing } from './closing.ts';
import type { OpenDoor } from './doors.ts';
import { stopReason } from './engine-server.ts';
import { packageRoot, packageVersion } from './places.ts';

export interface CloudOptions {
  readonly databaseFile: string;
  /** The port of the web interface, taken but not yet served. */
  readonly door: OpenDoor;
  readonly link: Link;
  readonly ownerToken: string;
  /** Seals what signs for the computers. */
  readonly masterKey: string;
  /** The computer of the same process: it needs no pairing. */
  readonly device: { readonly computerId: string; readonly userId: string; readonly token: string };
  readonly computer: { readonly id: string; readonly name: string };
  readonly userName: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: HttpLog;
  /** How a person calls Gantry from where they read this, such as `npx gantry`. */
  readonly gantry: string;
  /** Folder of the built web interface; default `out/renderer`. */
  readonly rendererFolder?: string;
  readonly limits?: DispatcherOptions['limits'];
  readonly answers?: DispatcherOptions['answers'];
}

export interface Cloud {
  /** `http://127.0.0.1:<port>` */
  readonly origin: string;
  readonly notices: readonly string[];
  readonly routes: readonly Route[];
  /** A fresh one-time address. */
  openUrl(next?: string): Promise<{ url: string; expiresAt: string }>;
  close(): Promise<void>;
}

const closeLimitMs = 2_000;
/** A bot waits for the answer, and the engine of the same process is up within a second. */
const answerBackoffMs = [200, 500, 1000, 1000, 2000, 5000, 10_000, 30_000];

export async function createCloud(options: CloudOptions): Promise<Cloud> {
  const { clock, ids, log, computer, gantry } = options;
  const closing = createClosing({
    limitMs: closeLimitMs,
    onFault: (step, fault) => log.error('cloud did not close cleanly', { step, fault: String(fault) }),
  });
  try {
    const store = await openStore({
      file: options.databaseFile,
      migrations: [
        ...identityMigrations,
        ...idempotencyMigrations,
        ...laneMigrations,
        ...signingMigrations,
        ...deviceMigrations,
        ...approvalMigrations,
      ],
      clock,
    });
    closing.add('cloud.db', () => store.close());
    const origin = `http://127.0.0.1:${options.door.port}`;
    const identity = await createIdentity({
      store,
      clock,
      log,
      userId: localUserId,
      userName: options.userName,
      computer,
      version: packageVersion(),
      origin,
      openCommand: `${gantry} open`,
    });
    const devices = createDevices({
      store,
      sealer: createSealer({ masterKey: options.masterKey, purpose: 'device' }),
      clock,
    });
    await devices.know(options.device);
    const runtimes = createRuntimeCalls({ link: options.link, devices, clock });
    closing.add('calls to computers', () => runtimes.close());
    const approvals = createApprovals({
      store,
      clock,
      log,
      call: (computerId, request) => runtimes.call(computerId, request),
      openLanes: (send) =>
        createLanes({
          store,
          clock,
          name: 'answers',
          send,
          backoffMs: answerBackoffMs,
          onFault: (fault) => log.error('An answer to an approval could not be sent.', { fault: String(fault) }),
        }),
    });
    closing.add('approvals', () => approvals.close());
    const triggers = createTriggerDoor({
      store,
      clock,
      ids,
      log,
      knows: async (computerId) => (await devices.find(computerId)) !== null,
      call: (computerId, request) => runtimes.call(computerId, request),
      openLanes: (send) =>
        createLanes({
          store,
          clock,
          name: 'triggers',
          send,
          onFault: (fault) => log.error('What was posted to a trigger could not be brought.', { fault: String(fault) }),
        }),
    });
    closing.add('triggers', () => triggers.close());
    const proxy = createFactoryProxy({
      link: options.link,
      computerId: computer.id,
      startCommand: `${gantry} start`,
      approvals: approvals.service,
    });
    closing.add('link', () => proxy.close());
    const dispatcher = createDispatcher({
      door: { kind: 'tcp', origins: 'own' },
      authenticators: [
        createOwnerAuthenticator(options.ownerToken),
        identity.authenticator,
        createDeviceAuthenticator({ store, clock, find: (id) => devices.find(id) }),
      ],
      routes: [
        ...identity.routes,
        ...approvals.routes,
        ...proxy.routes,
        ...triggers.routes,
        ...unbuiltRoutes.filter((route) => route.server !== 'engine').map(bindUnbuilt),
      ],
      owners: approvals.owners,
      ids,
      log,
      idempotency: createIdempotency(store, clock),
      limits: options.limits,
      answers: options.answers,
      unclaimed: 'pass',
    });

    const app = express();
    app.disable('x-powered-by');
    app.disable('etag');
    app.use((request, response, next) => {
      dispatcher.handle(request, response).then((handled) => {
        if (!handled) next();
      }, next);
    });
    const folder = options.rendererFolder ?? join(packageRoot(), 'out', 'renderer');
    for (const page of createPages({ folder, buildCommand: 'npm run build' })) app.use(page);
    app.use(((fault, _request, response, _next) => {
      log.error('page failed', { fault: fault instanceof Error ? fault.stack : String(fault) });
      if (response.headersSent) response.destroy();
      else response.status(500).json(new AppError('internal', 'The page failed.', 'Reload it.').toPlain());
    }) satisfies express.ErrorRequestHandler);

    options.door.serve(app);
    await approvals.start();
    await triggers.start();
    closing.add('web requests', async () => {
      dispatcher.close(stopReason);
      await options.door.close();
    });
    return {
      origin,
      notices: store.notices,
      routes: dispatcher.routes,
      openUrl: (next) => identity.createOpenUrl(next),
      close: () => closing.close(),
    };
  } catch (error) {
    await closing.close();
    throw error;
  }
}
