/**
 * Writes docs/openapi.json: one document for all servers, made from the route tables; and docs/api.md with docs/api, the same for people. `--check` only compares (exit 1 when
 * stale). Must hold nothing that is not in the tables.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import {
  ComputersError,
  FactoryError,
  httpStatus,
  PlainError,
  plainStatus,
  refusedStatuses,
} from '../src/contracts/common/errors.ts';
import type { ErrorShape, Route } from '../src/contracts/common/route.ts';
import { serverTables } from '../src/contracts/servers.ts';
import { clientCallOf, curlOf, type Place, refusalOf } from './api-examples.ts';

type Json = Record<string, unknown>;
const root = join(dirname(fileURLToPath(import.meta.url)), '..');
export const openApiFile = join(root, 'docs', 'openapi.json');

const errorSchemas: Record<ErrorShape, z.ZodType> = {
  factory: FactoryError,
  plain: PlainError,
  computers: ComputersError,
  rpc: z.unknown(),
};
const errorShapes = ['factory', 'plain', 'computers', 'rpc'] as const;
const ofAny: readonly number[] = [...new Set([...Object.values(httpStatus), ...refusedStatuses])];
const ofOthers = [...new Set([...ofAny, ...Object.values(plainStatus)])];
/** Whatever an error becomes there: a caller that knows them all is surprised by none. */
const errorStatuses: Record<ErrorShape, readonly number[]> = {
  factory: ofAny,
  plain: ofOthers,
  computers: ofOthers,
  rpc: ofOthers,
};
const statusWords: Record<number, string> = {
  200: 'Done',
  201: 'Created',
  204: 'Done, no body',
  303: 'See Location',
  400: 'The request is not valid',
  401: 'No valid credential',
  402: 'The project has spent its cap',
  403: 'Refused',
  404: 'Not found',
  405: 'Not with this method',
  409: 'In conflict with what is there',
  410: 'No longer valid',
  413: 'The body is too large',
  415: 'The body has another type than application/json',
  421: 'Wrong Host',
  423: 'Somebody else has control',
  429: 'Too many; see Retry-After',
  500: 'A fault inside',
  502: 'What stands behind does not answer',
  503: 'Not there now: the message says what is missing',
  504: 'It timed out',
};

export function buildOpenApi(): Json {
  const components: Json = {};
  const paths: Record<string, Json> = {};
  const servedBy = new Map<Route, string[]>();
  for (const table of serverTables) {
    for (const route of table.routes) servedBy.set(route, [...(servedBy.get(route) ?? []), table.name]);
  }
  for (const [route, servers] of servedBy) {
    const path = route.path.replace(/:([A-Za-z0-9_]+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route, servers, components) };
  }
  const responses = Object.fromEntries(
    errorShapes.flatMap((shape) =>
      errorStatuses[shape].map((status) => [
        `${shape}_${status}`,
        {
          description: statusWords[status],
          content: { 'application/json': { schema: toSchema(errorSchemas[shape], 'output', components) } },
        },
      ]),
    ),
  );
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gantry',
      version: (JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }).version,
      description:
        'Every route of every server. `x-servers` says where a route is served, `x-auth` who may call it, `x-scope` the scope that a credential needs. `x-codeSamples` has an example for curl and for the client of `src/client`; `x-needs` what it needs that a new Gantry lacks, and the status it answers until then.',
    },
    servers: serverTables.map(({ name, url, description }) => ({ url, description, 'x-name': name })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      schemas: Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))),
      responses,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'Token file of the owner, or a bot’s own token' },
        cookie: {
          type: 'apiKey',
          in: 'cookie',
          name: 'gantry_<port>',
          description: 'From /open; writes also need x-platform-csrf (see GET /api/v1/session)',
        },
      },
    },
  };
}

