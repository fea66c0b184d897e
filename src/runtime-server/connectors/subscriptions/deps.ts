/** The interfaces that subscriptions need from outside. Composed by `src/host/runtime-connectors.ts`. */

import type { EventData } from '../../../contracts/events/registry.ts';
import type { Sealer } from '../../../kit/secrets/sealer.ts';
import type { Tx } from '../../../kit/store/store.ts';
import type { Base } from '../../base/base.ts';
import type { AutomationPort, ConnectorBots, ConnectorServers, ConnectorTickets, Schemas } from '../ports.ts';

export interface SubscriptionLog {
  warn(message: string, facts?: Readonly<Record<string, unknown>>): void;
  error(message: string, facts?: Readonly<Record<string, unknown>>): void;
}

/** The home cloud, which receives for this computer. */
export interface EventHome {
  /** Its name: each home has its own subscriptions. */
  name(): string;
  /** Its public address; null: there is none now. */
  url(): string | null;
  /** As this computer's device, signed. Throws when it cannot be reached. */
  call(request: {
    readonly method: string;
    readonly path: string;
    readonly body: unknown;
    readonly signal: AbortSignal;
  }): Promise<{ readonly status: number; readonly body: unknown }>;
}

type Told = 'subscription.login_needed' | 'subscription.signed_in';
interface SubscriptionEvents {
  emit(tx: Tx, event: { readonly type: Told; readonly id: string; readonly data: EventData<Told> }): void;
}

export interface SubscriptionDeps extends Pick<Base, 'store' | 'ledger' | 'clock' | 'timers' | 'ids'> {
  readonly log: SubscriptionLog;
  readonly sealer: Sealer;
  /** A new `whsec_` secret. */
  readonly newSecret: () => string;
  readonly ownerId: string;
  readonly servers: ConnectorServers;
  readonly schemas: Pick<Schemas, 'check'>;
  readonly bots: ConnectorBots;
  readonly tickets: ConnectorTickets;
  readonly automation: AutomationPort;
  readonly home: EventHome;
  readonly events: SubscriptionEvents;
}
