/**
 * The rules that a route must meet before it is served. A table that breaks one stops the program at start, never at the first request. Must not know
 * sockets.
 */
import type { Route } from '../../contracts/common/route.ts';
import type { OwnerLookups } from './types.ts';

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
