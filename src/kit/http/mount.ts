/**
 * Mounts routes, and the rules that each must meet before it is served. A table that breaks one stops the program at start, never at the first request.
 * Must not know sockets.
 */
import createRouter from 'find-my-way';
import type { Route } from '../../contracts/common/route.ts';
import type { Gate } from './admission.ts';
import { type AnswerCheck, createAnswerCheck } from './answer-check.ts';
import type { BoundRoute, OwnerLookups } from './types.ts';

export interface Mounted extends Gate {
  readonly bound: BoundRoute;
  readonly defaultStatus: number;
  readonly check: AnswerCheck;
}

const ownerReasonAtLeast = 3;

function paramNames(path: string): string[] {
  return [...path.matchAll(/:([A-Za-z0-9_]+)/g)].map((match) => match[1]!);
}

/** Every reason why this route cannot be mounted. */
export function routeProblems(route: Route, owners: OwnerLookups | null): string[] {
  const problems: string[] = [];
  const params = paramNames(route.path);
  if (!/^[a-z][A-Za-z0-9]*$/.test(route.op ?? '')) problems.push('op is missing or not camelCase');
  if (!route.path?.startsWith('/')) problems.push('path does not begin with /');
  if (!Array.isArray(route.auth) || route.auth.length === 0) problems.push('auth is missing');
  if (route.scope === undefined) problems.push('scope is missing; say null where no key is ever enough');
  if (route.answers === undefined || Object.keys(route.answers).length === 0) problems.push('answers are missing');
  if (route.errors === undefined) problems.push('errors is missing');
  if (route.kind === 'sse' && route.events === undefined) problems.push('events of the stream are missing');

  const declared = Object.keys(route.params?.shape ?? {});
  for (const name of params) if (!declared.includes(name)) problems.push(`params has no schema for :${name}`);
  for (const name of declared) if (!params.includes(name)) problems.push(`path has no :${name}`);

  const { owner } = route;
  if (owner === undefined) problems.push('owner is missing');
  else if (owner === 'collection') {
    if (params.length > 0) problems.push(`owner "collection" does not protect :${params.join(', :')}`);
  } else if ('none' in owner) {
    if (owner.none.trim().length < ownerReasonAtLeast) problems.push('owner "none" needs a reason');
  } else {
    if (!params.includes(owner.param)) problems.push(`owner names :${owner.param}, which the path does not have`);
    if (owners !== null && owners[owner.noun] === undefined) problems.push(`no owner lookup for "${owner.noun}"`);
  }
  return problems;
}

/** Throws for all that breaks a rule. */
export function mountRoutes(
  options: Parameters<typeof createAnswerCheck>[1] & {
    readonly routes: readonly BoundRoute[];
    readonly owners: OwnerLookups;
    /** Whether answers can be kept for routes that are `idempotent`. */
    readonly keepsAnswers: boolean;
  },
) {
  const router = createRouter({
    caseSensitive: true,
    ignoreTrailingSlash: false,
    ignoreDuplicateSlashes: false,
    maxParamLength: 500,
    // Queries are parsed only if the route reads them.
    querystringParser: (text) => text,
    // Distinguished by its missing store.
    onBadUrl: noop,
  });
  const served: Route[] = [];
  const ops = new Set<string>();
  const problems: string[] = [];
  for (const bound of options.routes) {
    const { route } = bound;
    const name = `${route.op ?? '?'} (${route.method} ${route.path})`;
    for (const problem of routeProblems(route, bound.passThrough ? null : options.owners))
      problems.push(`${name}: ${problem}`);
    if (ops.has(route.op)) problems.push(`${name}: op is used twice`);
    ops.add(route.op);
    if (route.idempotent && !bound.passThrough && !options.keepsAnswers) {
      problems.push(`${name}: is idempotent, but no store keeps its answers`);
    }
    const mounted: Mounted = {
      route,
      bound,
      kinds: new Set(route.auth),
      onlyPublic: route.auth?.length === 1 && route.auth[0] === 'public',
      before: bound.before,
      // Numeric keys always come in ascending order, so the original order is lost.
      check: createAnswerCheck(route, options),
      defaultStatus: route.answers?.[201] === undefined ? Number(Object.keys(route.answers ?? {})[0]) : 201,
    };
    try {
      router.on(route.method, route.path, noop, mounted);
      served.push(route);
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`);
    }
  }
  if (problems.length > 0) throw new Error(`Routes that cannot be mounted:\n${problems.join('\n')}`);
  return { router, served };
}

function noop(): void {}
