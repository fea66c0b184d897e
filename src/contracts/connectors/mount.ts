/** Connector routes are served under two mounts: each route is declared once, and its twin is derived from it. Must not know any route. */
import { defineRoute, type Route } from '../common/route.ts';

export const connectorMounts = ['/api/v1/mcp/connectors', '/mcp/connectors'] as const;

/** `op`Short at the second mount. */
export type Twin<R extends Route> = Omit<R, 'op' | 'path'> & { readonly op: string; readonly path: string };

/** The twin of a route at the second mount. */
export function twinOf<const R extends Route>(route: R): Twin<R> {
  const [first, second] = connectorMounts;
  if (!route.path.startsWith(first)) throw new Error(`${route.path} is not under ${first}.`);
  return defineRoute({ ...route, op: `${route.op}Short`, path: `${second}${route.path.slice(first.length)}` });
}

/** Shared by every route of the area: only for a person, since each acts with the person's sign-in at another service. */
export const connectorRoute = {
  area: 'connector-events',
  errors: 'plain',
  auth: ['owner', 'user', 'link'],
  scope: null,
} as const;
export const connectorOwner = {
  none: 'connectors belong to the computer, and only its owner reaches these routes; an unknown one is 404',
} as const;