function operation(route: Route, servers: readonly string[], components: Json): Json {
  const isPublic = route.auth.includes('public');
  const refusal = refusalOf(route);
  const responses: Json = {};
  for (const [status, schema] of Object.entries(route.answers)) {
    responses[status] = { description: statusWords[Number(status)], ...answerContent(route, schema, components) };
  }
  for (const status of errorStatuses[route.errors]) {
    if (responses[status] !== undefined) continue;
    responses[status] = { $ref: `#/components/responses/${route.errors}_${status}` };
  }
  return {
    operationId: route.op,
    summary: route.summary,
    tags: [route.area],
    'x-servers': servers,
    'x-auth': route.auth,
    'x-scope': route.scope,
    security: isPublic ? [] : [{ bearer: [] }, { cookie: [] }],
    parameters: [
      ...parameters('path', route.params, components),
      ...parameters('query', route.query, components),
      ...(route.idempotent
        ? [{ name: 'Idempotency-Key', in: 'header', schema: { type: 'string', minLength: 1, maxLength: 255 } }]
        : []),
      ...(route.kind === 'sse' ? [{ name: 'Last-Event-ID', in: 'header', schema: { type: 'string' } }] : []),
    ],
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            content: { 'application/json': { schema: toSchema(route.body, 'input', components) } },
          },
        }),
    responses,
    'x-codeSamples': [
      { lang: 'Shell', label: 'curl', source: curlOf(route, servers[0] as Place) },
      { lang: 'TypeScript', label: 'client', source: clientCallOf(route, servers[0] as Place) },
    ],
    ...(refusal === null ? {} : { 'x-needs': refusal }),
  };
}

function answerContent(route: Route, schema: z.ZodType, components: Json): Json {
  if (route.media !== undefined) {
    const of = (media: string) => (media === 'text/html' ? { type: 'string' } : toSchema(schema, 'output', components));
    return { content: Object.fromEntries(route.media.map((media) => [media, { schema: of(media) }])) };
  }
  if (route.kind === 'raw' || schema instanceof z.ZodUndefined) return {};
  if (route.kind !== 'sse') {
    return { content: { 'application/json': { schema: toSchema(schema, 'output', components) } } };
  }
  const events = Object.entries(route.events ?? {}).map(([name, data]) => [name, toSchema(data, 'output', components)]);
  return {
    content: {
      'text/event-stream': { schema: { type: 'string' }, 'x-events': Object.fromEntries(events) },
    },
  };
}

function parameters(place: 'path' | 'query', schema: z.ZodObject | undefined, components: Json): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required = [] } = toSchema(schema, 'input', components) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    schema: property,
  }));
}

/** JSON Schema of one schema; named ones move to the components and are referred to. */
function toSchema(schema: z.ZodType, io: 'input' | 'output', components: Json): Json {
  const {
    $schema: _,
    $defs,
    ...own
  } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      // The format says it all; the pattern is a page of leap years.
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern;
    },
  }) as Json & {
    $defs?: Record<string, Json>;
  };
  for (const [name, definition] of Object.entries($defs ?? {})) keep(name, definition, components);
  const id = schema.meta()?.id;
  if (id === undefined) return refer(own) as Json;
  // A named schema that is asked for itself is among the definitions, and what is left is a reference to it.
  if ($defs?.[id] === undefined) keep(id, own, components);
  return { $ref: `#/components/schemas/${id}` };
}

function keep(name: string, definition: Json, components: Json): void {
  const { id: _, ...rest } = definition;
  components[name] = refer(rest);
}

function refer(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(refer);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === '$ref' && typeof item === 'string' ? item.replace('#/$defs/', '#/components/schemas/') : refer(item),
    ]),
  );
}

export function openApiText(): string {
  return `${JSON.stringify(buildOpenApi(), null, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = openApiText();
  if (process.argv.includes('--check')) {
    if (readFileSync(openApiFile, 'utf8') !== text) {
      process.stderr.write('docs/openapi.json is stale. Run: npm run openapi\n');
      process.exitCode = 1;
    }
  } else {
    writeFileSync(openApiFile, text);
    // Not awaited: it reads this very module, which has to have ended first.
    void import('./api-reference.ts').then(({ writeApiReference }) => writeApiReference());
  }
}
