/**
 * Writes the reference for people, made from the route tables and the document that scripts/openapi.ts makes of them: docs/api.md lists every
 * operation, a page in docs/api describes those of an area, with an example of each. Must hold nothing that is not there.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Route } from '../src/contracts/common/route.ts';
import { serverTables } from '../src/contracts/servers.ts';
import { clientCallOf, curlOf, type Place, refusalOf } from './api-examples.ts';
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
const docs = join(root, 'docs');

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
  ['metrics', 'Figures for Prometheus', 'operating.md'],
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
  cluster: 'the API server of a Kubernetes cluster by its certificate',
};

const note = '<!-- Made by scripts/openapi.ts from the route tables. Do not edit: npm run references -->';

/** The text of each page, by its file below docs/. */
export function apiReference(): ReadonlyMap<string, string> {
  const document = buildOpenApi() as { paths: Record<string, Record<string, Operation>> };
  const routes = [...new Set(serverTables.flatMap((table) => table.routes))];
  const known = new Set(areas.map(([area]) => area));
  const rest = [...new Set(routes.map((route) => route.area))].filter((area) => !known.has(area));
  const all = [...areas, ...rest.map((area) => [area, area, null] as const)]
    .map(([area, title, page]) => ({ area, title, page, own: routes.filter((route) => route.area === area) }))
    .filter(({ own }) => own.length > 0);
  const pages = all.map(({ area, title, page, own }): [string, string] => {
    const intro = page === null ? '' : `What it does and its limits: [${page}](../${page}). `;
    const shapes = [...new Set(own.map((route) => route.errors))].map((shape) => `\`${shape}\``).join(', ');
    const head = `${note}\n# API: ${title}\n\n${intro}Errors in the form ${shapes}. Credentials and the variables in the examples: [the HTTP API](../api.md).`;
    return [`api/${area}.md`, `${head}\n\n${own.map((route) => entry(route, document)).join('\n')}`];
  });
  const lists = all.map(({ area, title, own }) => {
    const rows = own.map(
      ({ op, method, path, summary }) =>
        `| [\`${method} ${inBraces(path)}\`](api/${area}.md#${op.toLowerCase()}) | ${summary.replaceAll('|', '\\|')} |`,
    );
    return `## ${title}\n\n| operation | |\n|---|---|\n${rows.join('\n')}\n`;
  });
  return new Map([['api.md', `${note}\n${intro}\n${lists.join('\n')}`], ...pages]);
}

const intro = `# The HTTP API

Every operation, an area at a time; each links to its arguments, its answers and an example. [openapi.json](openapi.json) is the same for programs, with
every field. The cloud API listens on 3010, a computer's engine on 3011, and its endpoint for other computers on 3019; each entry says where it is served. Who
may call it and how callers prove who they are: [security model](security.md).

Errors come in one form for each area: \`factory\` \`{error: {code, fact, action}}\`, \`plain\` \`{error, message}\`, \`computers\`
\`{error: {type, code, message, param}}\`, \`rpc\` as in JSON-RPC. Besides what an entry names, any route may answer 400 (not valid), 401 (no valid
credential), 403 (refused), 404 (not there, or not yours), 421 (wrong Host), 429 (too many; see Retry-After) and 500. A write may carry
\`Idempotency-Key\` where the entry says so; a repeated key gets the stored answer.

## Examples

A test sends every example, with curl's arguments and with the client, to a Gantry on one computer with the demo phone. Set the variables first:

\`\`\`sh
GANTRY_URL=http://127.0.0.1:3010
GANTRY_ENGINE_URL=http://127.0.0.1:3011
GANTRY_TOKEN=$(cat ~/.gantry/token)   # or an API key with the scope that the entry names
\`\`\`

In TypeScript, \`gantry\` is a client of the routes you call; the tables are in \`src/contracts\`:

\`\`\`ts
const gantry = createClient(factoryRoutes, { baseUrl: GANTRY_URL, token: GANTRY_TOKEN });
\`\`\`

Ids such as \`dag_1\` stand for your own. Examples with \`dryRun\` change nothing: leave it out to act. An entry that says **Needs** cannot succeed in a new
Gantry, and says which status it answers until then. A paired computer signs its calls, so those examples show no credential. \`GANTRY_SERVICE_TOKEN\` is in
\`internal-token\` in the data folder; \`GANTRY_BOT_TOKEN\` is the token in the file that \`GANTRY_TOKEN_FILE\` names in a bot's terminal. \`GANTRY_TICKET\` is
what the cloud gives a computer that calls another one at \`GANTRY_PEER_URL\`; the test checks only the arguments of these examples.
\`GANTRY_CLUSTER_URL\` is asked by a cluster's API server, with its own certificate: ask it by \`kubectl get --raw\`.
`;

const inBraces = (path: string): string => path.replace(/:([A-Za-z0-9_]+)/g, '{$1}');

function entry(route: Route, document: { paths: Record<string, Record<string, Operation>> }): string {
  const path = inBraces(route.path);
  const operation = document.paths[path]![route.method.toLowerCase()]!;
  const query = operation.parameters.filter((parameter) => parameter.in === 'query');
  const place = operation['x-servers'][0] as Place;
  const refusal = refusalOf(route);
  const facts = [
    `for ${route.auth.map((kind) => who[kind] ?? kind).join(', ')}`,
    route.scope === null || route.scope === 'any' ? null : `scope \`${route.scope}\``,
    `at ${operation['x-servers'].join(', ')}`,
    route.idempotent ? 'takes `Idempotency-Key`' : null,
  ].filter((fact) => fact !== null);
  const lines = [
    `**\`${route.method} ${path}\`** ${sentence(operation.summary)}`,
    `${capital(facts.join('; '))}.`,
    ...(query.length === 0
      ? []
      : [
          `Query: ${query.map(({ name, required, schema }) => `\`${name}${required === true ? '' : '?'}: ${typeOf(schema)}\``).join(', ')}.`,
        ]),
    ...(operation.requestBody === undefined
      ? []
      : [`Body: \`${typeOf(operation.requestBody.content['application/json'].schema, 1)}\`.`]),
    `Answers: ${Object.keys(route.answers)
      .map((status) => answer(status, operation.responses[status]?.content))
      .join(', ')}.`,
    ...(refusal === null ? [] : [`**Needs** ${refusal.needs}; answers ${refusal.status} until then.`]),
  ];
  const examples = `\`\`\`sh\n${curlOf(route, place)}\n\`\`\`\n\n\`\`\`ts\n${clientCallOf(route, place)}\n\`\`\`\n`;
  return `## ${route.op}\n\n${lines.join('  \n')}\n\n${examples}`;
}

const capital = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`;

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

/** The files that differ from what they should be, and those in docs/api that belong to no area. */
export function staleApiReference(): string[] {
  const pages = apiReference();
  const stale = [...pages].filter(([file, text]) => !isSame(file, text)).map(([file]) => file);
  return [...stale, ...namesIn('api').filter((file) => !pages.has(file))];
}

const isSame = (file: string, text: string): boolean =>
  existsSync(join(docs, file)) && readFileSync(join(docs, file), 'utf8') === text;

const namesIn = (folder: string): string[] => readdirSync(join(docs, folder)).map((name) => `${folder}/${name}`);

export function writeApiReference(): void {
  mkdirSync(join(docs, 'api'), { recursive: true });
  for (const [file, text] of apiReference()) writeFileSync(join(docs, file), text);
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (!process.argv.includes('--check')) writeApiReference();
  else if (staleApiReference().length > 0) process.exitCode = 1;
}
