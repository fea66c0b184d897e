/**
 * Composes computer-use runs of a person's own computer: its executor performs them, the models named in its settings plan them, and a daily sweep
 * removes old ones. Must not know what a run does.
 */
import { join } from 'node:path';
import type { Clock } from '../kit/clock/clock.ts';
import { systemTimers } from '../kit/clock/timers.ts';
import type { Ids } from '../kit/ids/ids.ts';
import type { Log } from '../kit/log/log.ts';
import { shareStore } from '../kit/store/share-store.ts';
import type { Store } from '../kit/store/store.ts';
import type { Hands } from '../runtime-server/computer-use/index.ts';
import { createPlanner } from '../runtime-server/computer-use/planner/index.ts';
import { type ComputerUse, createComputerUse } from '../runtime-server/computer-use/runs/index.ts';
import type { Models } from '../runtime-server/models/index.ts';
import type { Closing } from './closing.ts';
import { createDaily } from './daily.ts';

export function createRuntimeRuns(deps: {
  readonly store: Store;
  readonly hands: Pick<Hands, 'gate'>;
  readonly models: Models;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** `GANTRY_HOME`. */
  readonly home: string;
  readonly closing: Closing;
}): Pick<ComputerUse, 'routes' | 'owners' | 'start'> {
  const { store, models, clock, ids, log } = deps;
  const runs = createComputerUse({
    store,
    clock,
    ids,
    log,
    gate: deps.hands.gate,
    timers: systemTimers,
    planner: createPlanner({ models, platform: process.platform }),
    spent: models.record,
    folder: join(deps.home, 'computer-use'),
  });
  deps.closing.add('computer-use runs', () => runs.close());
  const daily = createDaily({
    store: shareStore(store),
    clock,
    timers: systemTimers,
    areas: [runs],
    onFault: (fault) => log.warn('Expired records could not be removed.', { fault: String(fault) }),
  });
  deps.closing.add('removal of what is old', () => daily.close());
  return {
    routes: runs.routes,
    owners: runs.owners,
    async start() {
      await runs.start();
      daily.start();
    },
  };
}
