/** How the team service starts bots on other computers. */
import type { OnProgress } from '../../contracts/common/work-progress.ts';
import type { TeamPlanStep } from '../../contracts/factory/agent.ts';
import type { ResolvedTeam } from './team-file/resolve.ts';

export interface OtherComputer {
  readonly id: string;
  readonly name: string;
}

interface AbroadRequest {
  readonly preset?: string | undefined;
  readonly dryRun?: boolean | undefined;
  readonly onProgress?: OnProgress | undefined;
}

export interface Abroad {
  /** By its id, its cloud id or its name; null: this computer itself. `not_found` for one that is not paired, or unknown. */
  find(on: string): Promise<OtherComputer | null>;
  /** The computers that the bots of a team name, by the name that they use; those that are not paired are left out. */
  machinesOf(team: ResolvedTeam): Promise<ReadonlyMap<string, OtherComputer | null>>;
  /** Starts the bots of the team there that can run there and do not run yet. Fails whole, or starts all of them. */
  up(computer: OtherComputer, team: ResolvedTeam, folder: string, request: AbroadRequest): Promise<TeamPlanStep[]>;
}

/** For bots that another computer brought: they go no further. */
export const nowhere: Abroad = {
  find: async () => null,
  machinesOf: async () => new Map(),
  up: async () => [],
};
