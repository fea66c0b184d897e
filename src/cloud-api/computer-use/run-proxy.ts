/**
 * Passes runs and sessions to the caller's computer, reading only which computer is meant. Has no table: the computer
 * keeps them. Must not know what a run does.
 */
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { createSession, executeRun, runRoutes } from '../../contracts/computer-use/run-routes.ts';
import { defaultBodyLimit, readRaw } from '../../kit/http/body.ts';
import { type BoundRoute, bindPassThrough, type Context } from '../../kit/http/types.ts';
import { deliver } from '../link/deliver.ts';
import type { CallersComputers, Question } from './computers.ts';
import { hostedIdStart } from './hosted-port.ts';

/** Routes whose bodies may name a computer. */
const namesComputer: ReadonlySet<Route> = new Set<Route>([executeRun, createSession]);
const namesThing = (route: Route) => /:(?:runId|sessionId)\b/.test(route.path);

export function createRunProxy(computers: CallersComputers): { readonly routes: readonly BoundRoute[] } {
  async function pass(context: Context<Route>, route: Route): Promise<void> {
    const { question, seek } = await questionOf(context, route);
    const answer = seek ? (await computers.askUntilKnown(question)).answer : await computers.ask(question);
    await deliver(answer, context);
  }

  /** `seek`: the run may be on a computer other than the default one. */
  async function questionOf(context: Context<Route>, route: Route): Promise<{ question: Question; seek: boolean }> {
    const limit = route.bodyLimit ?? defaultBodyLimit;
    if (route.method === 'GET') {
      const { named, ...target } = await computers.targetOf(context);
      return { question: { context, ...target }, seek: !named && namesThing(route) };
    }
    // The body is read, as it may have to be sent twice.
    const body = await readRaw(context.request, limit);
    const says = namesComputer.has(route) ? fieldsOf(body) : {};
    if (says.computer_id !== undefined) {
      if (says.computer_id.startsWith(hostedIdStart)) throw noRunsThere(says.computer_id);
      const computerId = await computers.named(context.principal.userId, says.computer_id);
      return { question: { context, computerId, path: context.request.url ?? '/', body }, seek: false };
    }
    const { named, ...target } = await computers.targetOf(context);
    const seek = !named && (namesThing(route) || says.session_id !== undefined);
    return { question: { context, ...target, body }, seek };
  }

  return { routes: runRoutes.map((route) => bindPassThrough(route, (context) => pass(context, route))) };
}

/** The computer refuses bodies that are not JSON text, with its own reason. */
function fieldsOf(body: Buffer): { readonly computer_id?: string; readonly session_id?: string } {
  try {
    const { computer_id, session_id } = JSON.parse(body.toString()) as Record<string, unknown>;
    return {
      ...(typeof computer_id === 'string' ? { computer_id } : {}),
      ...(typeof session_id === 'string' ? { session_id } : {}),
    };
  } catch {
    return {};
  }
}

function noRunsThere(id: string): AppError {
  return new AppError(
    'usage',
    `${JSON.stringify(id.slice(0, 200))} is a hosted computer, which keeps no runs.`,
    `Drive it with POST /v1/computers/${id.slice(0, 200)}/toolset.`,
    { wireCode: 'invalid_request' },
  );
}
