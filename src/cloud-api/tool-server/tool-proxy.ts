/**
 * Passes the REST routes of tools and attached servers to the caller's computer, unread; a key that names its tools gets only those. Must not know what
 * a tool does.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import type { KeyTools } from '../../contracts/identity/keys.ts';
import { serverRoutes } from '../../contracts/tool-server/servers.ts';
import { listTools, toolRoutes } from '../../contracts/tool-server/tools.ts';
import { baseHeaders } from '../../kit/http/base-headers.ts';
import { defaultBodyLimit } from '../../kit/http/body.ts';
import { type BoundRoute, bindPassThrough, type Context } from '../../kit/http/types.ts';
import { byBytes, safeNames } from '../../kit/mcp/names.ts';
import type { Engines } from '../link/engines.ts';
import { passToEngine } from '../link/pass-to-engine.ts';
import { findTool, hasTool } from './named-tools.ts';
import type { ListedTools } from './tools-of.ts';

export function createToolProxy({
  engines,
  advice,
  toolsOf,
}: {
  readonly engines: Pick<Engines, 'targetOf' | 'ask'>;
  /** What to do when a computer does not answer. */
  readonly advice: string;
  readonly toolsOf: ListedTools;
}): {
  readonly routes: readonly BoundRoute[];
} {
  const pass = async (context: Context<Route>, route: Route, named: string | null): Promise<void> => {
    const limit = route.bodyLimit ?? defaultBodyLimit;
    const target = await engines.targetOf(context);
    await passToEngine(engines, advice, { context, ...target, ...(named === null ? {} : { path: named }), limit });
  };

  async function list(context: Context<Route>, set: KeyTools): Promise<void> {
    const { request, response } = context;
    const all = await toolsOf(context, true);
    const seen = all.filter(({ name }) => hasTool(set, name));
    const asSafe = new URLSearchParams(request.url?.split('?', 2)[1]).get('names') === 'safe';
    const safe = safeNames(all.map(({ name }) => name));
    const tools = asSafe
      ? seen
          .map((tool) => ({ ...tool, name: safe.get(tool.name) ?? tool.name }))
          .sort((a, b) => byBytes(a.name, b.name))
      : seen;
    const body = JSON.stringify({ tools });
    response.writeHead(200, { ...baseHeaders, 'content-type': 'application/json' }).end(body);
  }

  /** By the name that was looked up, whatever the other spelling stands for by now. */
  async function one(context: Context<Route>, route: Route, set: KeyTools): Promise<void> {
    const written = nameIn(context.request.url ?? '');
    const found = written === null ? null : await findTool(set, written, (fresh) => toolsOf(context, fresh));
    if (found === null) {
      const fact = `There is no tool ${JSON.stringify(written)}.`;
      throw new AppError('not_found', fact, 'See GET /api/v1/tools.', { wireCode: 'tool_not_found' });
    }
    await pass(context, route, route.path.replace(':name', encodeURIComponent(found)));
  }

  const handle = (route: Route) => (context: Context<Route>) => {
    const { tools } = context.principal;
    if (tools === undefined) return pass(context, route, null);
    return route.op === listTools.op ? list(context, tools) : one(context, route, tools);
  };
  return {
    routes: [
      ...toolRoutes.map((route) => bindPassThrough(route, handle(route))),
      ...serverRoutes.map((route) => bindPassThrough(route, (context) => pass(context, route, null))),
    ],
  };
}

/** Of `/api/v1/tools/<name>` and what follows it; null: it cannot be read. */
function nameIn(url: string): string | null {
  try {
    return decodeURIComponent(/^\/api\/v1\/tools\/([^/?]+)/.exec(url)?.[1] ?? '');
  } catch {
    return null;
  }
}
