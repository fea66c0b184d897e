import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { buildOpenApi, openApiFile, openApiText } from '../../scripts/openapi.ts';
import { claimedShape } from '../../src/contracts/common/areas.ts';
import { AppError, errorCodes, plainStatus, refusedStatuses } from '../../src/contracts/common/errors.ts';
import type { ErrorShape } from '../../src/contracts/common/route.ts';
import { serverTables } from '../../src/contracts/servers.ts';
import { render } from '../../src/kit/http/faults.ts';
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
    const [, , kind, name] = reference.split('/') as [string, string, 'schemas', string];
    expect(document.components[kind]).toHaveProperty([name]);
  }
});

test('every named schema says what it holds, and none leads to itself', () => {
  const { schemas } = (buildOpenApi() as { components: { schemas: Record<string, { $ref?: string }> } }).components;
  const empty = Object.entries(schemas).filter(
    ([name, schema]) => Object.keys(schema).length === 0 || schema.$ref === `#/components/schemas/${name}`,
  );
  expect(empty.map(([name]) => name)).toEqual([]);
});

test('no name stands for two things', () => {
  const places = new Map<string, Set<string>>();
  const walk = (schema: unknown, seen: Set<unknown>): void => {
    if (typeof schema !== 'object' || schema === null || seen.has(schema)) return;
    seen.add(schema);
    if (schema instanceof z.ZodType) {
      const id = schema.meta()?.id;
      if (id !== undefined) {
        // The same shape said twice, as input and as output, is one thing.
        const keys = JSON.stringify(z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }));
        places.set(id, (places.get(id) ?? new Set()).add(keys));
      }
      walk(schema.def, seen);
      return;
    }
    for (const value of Object.values(schema)) walk(value, seen);
  };
  const seen = new Set<unknown>();
  for (const { params, query, body, answers, events } of everyRoute)
    for (const schema of [params, query, body, answers, events]) walk(schema, seen);
  expect(places.size).toBeGreaterThan(40);
  expect([...places].filter(([, shapes]) => shapes.size > 1).map(([id]) => id)).toEqual([]);
});

test('every status that an error can become is named where it can be answered', () => {
  const { paths } = buildOpenApi() as { paths: Record<string, Record<string, { responses: Record<string, object> }>> };
  const wireCodes = [undefined, ...Object.keys(plainStatus)];
  const statusesOf = (shape: ErrorShape) =>
    new Set(
      errorCodes.flatMap((code) =>
        [undefined, ...refusedStatuses].flatMap((status) =>
          wireCodes.map(
            (wireCode) =>
              render(new AppError(code, '', '', { ...(status && { status }), ...(wireCode && { wireCode }) }), shape)
                .status,
          ),
        ),
      ),
    );
  const shapes = new Set(everyRoute.map(({ errors }) => errors).filter((shape) => shape !== 'rpc'));
  const statuses = new Map([...shapes].map((shape) => [shape, statusesOf(shape)] as const));
  const unnamed: string[] = [];
  for (const route of everyRoute) {
    const { responses } = paths[route.path.replace(/:([A-Za-z0-9_]+)/g, '{$1}')]![route.method.toLowerCase()]!;
    if (route.errors === 'rpc') continue;
    for (const status of statuses.get(route.errors)!) if (!(status in responses)) unnamed.push(`${route.op} ${status}`);
  }
  expect(unnamed).toEqual([]);
});

test('what the page of the edge and an export of the ledger answer is said', () => {
  const { paths } = buildOpenApi() as {
    paths: Record<string, { get: { responses: Record<string, { content: Record<string, { schema: object }> }> } }>;
  };
  expect(Object.keys(paths['/edge']!.get.responses['200']!.content)).toEqual(['application/json', 'text/html']);
  expect(paths['/api/factory/ledger/export']!.get.responses['200']!.content).toHaveProperty(['application/x-ndjson']);
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
