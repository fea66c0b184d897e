/**
 * Writes docs/api.md: every route for people, an area at a time, made from the route tables and the document that
 * scripts/openapi.ts makes of them. Must hold nothing that is not there.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Route } from '../src/contracts/common/route.ts';
import { serverTables } from '../src/contracts/servers.ts';
import { buildOpenApi } from './openapi.ts';

type Json = Record<string, unknown>;
interface Operation {
  readonly summary: string;
  readonly 'x-servers': readonly string[];
  readonly parameters: readonly { name: string; in: string; required?: boolean; schema: Json }[];
  readonly requestBody?: { content: { 'application/json': { schema: Json } } };
  readonly responses: Record<string, { content?: Record<string, { schema: Json; 'x-events'?: Json }> }>;
}

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
export const apiReferenceFile = join(root, 'docs', 'api.md');

/** In the order in which the README tells of them; what it says of each stands on that page. */
const areas: readonly (readonly [area: string, title: string, page: string | null])[] = [
  ['factory', 'Teams, bots, messages and work', 'work-engine.md'],
  ['approvals', 'Approvals', 'approvals.md'],
  ['tool-server', 'Tools', 'tool-server.md'],
  ['computer-use', 'Computer use', 'computer-use.md'],
  ['hosted-computers', 'Hosted computers', 'hosted-computers.md'],
  ['work-queue', 'The work queue', 'work-queue.md'],
  ['connector-events', 'Connectors, rules and the edge', 'connectors.md'],
  ['phone', 'The phone', 'phone.md'],
  ['notifications', 'Events, notifications and usage', 'notifications.md'],
  ['identity', 'Sign-in, keys and administration', 'identity.md'],
  ['link', 'Computers and pairing', 'computers.md'],
];

const who: Readonly<Record<string, string>> = {
  public: 'anybody',
  owner: 'the owner',
  user: 'a signed-in person',
  key: 'an API key',
  bot: 'a bot',
  link: 'the cloud over the link',
  device: 'a paired computer by its signature',
  peer: 'another computer with a ticket',
  internal: 'the service token',
};

export function apiReferenceText(): string {
  const document = buildOpenApi() as { paths: Record<string, Record<string, Operation>> };
  const routes = [...new Set(serverTables.flatMap((table) => table.routes))];
  const known = new Set(areas.map(([area]) => area));
  const rest = [...new Set(routes.map((route) => route.area))].filter((area) => !known.has(area));
  const all = [...areas, ...rest.map((area) => [area, area, null] as const)];
  const sections = all.flatMap(([area, title, page]) => {
    const own = routes.filter((route) => route.area === area);
    if (own.length === 0) return [];
    const intro = page === null ? '' : `What it does and its limits: [${page}](${page}). `;
    const shapes = [...new Set(own.map((route) => route.errors))].map((shape) => `\`${shape}\``).join(', ');
    return [
      `## ${title}\n\n${intro}Errors in the form ${shapes}.\n\n${own.map((route) => entry(route, document)).join('\n')}`,
    ];
  });
  return `<!-- Made by scripts/openapi.ts from the route tables. Do not edit: npm run references -->
# The HTTP API

Every route, an area at a time. [openapi.json](openapi.json) is the same for programs, with every field. The cloud API listens on 3010, a computer's
engine on 3011, its door for other computers on 3019; each entry says where it is served. What a principal is and how it proves itself:
[security model](security.md). A write may carry \`Idempotency-Key\` where the entry says so; a repeated key gets the kept answer.

Errors come in one form an area: \`factory\` \`{error: {code, fact, action}}\`, \`plain\` \`{error, message}\`, \`computers\`
\`{error: {type, code, message, param}}\`, \`rpc\` as JSON-RPC has it. Beside what an entry names, any route may answer 400 (not valid), 401 (no valid
credential), 403 (refused), 404 (not there, or not yours), 421 (wrong Host), 429 (too many; see Retry-After) and 500.

${sections.join('\n')}`;
}

