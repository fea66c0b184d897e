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
import { createEgress } from '../kit/egress/egress.ts';
import { createSealer } from '../kit/secrets/sealer.ts';
import type { CloudBase } from './cloud-base.ts';
import { packageVersion } from './places.ts';

interface ComposedEdge extends Edge, Pick<EdgeEvents, 'start' | 'forgetOld'> {
  close(): Promise<void>;
}

export function composeEdge({
  identity,
  ...options
}: CloudBase & {
  readonly identity: Pick<Identity, 'admits' | 'keyOf'>;
  readonly events: EventBackbone;
  readonly engines: Engines;
  readonly link: Pick<Link, 'state'>;
  readonly advice: string;
  /** Without a slash at the end. */
  readonly edgeUrl: string;
  /** Private receivers that may be called all the same. */
  readonly allow: readonly string[];
}): ComposedEdge {
  const egress = options.egress.count('edge', createEgress({ allow: options.allow }));
  const events = createEdgeEvents({
    ...options,
    egress,
    trace: options.telemetry,
    watch: (lanes) => options.outboxes.watch('edge', lanes),
    sealer: createSealer({ masterKey: options.masterKey, purpose: 'edge' }),
    async mayStill({ userId, clientId, scope }) {
      if (!(await identity.admits(userId))) return false;
      const keyId = keyIdOf(clientId);
      if (keyId === null) return true;
      const key = await identity.keyOf(keyId);
      return key?.lives === true && key.scopes.includes(scope);
    },
  });
  const edge = createEdge({
    ...options,
    version: packageVersion(),
    events,
    apps: createApps({ ...options, keyOf: (id) => identity.keyOf(id) }),
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
