/**
 * The cloud's half of the factory: passes every route of the runtime except approvals on unread. The caller is authenticated here; the runtime gets the
 * link's own credential and the user for whom it acts. Must not know what the routes mean, and has no table.
 */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { factoryEventStream, factoryRoutes } from '../../contracts/factory/routes.ts';
import { defaultBodyLimit } from '../../kit/http/body.ts';
import { type BoundRoute, bindPassThrough, type Context } from '../../kit/http/types.ts';
import { Unanswered } from '../link/ask.ts';
import { deliver } from '../link/deliver.ts';
import type { EngineQuestion, Engines } from '../link/engines.ts';
import { createMergedStream } from './merge-events.ts';

/** The part of approvals whose events go into the runtime's stream. */
interface ApprovalEvents {
  onEvent(
    listener: (event: { readonly userId: string; readonly id: string; readonly data: unknown }) => void,
  ): () => void;
  /** The ledger's position before the approval of this event id; null when the user has no such event. */
  ledgerIdOf(eventId: string, userId: string): Promise<string | null>;
}

interface FactoryProxy {
  readonly routes: readonly BoundRoute[];
}

/** Forms with files; the runtime enforces the exact limit of each. */
const largestForm = 32 * 1024 * 1024;

export function createFactoryProxy(deps: {
  readonly engines: Pick<Engines, 'targetOf' | 'ask'>;
  /** What to do when a runtime does not answer, such as how to start it. */
  readonly advice: string;
  readonly approvals: ApprovalEvents;
}): FactoryProxy {
  const { engines, approvals } = deps;

  async function callOf(context: Context<Route>, route: Route): Promise<EngineQuestion> {
    return { context, ...(await engines.targetOf(context)), limit: limitOf(route) };
  }

  async function pass(context: Context<Route>, route: Route): Promise<void> {
    await deliver(await send(await callOf(context, route)), context);
  }

  /** The runtime's stream, with the caller's own approval events merged in. */
  async function passEvents(context: Context<Route>, route: Route): Promise<void> {
    const { principal, response } = context;
    const call = await callOf(context, route);
    const ledgerId = (cursor: string) => approvals.ledgerIdOf(cursor, principal.userId);
    const resumeFrom = context.request.headers['last-event-id'];
    const [plain = call.path, search = ''] = call.path.split('?', 2);
    const query = new URLSearchParams(search);
    const after = query.get('after');
    if (after !== null) query.set('after', (await ledgerId(after)) ?? after);
    const merged = createMergedStream();
    // Subscribe before asking the runtime, so that no event falls between its answer and our listening.
    const stop = approvals.onEvent((event) => {
      if (event.userId === principal.userId) merged.inject(event);
    });
    response.once('close', stop);
    try {
      const answer = await send({
        ...call,
        path: query.size === 0 ? plain : `${plain}?${query}`,
        ...(typeof resumeFrom === 'string'
          ? { headers: { 'last-event-id': (await ledgerId(resumeFrom)) ?? resumeFrom } }
          : {}),
      });
      await deliver(answer, context, answer.statusCode === 200 ? merged.stream : undefined);
    } finally {
      stop();
    }
  }

  async function send(question: EngineQuestion): Promise<IncomingMessage> {
    try {
      return await engines.ask(question);
    } catch (thrown) {
      throw thrown instanceof Unanswered ? away(thrown.cause) : thrown;
    }
  }

  function away(cause: NodeJS.ErrnoException): AppError {
    const fact = `The runtime of this computer does not answer (${cause.code ?? cause.message}).`;
    return new AppError('transport', fact, deps.advice, { cause });
  }

  return {
    routes: factoryRoutes.map((route) =>
      bindPassThrough(route, (context) =>
        route === factoryEventStream ? passEvents(context, route) : pass(context, route),
      ),
    ),
  };
}

function limitOf(route: Route): number {
  return route.bodyLimit ?? (route.kind === 'raw' ? largestForm : defaultBodyLimit);
}
