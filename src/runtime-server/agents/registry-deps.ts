/** The dependencies of the registry of agents. */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Store } from '../../kit/store/store.ts';
import type { Log } from '../base/base.ts';
import type { Harnesses } from '../harness/harness.ts';
import type { PaneEngine } from '../panes/pane-engine.ts';
import type { Shown } from './model.ts';
import type { Placements } from './placement.ts';
import type { Restarts } from './restarts.ts';

export interface RegistryDeps {
  readonly store: Store;
  readonly panes: PaneEngine;
  readonly harnesses: Pick<Harnesses, 'attach'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly workspace: string;
  readonly placements: Placements;
  /** Starts bots again that their pane host took along; absent: they end with it. */
  readonly restarts?: Pick<Restarts, 'wanted' | 'restart'>;
  /** Its state while a limit holds it. */
  readonly shownHeld?: ((agentId: string, own: Shown) => Shown) | undefined;
}
