/**
 * How a cloud is served: one dispatcher over the routes of all areas, with the page, the link and the pipes between replicas at the same listener. Must
 * not know what the areas do.
 */

import { pipeMount } from '../cloud-api/link/replica-proof.ts';
import { linkPath } from '../contracts/link/dial-in.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import { createDispatcher, type Dispatcher, type DispatcherOptions } from '../kit/http/dispatcher.ts';
import { createGuard, type Listener } from '../kit/http/guard.ts';
import { createIdempotency } from '../kit/http/idempotency.ts';
import { createOwnerAuthenticator } from '../kit/http/principals.ts';
import { createSharedCount } from '../kit/http/shared-count.ts';
import { metricsRoute } from '../kit/metrics/route.ts';
import type { CloudAreas, CloudParts } from './cloud-areas.ts';
import type { CloudOptions } from './cloud-options.ts';
import { noComputerHere } from './computers.ts';
import { createHomeDispatcher } from './home-dispatcher.ts';
import { createUpgradeListener, createWebListener, isPage, isWayBack } from './web-listener.ts';

const minuteMs = 60_000;

export function serveCloud(parts: CloudParts, areas: Pick<CloudAreas, 'routes' | 'owners' | 'hosted'>): Dispatcher {
  const { mode, store, identity, composed, local, origin, clock, ids, log, addressOf } = parts;
  const { link, upgrade, between } = composed.linkEnd;
  const ownEdge = ownEdgeOf(mode);
  const listener: Listener =
    mode.kind === 'embedded'
      ? { kind: 'tcp', origins: 'own', navigable: isWayBack }
      : { kind: 'public', origin, navigable: isPage };
  const serving: DispatcherOptions = {
    // Nothing is dialled at the edge's own origin.
    listener: listener.kind === 'public' && ownEdge !== undefined ? { ...listener, beside: ownEdge } : listener,
    authenticators: [
      ...(local === null ? [] : [createOwnerAuthenticator(local.ownerToken)]),
      composed.area.authenticator,
      ...identity.authenticators,
      composed.authenticator,
    ],
    routes: [
      ...areas.routes,
      ...(local?.pairing ?? noComputerHere),
      metricsRoute([...parts.metrics, ...areas.hosted.metrics], log),
    ],
    meter: parts.meter,
    telemetry: parts.telemetry,
    owners: areas.owners,
    ids,
    log,
    idempotency: createIdempotency(store, clock),
    admits: (userId) => identity.admits(userId),
    expiry: { clock, timers: systemTimers },
    metadataUrl: (path) => identity.metadataUrl(path),
    limits: parts.limits,
    addressOf,
    failures: store.engine === 'sqlite' ? undefined : createSharedCount({ store, clock, windowMs: minuteMs }),
    answers: parts.answers,
    unclaimed: 'pass',
  };
  const dispatcher =
    local?.home === undefined
      ? createDispatcher(serving)
      : createHomeDispatcher(serving, {
          home: local.home,
          computerId: local.computer.id,
          link,
          timers: systemTimers,
        });

  parts.listener.serve(
    createWebListener({ dispatcher, log, folder: parts.rendererFolder, edgeUrl: ownEdge }),
    upgrade === undefined
      ? undefined
      : createUpgradeListener({
          guard: createGuard(listener),
          dialled: { path: linkPath, take: upgrade },
          between: between === undefined ? undefined : { mount: pipeMount, take: between },
        }),
  );
  return dispatcher;
}

/** The address of an edge of its own; undefined: the edge is below this cloud's address. */
export const ownEdgeOf = (mode: CloudOptions['mode']) => (mode.kind === 'headless' && mode.eventsEdgeUrl) || undefined;
