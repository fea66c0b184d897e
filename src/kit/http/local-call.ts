/**
 * Calls a mounted route from inside its own program, for a caller who asked earlier: the same checks of kind, scope, owner and every field as over
 * HTTP, and the same errors. First user: the reports of bots. Must not know any area.
 */
import { Readable } from 'node:stream';
import { AppError } from '../../contracts/common/errors.ts';
import type { Route } from '../../contracts/common/route.ts';
import { checkCaller } from './admission.ts';
import { checkBody, parseParams, parseQuery, unknownOwned } from './request-parts.ts';
import type { Answer, BoundRoute, OwnerLookups, Principal } from './types.ts';

interface LocalRequest {
  readonly params?: unknown;
  readonly query?: unknown;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The bytes of a raw route's body. */
  readonly bytes?: AsyncIterable<Uint8Array>;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** Resolves with the body of the answer; throws what the route's error answer would say. */
export type LocalCall = (op: string, principal: Principal, request: LocalRequest) => Promise<unknown>;

export function createLocalCall({
  routes,
  owners,
}: {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
}): LocalCall {
  const byOp = new Map(routes.map((bound) => [bound.route.op, bound]));
  return async (op, principal, request) => {
    const bound = byOp.get(op);
    if (bound === undefined || bound.route.kind === 'sse') {
      throw new AppError('not_found', `There is no operation ${JSON.stringify(op)}.`, 'See docs/openapi.json.');
    }
    const { route } = bound;
    checkCaller(route, principal);
    const params = route.params === undefined ? undefined : parseParams(route, strings(request.params));
    const query = route.query === undefined ? {} : parseQuery(route, searchOf(request.query));
    const body = route.kind === 'raw' ? undefined : checkBody(route, request.body);
    const rule = route.owner;
    if (typeof rule === 'object' && 'param' in rule) {
      const id = String((params as Record<string, unknown>)[rule.param]);
      if (!(await owners[rule.noun]!(principal, id))) throw unknownOwned(route, params);
    }
    const response = new RawAnswer();
    const given = (await bound.handler({
      principal,
      params,
      query,
      body,
      requestId: '',
      seed: null,
      signal: request.signal,
      request: Object.assign(Readable.from(request.bytes ?? []), { headers: request.headers ?? {} }),
      response,
    } as never)) as Answer<Route> | undefined;
    return route.kind === 'raw' ? JSON.parse(response.text || 'null') : given?.body;
  };
}

/** Takes what the handler of a raw route writes. */
class RawAnswer {
  text = '';
  writeHead(): this {
    return this;
  }
  setHeader(): void {}
  end(text?: string): void {
    this.text = text ?? '';
  }
}

function strings(given: unknown): Record<string, string> {
  return Object.fromEntries(pairsOf(given).map(([name, value]) => [name, String(value)]));
}

function searchOf(given: unknown): string {
  return new URLSearchParams(pairsOf(given).map(([name, value]): [string, string] => [name, String(value)])).toString();
}

function pairsOf(given: unknown): [string, unknown][] {
  if (typeof given !== 'object' || given === null) return [];
  return Object.entries(given).filter(([, value]) => value !== undefined && value !== null);
}
