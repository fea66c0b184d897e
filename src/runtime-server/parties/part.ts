/** The interfaces that parts of the work engine share. Each part declares its other needs itself. */
import type { BoundRoute, OwnerLookups } from '../../kit/http/types.ts';
import type { Base } from '../base/base.ts';
import type { BotEvents } from '../events/bot-events.ts';
import type { Parties } from './parties.ts';

export interface EnginePartDeps extends Pick<Base, 'store' | 'ledger' | 'clock' | 'ids' | 'log'> {
  /** Absolute path of the one workspace. */
  readonly workspace: string;
  readonly parties: Parties;
  readonly events: BotEvents;
}

/** One part: its routes, and who may see the objects that they name. */
export interface EnginePart {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
}
