import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { buildOpenApi, openApiFile, openApiText } from '../../scripts/openapi.ts';
import { claimedShape } from '../../src/contracts/common/areas.ts';
import { serverTables } from '../../src/contracts/servers.ts';
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

test('every named schema says what it holds, and none leads to itself', () => {
  const { schemas } = (buildOpenApi() as { components: { schemas: Record<string, { $ref?: string }> } }).components;
  const empty = Object.entries(schemas).filter(
    ([name, schema]) => Object.keys(schema).length === 0 || schema.$ref === `#/components/schemas/${name}`,
  );
  expect(empty.map(([name]) => name)).toEqual([]);
});

test('an operation of computer use names the answers that are its own: control in other hands, and what is missing', () => {
  const { paths } = buildOpenApi() as { paths: Record<string, Record<string, { responses: Record<string, object> }>> };
  for (const path of ['/computer-use/execute', '/api/v1/computers/{id}/toolset', '/v1/computers/{id}/toolset']) {
    expect(Object.keys(paths[path]!.post!.responses)).toEqual(expect.arrayContaining(['423', '503']));
  }
  expect(paths['/v1/computers']!.post!.responses).toHaveProperty('402');
});

test('every operation of the document is a route of a table, and the other way round', () => {
  const { paths } = buildOpenApi() as { paths: Record<string, Record<string, { operationId: string }>> };
  const written = Object.values(paths).flatMap((path) => Object.values(path).map((operation) => operation.operationId));
  expect(written.toSorted()).toEqual(everyRoute.map((route) => route.op).toSorted());
});

test('every route of every table can be mounted as it is declared', () => {
  for (const route of everyRoute) expect([route.op, routeProblems(route, null)]).toEqual([route.op, []]);
});

test('every path answers errors in the shape of the area that claims it', () => {
  for (const route of everyRoute) {
    expect([route.path, claimedShape(route.path)]).toEqual([route.path, route.errors]);
  }
});
