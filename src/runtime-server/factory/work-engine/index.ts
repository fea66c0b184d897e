/** The work engine: what bots and their person work with beside runs. Composed by the factory. */
import type { BoundRoute, OwnerLookups } from '../../../kit/http/types.ts';
import { type AgentRunReader, type AgentRunsDeps, type AgentRunWriter, createAgentRuns } from './agent-runs.ts';
import { createLeases } from './leases.ts';
import { createLedgerDoors } from './ledger.ts';
import { createMail } from './mail.ts';
import { createParties, type PartiesDeps } from './parties.ts';
import { createPeers } from './peers.ts';
import { createPlans, type PlanRunner } from './plans.ts';
import { createSteer, type SteerDeps } from './steer.ts';
import { createTickets, type TicketWriter } from './tickets.ts';
import { createTriggers, type TriggerDeps } from './triggers.ts';
import { type BotSecrets, createVault, type VaultDeps } from './vault.ts';

export interface WorkEngine {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  /** For whatever starts a bot. */
  readonly secrets: BotSecrets;
  /** For whatever brings work from outside. */
  readonly tickets: TicketWriter;
  /** For whatever runs bots. */
  readonly agentRuns: AgentRunWriter;
  /** For whatever shows them. */
  readonly agentRunReader: AgentRunReader;
}

export type WorkEngineDeps = Omit<SteerDeps & VaultDeps & TriggerDeps, 'parties' | 'registry' | 'tickets'> & {
  readonly registry: PartiesDeps['registry'] & SteerDeps['registry'] & VaultDeps['registry'];
  readonly runner: PlanRunner;
  readonly usageOf: AgentRunsDeps['usageOf'];
};

export function createWorkEngine(given: WorkEngineDeps): WorkEngine {
  const deps = { ...given, parties: createParties(given) };
  const vault = createVault(deps);
  const tickets = createTickets(deps);
  const agentRuns = createAgentRuns(deps);
  const parts = [
    createMail(deps),
    createLedgerDoors(deps),
    createLeases(deps),
    createPlans(deps),
    createPeers(deps),
    createSteer(deps),
    vault,
    tickets,
    createTriggers({ ...deps, tickets: tickets.writer }),
    agentRuns,
  ];
  return {
    routes: parts.flatMap((part) => part.routes),
    owners: Object.assign({}, ...parts.map((part) => part.owners)),
    secrets: vault.secrets,
    tickets: tickets.writer,
    agentRuns: agentRuns.writer,
    agentRunReader: agentRuns.reader,
  };
}
