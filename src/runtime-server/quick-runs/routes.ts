/** The routes of new runs, from the contract to the service. */
import * as table from '../../contracts/factory/quick-run-routes.ts';
import { surfaceOf } from '../../kit/http/principals.ts';
import { type BoundRoute, bind, type Principal } from '../../kit/http/types.ts';
import type { QuickRuns } from './index.ts';

export function quickRunRoutes(runs: QuickRuns): BoundRoute[] {
  return [
    bind(table.quickRunChoices, async () => ({ body: await runs.choices() })),
    bind(table.listQuickRuns, async ({ query }) => ({ body: await runs.list(query) })),
    bind(table.getQuickRun, async ({ params }) => ({ body: await runs.get(params.id) })),
    bind(table.quickRunDiff, async ({ params, query }) => ({ body: await runs.diff(params.id, query.bot) })),
    bind(table.startQuickRun, async ({ body, principal }) => {
      const answer = await runs.start(body, actorOf(principal));
      return 'dryRun' in answer ? { status: 200 as const, body: answer } : { status: 201 as const, body: answer };
    }),
    bind(table.endQuickRun, async ({ params, body, principal }) => ({
      body: await runs.end(params.id, body, actorOf(principal)),
    })),
    bind(table.saveQuickRun, async ({ params, body, principal }) => ({
      body: await runs.save(params.id, body, actorOf(principal)),
    })),
  ];
}

const actorOf = (principal: Principal) => ({ actor: principal.userId, surface: surfaceOf(principal) });
