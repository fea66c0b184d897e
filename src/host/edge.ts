/**
 * Joins the public edge to the rest of a cloud: the backbone's events, the computers that tools ask, and the keys and people whose rights each
 * delivery checks.
 */
import {
  createApps,
  createEdge,
  createEdgeEvents,
  type Edge,
  type EdgeEvents,
  keyIdOf,
} from '../cloud-api/edge/index.ts';
import type { EventBackbone } from '../cloud-api/events/index.ts';
import type { Identity } from '../cloud-api/identity/index.ts';
import type { Engines } from '../cloud-api/link/engines.ts';
import type { Link } from '../cloud-api/link/link.ts';
import type { Clock } from '../kit/clock/clock.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import { createEgress } from '../kit/egress/egress.ts';
import type { EgressMeter } from '../kit/egress/egress-metrics.ts';
import type { HttpLog } from '../kit/http/dispatcher.ts';
import type { Ids } from '../kit/ids/ids.ts';
import type { LaneMetrics } from '../kit/lane/lane-metrics.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import type { SharedStore } from '../kit/store/shared-store.ts';
import type { Telemetry } from '../kit/telemetry/telemetry.ts';
import { packageVersion } from './places.ts';

interface ComposedEdge extends Edge, Pick<EdgeEvents, 'start' | 'forgetOld'> {
  close(): Promise<void>;
}

export function composeEdge(options: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: HttpLog;
  readonly masterKey: string;
  readonly identity: Pick<Identity, 'admits' | 'keyOf'>;
  readonly events: EventBackbone;
  readonly engines: Engines;
  readonly link: Pick<Link, 'state'>;
  readonly advice: string;
  /** Without a slash at the end. */
  readonly edgeUrl: string;
  /** Private receivers that may be called all the same. */
  readonly allow: readonly string[];
  readonly outboxes: LaneMetrics;
  readonly egress: EgressMeter;
  readonly telemetry?: Telemetry | undefined;
}): ComposedEdge {
  const { store, clock, ids, log, identity } = options;
  const egress = options.egress.count('edge', createEgress({ allow: options.allow }));
  const events = createEdgeEvents({
    store,
    clock,
    timers: systemTimers,
    ids,
    log,
    egress,
    trace: options.telemetry,
    watch: (lanes) => options.outboxes.watch('edge', lanes),
    sealer: createSealer({ masterKey: options.masterKey, purpose: 'edge' }),
    events: options.events,
    async mayStill({ userId, clientId, scope }) {
      if (!(await identity.admits(userId))) return false;
      const keyId = keyIdOf(clientId);
      if (keyId === null) return true;
      const key = await identity.keyOf(keyId);
      return key?.lives === true && key.scopes.includes(scope);
    },
  });
  const edge = createEdge({
    engines: options.engines,
    link: options.link,
    advice: options.advice,
    edgeUrl: options.edgeUrl,
    log,
    version: packageVersion(),
    events,
    apps: createApps({ store, clock, keyOf: (id) => identity.keyOf(id) }),
  });
  return {
    ...edge,
    start: () => events.start(),
    forgetOld: (now) => events.forgetOld(now),
    async close() {
      await events.close();
      await egress.close();
    },
  };
}
