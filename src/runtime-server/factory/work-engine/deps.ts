/** What the parts of the work engine need from outside. Each declares what it needs beyond this itself. */
import type { Clock } from '../../../kit/clock/clock.ts';
import type { BoundRoute, OwnerLookups } from '../../../kit/http/types.ts';
import type { Ids } from '../../../kit/ids/ids.ts';
import type { Ledger } from '../../../kit/ledger/ledger.ts';
import type { Store } from '../../../kit/store/store.ts';
import type { BotEvents } from '../bot-events.ts';
import type { Parties } from './parties.ts';

export interface EnginePartDeps {
  readonly store: Store;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Absolute path of the one workspace. */
  readonly workspace: string;
  readonly parties: Parties;
  readonly events: BotEvents;
}

/** One part: its doors, and who may see what they name. */
export interface EnginePart {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
}
