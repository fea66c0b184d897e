/** The work engine, beside runs: mail, ledger, leases, plans, programs, steering, triggers. Composed by the factory. */
import type { BoundRoute, OwnerLookups } from '../../kit/http/types.ts';
import type { ProgressBook } from '../base/progress.ts';
import { createLeases } from './leases.ts';
import { createLedgerPart } from './ledger.ts';
import { createMail } from './mail.ts';
import { createPeers } from './peers.ts';
import { createPlans, type PlanRunner } from './plans.ts';
import { createSteer, type SteerDeps } from './steer.ts';
import { createTriggers, type TriggerDeps } from './triggers.ts';

interface WorkEngine {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
}

type WorkEngineDeps = SteerDeps & TriggerDeps & { readonly runner: PlanRunner; readonly progress: ProgressBook };

export function createWorkEngine(deps: WorkEngineDeps): WorkEngine {
  const parts = [
    createMail(deps),
    createLedgerPart(deps),
    createLeases(deps),
    createPlans(deps),
    createPeers(deps),
    createSteer(deps),
    createTriggers(deps),
  ];
  return {
    routes: parts.flatMap((part) => part.routes),
    owners: Object.assign({}, ...parts.map((part) => part.owners)),
  };
}
