/**
 * The REST routes of tools and attached servers on their way to the caller's computer, unread (gaps.md B, "Which computer"). Must not
 * know what they mean.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { serverRoutes } from '../../contracts/tool-server/servers.ts';
import { toolRoutes } from '../../contracts/tool-server/tools.ts';
import { defaultBodyLimit } from '../../kit/http/body.ts';
import { type BoundRoute, bindPassThrough, type Context } from '../../kit/http/types.ts';
import { Unanswered } from '../link/ask.ts';
import { deliver } from '../link/deliver.ts';
import type { EngineQuestion, Engines } from '../link/engines.ts';

export interface ToolProxyDeps {
  readonly engines: Pick<Engines, 'targetOf' | 'ask'>;
  /** What to do when a computer does not answer. */
  readonly advice: string;
}

export function createToolProxy({ engines, advice }: ToolProxyDeps): { readonly routes: readonly BoundRoute[] } {
  const pass = async (context: Context<Route>, route: Route): Promise<void> => {
    const limit = route.bodyLimit ?? defaultBodyLimit;
    await passToEngine(engines, advice, { context, ...(await engines.targetOf(context)), limit });
  };
  return {
    routes: [...toolRoutes, ...serverRoutes].map((route) => bindPassThrough(route, (context) => pass(context, route))),
  };
}

/** Throws `computer_unavailable` while the computer is away. */
export async function passToEngine(
  engines: Pick<Engines, 'ask'>,
  advice: string,
  question: EngineQuestion & { readonly context: Context<Route> },
): Promise<void> {
  try {
    await deliver(await engines.ask(question), question.context);
  } catch (thrown) {
    if (!(thrown instanceof Unanswered)) throw thrown;
    const { cause } = thrown;
    const fact = `The computer does not answer (${cause.code ?? cause.message}).`;
    throw new AppError('transport', fact, advice, { wireCode: 'computer_unavailable', cause });
  }
}
