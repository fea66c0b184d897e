/** The work engine (gaps.md C, "Work-engine routes"): what bots and their person work with beside runs. Composed by the factory. */
import type { BoundRoute, OwnerLookups } from '../../../kit/http/types.ts';
import type { EnginePartDeps } from './deps.ts';
import { createLedgerDoors } from './ledger.ts';
import { createMail } from './mail.ts';
import { createParties, type PartiesDeps } from './parties.ts';

export interface WorkEngine {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
}

export type WorkEngineDeps = Omit<EnginePartDeps, 'parties'> & PartiesDeps;

export function createWorkEngine(deps: WorkEngineDeps): WorkEngine {
  const shared: EnginePartDeps = { ...deps, parties: createParties(deps) };
  const parts = [createMail(shared), createLedgerDoors(shared)];
  return {
    routes: parts.flatMap((part) => part.routes),
    owners: Object.assign({}, ...parts.map((part) => part.owners)),
  };
}
