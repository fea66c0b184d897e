/**
 * Composes computer-use runs of a person's own computer: its executor performs them, the models named in its settings plan them, and a daily sweep
 * removes old ones. Must not know what a run does.
 */
import { join } from 'node:path';
import { shareStore } from '../kit/store/share-store.ts';
import type { Hands } from '../runtime-server/computer-use/index.ts';
import { createPlanner } from '../runtime-server/computer-use/planner/index.ts';
import { type ComputerUse, createComputerUse } from '../runtime-server/computer-use/runs/index.ts';
import type { Models } from '../runtime-server/models/index.ts';
import { createDaily } from './daily.ts';
import type { RuntimeCore } from './runtime-core.ts';

export function createRuntimeRuns({
  hands,
  models,
  ...core
}: RuntimeCore & { readonly hands: Pick<Hands, 'gate'>; readonly models: Models }): Pick<
  ComputerUse,
  'routes' | 'owners' | 'start'
> {
  const { store, log, closing } = core;
  const runs = createComputerUse({
    ...core,
    gate: hands.gate,
    planner: createPlanner({ models, platform: process.platform }),
    spent: models.record,
    folder: join(core.home, 'computer-use'),
  });
  closing.add('computer-use runs', () => runs.close());
  const daily = createDaily({
    ...core,
    store: shareStore(store),
    areas: [runs],
    onFault: (fault) => log.warn('Expired records could not be removed.', { fault: String(fault) }),
  });
  closing.add('removal of what is old', () => daily.close());
  return {
    routes: runs.routes,
    owners: runs.owners,
    async start() {
      await runs.start();
      daily.start();
    },
  };
}
