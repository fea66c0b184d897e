import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { buildOpenApi, openApiFile, openApiText } from '../../scripts/openapi.ts';
import { claimedShape } from '../../src/contracts/common/areas.ts';
import { serverTables } from '../../src/contracts/servers.ts';
import { unbuiltRoutes } from '../../src/contracts/unbuilt.ts';
import { routeProblems } from '../../src/kit/http/mount.ts';

const everyRoute = [...new Set(serverTables.flatMap((table) => table.routes))];

test('docs/openapi.json is what the route tables say; if this fails, run: npm run openapi', () => {
  expect(readFileSync(openApiFile, 'utf8')).toBe(openApiText());
});

test('every reference in the document leads somewhere', () => {
  const document = buildOpenApi() as { components: { schemas: Record<string, unknown> } };
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!);
  expect(references.length).toBeGreaterThan(20);
  for (const reference of new Set(references)) {
    expect(document.components.schemas).toHaveProperty([reference.replace('#/components/schemas/', '')]);
  }
});

test('every operation of the document is a route of a table, and the other way round', () => {
  const { paths } = buildOpenApi() as { paths: Record<string, Record<string, { operationId: string }>> };
  const written = Object.values(paths).flatMap((path) => Object.values(path).map((operation) => operation.operationId));
  expect(written.toSorted()).toEqual(everyRoute.map((route) => route.op).toSorted());
});

test('every route of every table can be mounted as it is declared', () => {
  for (const route of everyRoute) expect([route.op, routeProblems(route, null)]).toEqual([route.op, []]);
});

test('a route that is built stands no longer in the table of those that are not', () => {
  const built = new Set(everyRoute.map((route) => `${route.method} ${route.path.replace(/:\w+/g, ':')}`));
  const both = unbuiltRoutes.filter((route) => built.has(`${route.method} ${route.path.replace(/:\w+/g, ':')}`));
  expect(both).toEqual([]);
});

test('every path answers errors in the shape of the area that claims it', () => {
  for (const route of [...everyRoute, ...unbuiltRoutes]) {
    expect([route.path, claimedShape(route.path)]).toEqual([route.path, route.errors]);
  }
});
