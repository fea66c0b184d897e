/**
 * Composes computer use on a person's own computer: questions become approvals, the workspace's policy decides about actions, and browsers may not
 * reach Gantry's own listeners. Its executor performs runs, the models named in the settings plan them, and a daily sweep removes old ones. Must not
 * know what a call or a run does.
 */
import { join } from 'node:path';
import { programCommand } from '../kit/process/programs.ts';
import { shareStore } from '../kit/store/share-store.ts';
import type { Approvals } from '../runtime-server/approvals/index.ts';
import { createApprovalQuestions, createHands, type Hands } from '../runtime-server/computer-use/index.ts';
import { createPlanner } from '../runtime-server/computer-use/planner/index.ts';
import { type ComputerUse, createComputerUse, isLiving } from '../runtime-server/computer-use/runs/index.ts';
import type { Models } from '../runtime-server/models/index.ts';
import type { Policy } from '../runtime-server/policy/index.ts';
import { createDaily } from './daily.ts';
import type { RuntimeCore } from './runtime-core.ts';

export function createRuntimeHands(
  deps: RuntimeCore & {
    readonly policy: Policy;
    readonly approvals: Approvals;
    /** Where the person's browser finds Gantry. */
    readonly webOrigin: () => string;
    /** Ports of all of Gantry's listeners on this computer. */
    readonly ownPorts: () => readonly number[];
  },
): Hands {
  const hands = createHands({
    ...deps,
    questions: createApprovalQuestions(deps.approvals),
    command: programCommand('executor'),
    folder: join(deps.home, 'computer-use'),
    secret: deps.masterKey,
    uploads: { roots: [deps.workspace], hidden: [deps.home] },
    defaults: 'own',
    approver: 'owner',
    livingRun: (id) => deps.store.read((tx) => isLiving(tx, id)),
    approveUrl: () => `${deps.webOrigin()}/inbox`,
  });
  deps.closing.add('hands', () => hands.close());
  return hands;
}

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
