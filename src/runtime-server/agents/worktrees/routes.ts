/** Routes of worktrees, from the contract to the service. */
import {
  agentDiff,
  discardWorktree,
  keepWorktree,
  mergeWorktree,
  restoreWorktree,
} from '../../../contracts/factory/worktree-routes.ts';
import { surfaceOf } from '../../../kit/http/principals.ts';
import { type BoundRoute, bind, type Principal } from '../../../kit/http/types.ts';
import type { WorktreeService } from './index.ts';

export function worktreeRoutes(deps: { readonly worktrees: WorktreeService }): BoundRoute[] {
  const { worktrees } = deps;
  const by = (principal: Principal) => ({
    actor: principal.agentId ?? principal.userId,
    surface: surfaceOf(principal),
  });
  return [
    bind(agentDiff, async ({ params }) => ({ body: await worktrees.diff(params.id) })),
    bind(mergeWorktree, async ({ params, body, principal }) => ({
      body: await worktrees.end('merge', params.id, body, by(principal)),
    })),
    bind(keepWorktree, async ({ params, body, principal }) => ({
      body: await worktrees.end('keep', params.id, body, by(principal)),
    })),
    bind(discardWorktree, async ({ params, body, principal }) => ({
      body: await worktrees.end('discard', params.id, body, by(principal)),
    })),
    bind(restoreWorktree, async ({ params, body, principal }) => ({
      body: await worktrees.restore(params.id, body, by(principal)),
    })),
  ];
}
