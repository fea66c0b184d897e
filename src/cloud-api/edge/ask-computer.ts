/**
 * Asks the caller's computer one question through a route of the factory, with the caller's own identity and rights;
 * gives its answer as JSON and its refusal as the typed error. Must not know tools.
 */
import { randomUUID } from 'node:crypto';
import { AppError, FactoryError } from '../../contracts/common/errors.ts';
import type { Route, RouteAnswer, RouteBody } from '../../contracts/common/route.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { McpRequest } from '../../kit/mcp/service.ts';
import { Unanswered } from '../link/ask.ts';
import type { Engines } from '../link/engines.ts';
import type { Link } from '../link/link.ts';
import { readAnswer } from '../link/read-answer.ts';

export interface AskComputerDeps {
  readonly engines: Pick<Engines, 'targetOf' | 'ask'>;
  readonly link: Pick<Link, 'state'>;
  /** What to do when a computer does not answer. */
  readonly advice: string;
}

interface AskedRoute {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
}

/** The computer of one caller. Both methods throw the computer's own refusal, or `computer_unavailable` with the time since when. */
export interface AskedComputer {
  get<R extends Route>(route: R, asked?: AskedRoute): Promise<RouteAnswer<R>>;
  /** `key`: idempotency key; a repeated call with the same key has no second effect. */
  post<R extends Route>(route: R, body: RouteBody<R>, key?: string): Promise<RouteAnswer<R>>;
}

export type AskComputer = (request: McpRequest) => AskedComputer;

/** Limit in bytes of one answer: a model reads it, and the cloud holds it in memory. */
const maxAnswerLength = 4 * 1024 * 1024;

export function createAskComputer({ engines, link, advice }: AskComputerDeps): AskComputer {
  async function ask(request: McpRequest, path: string, body?: unknown, key?: string): Promise<unknown> {
    const { computerId } = await engines.targetOf(request);
    const sent = body !== undefined;
    let status: number;
    let text: Buffer;
    try {
      const answer = await engines.ask({
        context: request,
        computerId,
        path,
        method: sent ? 'POST' : 'GET',
        // The caller's own headers belong to the request at the edge; its idempotency key must not apply at the computer.
        headers: { 'content-type': 'application/json', 'idempotency-key': key ?? randomUUID() },
        reads: !sent,
        ...(sent ? { body: Buffer.from(JSON.stringify(body)) } : {}),
      });
      status = answer.statusCode ?? 502;
      text = await readAnswer(answer, maxAnswerLength);
    } catch (thrown) {
      throw await unreached(thrown instanceof Unanswered ? cutOff(thrown, sent) : thrown, computerId);
    }
    return read(text, status);
  }

  /** Adds since when a computer is away; leaves any other error unchanged. */
  async function unreached(fault: unknown, computerId: string): Promise<unknown> {
    if (!(fault instanceof AppError) || fault.code !== 'transport') return fault;
    const { linked, since } = await link.state(computerId);
    const extra = { since: linked || since === 0 ? null : iso(since) };
    return new AppError('transport', fault.fact, fault.action, {
      wireCode: 'computer_unavailable',
      extra,
      cause: fault,
    });
  }

  function read(text: Buffer, status: number): unknown {
    // The computer refused the link's own credential or its word, which the caller cannot mend.
    if (status === 401 || status === 421) {
      throw new AppError('transport', `The computer refused the credential of this cloud (HTTP ${status}).`, advice);
    }
    let answer: unknown;
    try {
      answer = JSON.parse(text.toString());
    } catch (cause) {
      throw new AppError('transport', `The answer of the computer is not JSON (HTTP ${status}).`, advice, { cause });
    }
    if (status < 300) return answer;
    const refused = FactoryError.safeParse(answer);
    if (!refused.success) throw new AppError('transport', `The computer answered HTTP ${status}.`, advice);
    const { code, fact, action } = refused.data.error;
    // A server error of the computer is not one of this cloud.
    throw new AppError(code === 'internal' ? 'transport' : code, fact, action, { wireCode: code });
  }

  function cutOff({ cause }: Unanswered, sent: boolean): AppError {
    const why = cause.code ?? 'the connection broke';
    if (!sent) return new AppError('transport', `The computer does not answer (${why}).`, advice, { cause });
    const fact = `The connection to the computer ended before it answered (${why}): whether it was sent is not known.`;
    return new AppError(
      'transport',
      fact,
      'Check whether it arrived before you send it again, or repeat it with the same idempotencyKey.',
      {
        cause,
      },
    );
  }

  return (request) => ({
    get: async <R extends Route>(route: R, asked: AskedRoute = {}) =>
      (await ask(request, pathOf(route, asked))) as RouteAnswer<R>,
    post: async <R extends Route>(route: R, body: RouteBody<R>, key?: string) =>
      (await ask(request, route.path, body, key)) as RouteAnswer<R>,
  });
}

function pathOf({ path }: Route, { params = {}, query = {} }: AskedRoute): string {
  const named = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search.size === 0 ? named : `${named}?${search}`;
}
