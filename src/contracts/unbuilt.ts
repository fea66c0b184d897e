/**
 * Every route of the interface that a later part brings. Each answers that it is not built yet: in the factory 404
 * `not_found`, elsewhere 501 `not_built` (gaps.md C, "CLI parts and verbs"). A part that builds one moves it from here into
 * its area's table; a test fails while a route stands in both.
 */
import type { ErrorShape, Method } from './common/route.ts';

export interface UnbuiltRoute {
  readonly method: Method;
  readonly path: string;
  readonly area: string;
  /** As a person would say it; for the factory `<part> <verb>`, as in the CLI. */
  readonly name: string;
  readonly errors: ErrorShape;
  /** Which server will serve it. */
  readonly server: 'engine' | 'cloud' | 'both';
  /** No credential is asked for: a page, or a caller that signs its body. */
  readonly public?: true;
}

type Line = readonly [method: Method, path: string, name: string];

function table(
  area: string,
  errors: ErrorShape,
  server: UnbuiltRoute['server'],
  lines: readonly Line[],
  open?: 'public',
): UnbuiltRoute[] {
  return lines.map(([method, path, name]) => ({
    method,
    path,
    area,
    name,
    errors,
    server,
    ...(open === 'public' ? { public: true as const } : {}),
  }));
}

const phone = table('phone', 'plain', 'engine', [['POST', '/webhooks/channels/sms', 'receive a text']]);

const backbone = table('link', 'plain', 'engine', [['POST', '/api/v1/runtime/resync', 'resynchronise']]);

export const unbuiltRoutes: readonly UnbuiltRoute[] = [...phone, ...backbone];
