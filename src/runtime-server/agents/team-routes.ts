/** Routes of teams, from the contract to the team service. */
import { checkTeam, listTeams, teamDown, teamUp } from '../../contracts/factory/routes.ts';
import { surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind, type Principal } from '../../kit/http/types.ts';
import type { ProgressBook } from '../base/progress.ts';
import type { TeamService } from './team-service.ts';

export function teamRoutes(deps: { readonly teams: TeamService; readonly progress: ProgressBook }): BoundRoute[] {
  const { teams, progress } = deps;
  const actor = (principal: Principal) => ({
    actor: principal.agentId ?? principal.userId,
    surface: surfaceOf(principal),
  });
  return [
    bind(listTeams, async () => ({ body: await teams.list() })),
    bind(teamUp, async (asked) => ({
      body: await progress.follow(asked, (onProgress) =>
        teams.up(asked.params.name, { ...asked.body, onProgress }, actor(asked.principal)),
      ),
    })),
    bind(teamDown, async ({ params, query, principal }) =>
      query.dryRun === true
        ? { body: { dryRun: true as const, plan: teams.planDown(params.name, { here: query.here === true }) } }
        : { body: await teams.down(params.name, actor(principal), { here: query.here === true }) },
    ),
    bind(checkTeam, ({ params }) => ({ body: teams.check(params.name) })),
  ];
}
