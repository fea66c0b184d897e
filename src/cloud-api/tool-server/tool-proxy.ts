/**
 * Passes the REST routes of tools and attached servers to the caller's computer, unread. Must not know what they mean.
 */
import type { Route } from '../../contracts/common/route.ts';
import { serverRoutes } from '../../contracts/tool-server/servers.ts';
import { toolRoutes } from '../../contracts/tool-server/tools.ts';
import { defaultBodyLimit } from '../../kit/http/body.ts';
import { type BoundRoute, bindPassThrough, type Context } from '../../kit/http/types.ts';
import type { Engines } from '../link/engines.ts';
import { passToEngine } from '../link/pass-to-engine.ts';

export function createToolProxy({
  engines,
  advice,
}: {
  readonly engines: Pick<Engines, 'targetOf' | 'ask'>;
  /** What to do when a computer does not answer. */
  readonly advice: string;
}): { readonly routes: readonly BoundRoute[] } {
  const pass = async (context: Context<Route>, route: Route): Promise<void> => {
    const limit = route.bodyLimit ?? defaultBodyLimit;
    await passToEngine(engines, advice, { context, ...(await engines.targetOf(context)), limit });
  };
  return {
    routes: [...toolRoutes, ...serverRoutes].map((route) => bindPassThrough(route, (context) => pass(context, route))),
  };
}