function entry(route: Route, document: { paths: Record<string, Record<string, Operation>> }): string {
  const path = route.path.replace(/:([A-Za-z0-9_]+)/g, '{$1}');
  const operation = document.paths[path]![route.method.toLowerCase()]!;
  const query = operation.parameters.filter((parameter) => parameter.in === 'query');
  const facts = [
    `for ${route.auth.map((kind) => who[kind] ?? kind).join(', ')}`,
    route.scope === null || route.scope === 'any' ? null : `scope \`${route.scope}\``,
    `at ${operation['x-servers'].join(', ')}`,
    route.idempotent ? 'takes `Idempotency-Key`' : null,
  ].filter((fact) => fact !== null);
  const lines = [
    `- **\`${route.method} ${path}\`** ${sentence(operation.summary)}`,
    `  ${facts.join('; ')}.`,
    ...(query.length === 0
      ? []
      : [
          `  Query: ${query.map(({ name, required, schema }) => `\`${name}${required === true ? '' : '?'}: ${typeOf(schema)}\``).join(', ')}.`,
        ]),
    ...(operation.requestBody === undefined
      ? []
      : [`  Body: \`${typeOf(operation.requestBody.content['application/json'].schema, 1)}\`.`]),
    `  Answers: ${Object.keys(route.answers)
      .map((status) => answer(status, operation.responses[status]?.content))
      .join(', ')}.`,
  ];
  return `${lines.join('  \n')}\n`;
}

function answer(status: string, content: Operation['responses'][string]['content']): string {
  const [kind, body] = Object.entries(content ?? {})[0] ?? [];
  if (body === undefined) return status;
  if (kind === 'text/event-stream') {
    const events = Object.keys(body['x-events'] ?? {});
    return `${status} event stream${events.length === 0 ? '' : ` of ${events.map((name) => `\`${name}\``).join(', ')}`}`;
  }
  return `${status} \`${typeOf(body.schema, 1)}\``;
}

const sentence = (text: string) => (/[.?!]$/.test(text) ? text : `${text}.`);

const maxLength = 240;

/** A schema in a line: named ones by name, objects down to `depth`. What does not fit is in openapi.json. */
function typeOf(schema: Json, depth = 0): string {
  const text = shapeOf(schema, depth).replaceAll('`', '');
  if (text.length <= maxLength) return text;
  return depth > 0 ? typeOf(schema, depth - 1) : `${text.slice(0, maxLength)}…`;
}

function shapeOf(schema: Json, depth: number): string {
  const {
    $ref,
    type,
    properties,
    items,
    anyOf,
    oneOf,
    required = [],
  } = schema as {
    $ref?: string;
    type?: string | string[];
    properties?: Record<string, Json>;
    items?: Json;
    anyOf?: Json[];
    oneOf?: Json[];
    required?: string[];
  };
  if ($ref !== undefined) return $ref.replace('#/components/schemas/', '');
  if ('const' in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) return [...new Set(choices.map((one) => shapeOf(one, depth)))].join(' | ');
  if (type === 'array') return `${wrapped(shapeOf(items ?? {}, depth))}[]`;
  if (properties !== undefined) {
    const names = Object.keys(properties);
    if (depth < 0) return '{…}';
    const fields = names.map((name) => {
      const key = `${name}${required.includes(name) ? '' : '?'}`;
      return depth === 0 ? key : `${key}: ${shapeOf(properties[name]!, depth - 1)}`;
    });
    return `{${fields.join(', ')}}`;
  }
  if (type === undefined) return 'any';
  return Array.isArray(type) ? type.join(' | ') : type;
}

const wrapped = (text: string) => (text.includes(' | ') ? `(${text})` : text);

export function writeApiReference(): void {
  writeFileSync(apiReferenceFile, apiReferenceText());
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (!process.argv.includes('--check')) writeApiReference();
  else if (readFileSync(apiReferenceFile, 'utf8') !== apiReferenceText()) process.exitCode = 1;
}
