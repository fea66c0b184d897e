/**
 * The example of every operation in docs/openapi.json and docs/api: its arguments, and the curl line and the client's call that are made of them. What a
 * schema says is not repeated here; `given` has what a schema cannot say. Must not write files.
 */
import { z } from 'zod';
import type { Route } from '../src/contracts/common/route.ts';

type Json = Record<string, unknown>;

export interface Example {
  readonly params?: Json;
  readonly query?: Json;
  readonly body?: unknown;
  /** Fields of a form in place of a body; `@name` is a file. */
  readonly form?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Ids in examples, by the noun that owns them, or by the parameter where the route names no owner. */
export const exampleIds = {
  agent: 'tester@demo',
  agentRun: 'run_2',
  approval: 'apr_01J8Z3KQ4V6W7X8Y9ZABCDEFGH',
  artifactId: 'art_1',
  address: 'address_1',
  call: 'call_1',
  campaign: 'project-docs',
  carrier: 'telnyx',
  code: 'BCDF-GHJK',
  computer: 'computer_01J8Z3KQ4V6W7X8Y9ZABCDEFGH',
  connector: 'connector_1',
  deployment: 'deployment_1',
  eventName: 'order.placed',
  triggerKey: 'trigger-key',
  device: 'pdev_1',
  'edge-subscription': 'subscription_2',
  'hosted-computer': 'computer_1',
  invite: 'invite_1',
  jid: 'job_1',
  key: 'key_1',
  lease: 'lease_1',
  mail: 'mail_1',
  nodeId: 'run',
  openCode: 'code_1',
  numberId: 'number_1',
  repository: '/home/ada/shop',
  orderId: 'order_1',
  ownNumber: '+19705550150',
  ownPeer: 'peer_1',
  peer: 'peer_1',
  progressKey: '5f0c4a52-6d0b-4a5e-9b7e-2f6f7c1d8e90',
  phoneCall: 'call_1',
  phoneNumber: 'number_1',
  plan: 'plan_1',
  project: 'shop',
  'quick run': 'dag_2',
  receiptId: 'receipt_1',
  rid: 'rule_1',
  run: 'dag_1',
  runId: 'run_1',
  secondConnector: 'connector_2',
  secondSubscription: 'subscription_3',
  endedTask: 'task_2',
  secondEndedTask: 'task_4',
  secondRunningTask: 'task_5',
  leasedTask: 'task_6',
  portedNumber: 'number_2',
  runningTask: 'task_3',
  secondKey: 'key_2',
  worker: 'maker@makers',
  hash: '0'.repeat(64),
  schedule: 'schedule_1',
  secret: 'NPM_TOKEN',
  server: 'server_1',
  session: 'ses_1',
  sid: 'subscription_1',
  sub: 'subscription_1',
  task: 'task_1',
  team: 'demo',
  template: 'command',
  thread: 'thread_1',
  ticket: 'ticket_1',
  token: 'token_1',
  trigger: 'trigger_1',
  user: 'user_local',
  work_session: 'session_1',
  'computer-use-run': 'run_1',
  'computer-use-session': 'session_2',
} as const satisfies Record<string, string>;

const phone = '+12025550123';
/** One of the phones of `gantry start --demo-phone`. */
const handset = '+12025550101';
const time = '2026-01-31T08:30:00.000Z';

/** Values of fields that a schema describes only as text or as a pattern, by their names. */
const byName: Json = {
  agent: exampleIds.agent,
  agentId: exampleIds.agent,
  at: time,
  auth: 'AAAAAAAAAAAAAAAAAAAAAA',
  bot: exampleIds.agent,
  botId: exampleIds.agent,
  branch: 'main',
  cloudUrl: 'https://gantry.example',
  computerId: exampleIds.computer,
  consentRef: 'consent_1',
  country: 'US',
  cron: '0 6 * * 1-5',
  deviceCode: 'device-code',
  deviceId: exampleIds.device,
  e164: phone,
  endpoint: 'https://push.example/device',
  engineId: 'eng_1',
  eventId: 'evt_1',
  eventName: exampleIds.eventName,
  evidence: 'Signed form of 31 January',
  expiresAt: time,
  from: phone,
  fromRun: exampleIds.run,
  hash: exampleIds.hash,
  instructions: 'Answer the issue in one paragraph.',
  intent: 'Ship version 1.1',
  ledgerId: '1',
  member: 'screenshot',
  name: 'example',
  numberId: exampleIds.phoneNumber,
  p256dh: `B${'A'.repeat(86)}`,
  path: 'README.md',
  prompt: 'Fix the flaky test',
  purpose: 'Confirm the appointment',
  q: 'tester',
  reason: 'The network is down',
  receivedAt: time,
  repository: '.',
  requestedAt: time,
  runtimeId: exampleIds.computer,
  source: 'web form',
  subject: 'The build is red',
  subscriptionKey: exampleIds.sub,
  surface: 'browser',
  template: exampleIds.template,
  text: 'Run the tests',
  title: 'Release 1.1',
  timestamp: time,
  to: exampleIds.agent,
  tool: 'shell.exec',
  url: 'https://mcp.example/mcp',
  userId: exampleIds.user,
  version: '0.1.0',
  worker_id: 'worker-1',
};

const template = { name: 'Test', steps: [{ id: 'test', command: 'npm test' }] };
const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const action = { toolset: 'browser', member: 'get_page_text', input: {} };

/** What the schema of an operation does not say. An operation whose name ends in V1 or Short takes that of its twin. */
const given: Readonly<Record<string, Example>> = {
  actOnPeer: { params: { '*': 'send' }, body: { to: exampleIds.agent, text: 'Run the tests' } },
  addPolicyRule: { body: { approvalId: exampleIds.approval, dryRun: true } },
  adminChangeProject: { params: { id: exampleIds.project }, body: { spendCapCents: 5000, dryRun: true } },
  adminChangeUser: { params: { id: exampleIds.user }, body: { disabled: false, dryRun: true } },
  adminCreateProject: { body: { id: 'books', userId: exampleIds.user, dryRun: true } },
  adminRevokeKey: { params: { id: exampleIds.secondKey }, query: { dryRun: 'true' } },
  adminSetPrice: { params: { name: 'text.segment' }, body: { cents: 1, dryRun: true } },
  acceptPhoneInvite: { form: { phone: handset, agree: 'yes' } },
  adminGetUser: { params: { id: exampleIds.user } },
  agentFilePlace: { query: { path: 'src/top.js' } },
  agentFileText: { query: { path: 'src/top.js' } },
  answerOnDemoHandset: { params: { e164: handset, call: exampleIds.call } },
  buyPhoneNumber: {
    body: { e164: phone, runtimeId: exampleIds.computer, botId: 'root', dryRun: true },
  },
  connectorEventCallback: { body: { eventId: 'evt_1' } },
  createConnectorShort: { body: { name: 'tracker', url: 'https://mcp.example/mcp' } },
  createConnector: { body: { name: 'issues', url: 'https://mcp.example/mcp' } },
  keepModelPlace: { params: { name: 'ollama' }, body: { baseUrl: 'http://127.0.0.1:11434/v1', dryRun: true } },
  agentDiff: { params: { id: exampleIds.worker } },
  mergeWorktree: { params: { id: exampleIds.worker }, body: { commit: 'Leave out short words', dryRun: true } },
  keepWorktree: { params: { id: exampleIds.worker }, body: { commit: 'Leave out short words', dryRun: true } },
  discardWorktree: { params: { id: exampleIds.worker }, body: { dryRun: true } },
  restoreWorktree: { params: { id: exampleIds.worker }, body: { dryRun: true } },
  trySandbox: { params: { name: 'demo' }, query: { bot: 'tester' } },
  addAccount: { body: { program: 'claude', account: 'work', dryRun: true } },
  signInAccount: { params: { program: 'claude', account: 'private' }, body: { dryRun: true } },
  removeAccount: { params: { program: 'claude', account: 'private' }, query: { dryRun: 'true' } },
  forgetModelPlace: { params: { name: 'lmstudio' } },
  endConnectorSubscriptionShort: { params: { id: exampleIds.connector, sid: exampleIds.secondSubscription } },
  removeConnectorShort: { params: { id: exampleIds.secondConnector } },
  ackTaskV1: { params: { id: exampleIds.leasedTask } },
  heartbeatTaskV1: { params: { id: exampleIds.leasedTask } },
  getPhonePort: { params: { id: exampleIds.portedNumber } },
  correctPhonePort: { params: { id: exampleIds.portedNumber } },
  retryTaskV1: { params: { id: exampleIds.secondEndedTask } },
  stopTaskV1: { params: { id: exampleIds.secondRunningTask }, body: {} },
  retryTask: { params: { id: exampleIds.endedTask } },
  stopTask: { params: { id: exampleIds.runningTask }, body: {} },
  openWithCode: { query: { t: exampleIds.openCode } },
  putOwnPhone: { body: { e164: handset, numberId: exampleIds.phoneNumber } },
  runPlan: { body: { projectId: 'docs', dryRun: true } },
  phoneCarrierWebhook: { body: { data: {} } },
  phoneRelayAddress: { body: { data: {} } },
  postTrigger: { params: { key: exampleIds.triggerKey }, body: { issue: 42 } },
  uploadProof: { query: { dryRun: 'true' }, form: { line: 'The tests pass', file: '@result.txt' } },
  agentHook: { params: { event: 'Stop' }, body: {} },
  takeReport: { body: { id: 'rep_0123456789abcdef0123456789abcdef' } },
  agentInput: { body: { text: 'npm test', keys: ['Enter'] } },
  agentSize: { body: { cols: 120, rows: 40 } },
  setAgentMode: { body: { mode: 'plan' } },
  addAgentImage: {
    body: {
      data: 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    },
  },
  callToolset: { params: { id: 'this-device' }, body: action },
  claimLease: { body: { name: 'deploy', dryRun: true } },
  changeAttachedServer: { params: { id: exampleIds.server }, body: { name: 'notes' } },
  changeConnector: { body: { name: 'orders' } },
  createSchedule: {
    body: {
      cron: '0 6 * * 1-5',
      run: { template: 'command', params: { command: 'npm test' }, projectId: 'docs' },
      dryRun: true,
    },
  },
  createTask: { body: { payload: { kind: 'command', command: 'npm test' } } },
  createProject: { body: { id: 'docs', dryRun: true } },
  draftPlan: { body: { title: 'Release 1.1', template, dryRun: true } },
  executeRun: { body: { mode: 'direct', actions: [action] } },
  explainWhy: { params: { id: exampleIds.agent } },
  waitFor: { params: { id: exampleIds.agent }, query: { for: 'idle,needs_you', seconds: 0 } },
  waitForApproval: { query: { seconds: 0 } },
  waitForTask: { query: { seconds: 0 } },
  internalMcpServer: { headers: { 'x-platform-user-id': exampleIds.user }, body: rpc },
  leaseTask: { query: { worker_id: 'worker-1', wait: 0 } },
  mcpServer: { body: rpc },
  edgeAgents: { body: rpc },
  edgeBot: { body: rpc },
  answerApproval: {
    body: {
      id: exampleIds.approval,
      decision: 'approve',
      note: null,
      resolvedBy: { user: exampleIds.user, surface: 'browser' },
      at: time,
    },
  },
  askForCall: {
    body: { numberId: exampleIds.phoneNumber, to: phone, botId: 'root', purpose: 'Confirm the appointment' },
  },
  beginPairing: { body: { computerId: exampleIds.computer, name: 'laptop', version: '0.1.0' } },
  callFromDemoHandset: { params: { e164: handset }, body: { to: exampleIds.ownNumber } },
  deliverText: {
    body: {
      provider: 'sms',
      messageId: 'txt_1',
      numberId: exampleIds.phoneNumber,
      botId: 'root',
      from: handset,
      to: phone,
      text: 'Are you open?',
      media: [],
      receivedAt: time,
      attempt: 1,
    },
  },
  submitPhoneRegistration: {
    query: { dryRun: 'true' },
    body: {
      legalName: 'Blue Bottle Bakery LLC',
      brandName: 'Blue Bottle',
      ein: '12-3456789',
      website: 'https://bakery.example.com',
      street: '12 Mill Lane',
      city: 'Fort Collins',
      region: 'CO',
      postalCode: '80521',
      contactFirstName: 'Ada',
      contactLastName: 'Moss',
      contactEmail: 'ada@bakery.example.com',
      contactPhone: '+19705550111',
      useCase: 'CUSTOMER_CARE',
      description: 'Answers people who text the bakery about opening hours, orders and when bread is ready.',
      sampleMessages: [
        'Blue Bottle: your rye loaf is ready until six. Reply STOP to opt out.',
        'Blue Bottle: we open at seven tomorrow. Anything else you would like to know?',
      ],
    },
  },
  subscribeToConnectorEvent: {
    body: { name: exampleIds.eventName, arguments: { country: 'DE' }, botId: exampleIds.agent },
  },
  sendText: { body: { numberId: exampleIds.phoneNumber, to: handset, text: 'We are open.' } },
  setWorkBudget: { body: { subject: `run:${exampleIds.run}`, budget: { usd: 5, minutes: 60 }, dryRun: true } },
  setSpendLimit: { body: { subject: exampleIds.team, dailyCents: 500, dryRun: true } },
  textFromDemoHandset: { params: { e164: handset }, body: { to: exampleIds.ownNumber, text: 'Are you open?' } },
  protectedResourceOf: { params: { '*': 'mcp/server' } },
  readPeer: { params: { '*': 'hello' } },
  readTool: { params: { name: 'time.now' } },
  callTool: { params: { name: 'time.now' }, body: { arguments: {} } },
  refinePlan: { body: { revision: 1, template, dryRun: true } },
  sendMessage: { body: { to: exampleIds.agent, text: 'npm test', dryRun: true } },
  setSecret: { params: { name: exampleIds.secret }, body: { value: 'secret', dryRun: true } },
  getTaskFilePart: { params: { name: 'step.bundle', part: 0 } },
  putTaskFilePart: { params: { name: 'step.bundle', part: 0 }, body: { data: 'aGVsbG8=' } },
  removeAddedRule: { query: { sha256: '0'.repeat(64) } },
  removeTaskFile: { params: { name: 'step.bundle' } },
  startQuickRun: {
    body: {
      repository: exampleIds.repository,
      prompt: 'Fix the flaky test',
      who: [{ model: 'ollama/qwen3-coder' }],
      dryRun: true,
    },
  },
  startRun: { body: { template: 'command', params: { command: 'npm test' }, projectId: 'docs', dryRun: true } },
  setNotificationPreferences: { body: { 'call.ended': false } },
};

const keptOf = (op: string): Example => given[op] ?? given[op.replace(/(?:Short|V1)$/, '')] ?? {};

/** The arguments of its example. Throws where they do not fit the route: the table above lacks something. */
export function exampleOf(route: Route): Example {
  const own = keptOf(route.op);
  const names = [...route.path.matchAll(/:(\w+)|\*/g)].map(([all, name]) => name ?? all);
  const params = Object.fromEntries(names.map((name) => [name, own.params?.[name] ?? idOf(route, name)]));
  const query = own.query ?? made(route.query);
  const body = own.body ?? (own.form === undefined ? made(route.body) : undefined);
  for (const [what, schema, value] of [
    ['params', route.params, params],
    ['query', route.query, query],
    ['body', route.body, body],
  ] as const) {
    // What a star stands for is part of the path, not a parameter of the schema.
    const { '*': _, ...declared } = (what === 'params' ? value : {}) as Json;
    const problem = value === undefined ? undefined : schema?.safeParse(what === 'params' ? declared : value).error;
    if (problem !== undefined)
      throw new Error(`The ${what} of the example of ${route.op}: ${z.prettifyError(problem)}`);
  }
  return {
    ...(names.length === 0 ? {} : { params }),
    ...(query === undefined || Object.keys(query).length === 0 ? {} : { query }),
    ...(body === undefined ? {} : { body }),
    ...(own.form === undefined ? {} : { form: own.form }),
    ...(own.headers === undefined ? {} : { headers: own.headers }),
  };
}

/** By the noun that owns the parameter, then by its name, then by the area. */
function idOf(route: Route, name: string): unknown {
  const ids: Readonly<Record<string, string>> = exampleIds;
  if (typeof route.owner === 'object' && 'param' in route.owner && route.owner.param === name) {
    const id = ids[route.owner.noun];
    if (id !== undefined) return id;
  }
  if (name === 'id') {
    const noun = [
      ['/beta/work', 'task'],
      ['/mcp/connectors', 'connector'],
      ['/mcp/servers', 'server'],
      ['/computers/', 'computer'],
      ['/approvals/', 'approval'],
    ].find(([path]) => route.path.includes(path as string))?.[1];
    if (noun !== undefined) return ids[noun];
  }
  return ids[name] ?? byName[name] ?? 'example';
}

/** What a schema requires and no more; and `dryRun`, so that an example changes nothing. */
function made(schema: z.ZodType | undefined): Json | undefined {
  if (schema === undefined) return undefined;
  const whole = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Json;
  return exampleFor(whole, (whole.$defs ?? {}) as Record<string, Json>, '') as Json;
}

function exampleFor(schema: Json, named: Readonly<Record<string, Json>>, name: string): unknown {
  const { $ref, type, properties, items, minItems, minimum, anyOf, oneOf, required } = schema as {
    $ref?: string;
    type?: string | string[];
    properties?: Record<string, Json>;
    items?: Json;
    minItems?: number;
    minimum?: number;
    anyOf?: Json[];
    oneOf?: Json[];
    required?: string[];
  };
  const into = (one: Json | undefined, as = name) => exampleFor(one ?? {}, named, as);
  if ($ref !== undefined) return into(named[$ref.replace('#/$defs/', '')]);
  if ('const' in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) return into(choices[0]);
  const kind = Array.isArray(type) ? type[0] : type;
  if (kind === 'object' || properties !== undefined) {
    const wanted = Object.entries(properties ?? {}).filter(
      ([key]) => required?.includes(key) === true || key === 'dryRun',
    );
    return Object.fromEntries(wanted.map(([key, one]) => [key, key === 'dryRun' ? dryRunOf(one) : into(one, key)]));
  }
  if (kind === 'array') return (minItems ?? 0) > 0 ? [into(items)] : [];
  if (kind === 'integer' || kind === 'number') return minimum ?? 1;
  if (kind === 'boolean') return true;
  return byName[name] ?? 'example';
}

/** A flag in a query is a text. */
const dryRunOf = (schema: Json): unknown => (Array.isArray(schema.enum) ? 'true' : true);

/** Whose token a call carries; null: none, because anybody may call it or because a paired computer signs it. */
export function tokenOf({ auth }: Route): string | null {
  if (auth.includes('public')) return null;
  if (auth.includes('owner')) return 'GANTRY_TOKEN';
  if (auth.includes('bot')) return 'GANTRY_BOT_TOKEN';
  if (auth.includes('internal')) return 'GANTRY_SERVICE_TOKEN';
  return auth.includes('peer') ? 'GANTRY_TICKET' : null;
}

export type Place = 'cloud' | 'engine' | 'peer' | 'cluster';
const baseOf: Readonly<Record<Place, string>> = {
  cloud: 'GANTRY_URL',
  engine: 'GANTRY_ENGINE_URL',
  peer: 'GANTRY_PEER_URL',
  cluster: 'GANTRY_CLUSTER_URL',
};

function pathOf(route: Route, { params, query }: Example): string {
  const encoded = (value: unknown) => encodeURIComponent(String(value)).replaceAll('%40', '@').replaceAll('%2F', '/');
  const path = route.path.replace(/:(\w+)|\*/g, (all, name?: string) => encoded(params?.[name ?? all]));
  if (query === undefined) return path;
  const pairs = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return `${path}?${new URLSearchParams(pairs)}`;
}

const isFile = (value: string): boolean => value.startsWith('@');
const inShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

export function curlOf(route: Route, place: Place): string {
  const { body, form = {}, headers = {}, ...example } = exampleOf(route);
  const token = tokenOf(route);
  const method = route.method === 'GET' ? '' : ` -X ${route.method}`;
  const fields = Object.entries(form).map(([name, value]) => inShell(`${name}=${value}`));
  const asFile = Object.values(form).some(isFile);
  const parts = [
    `curl${route.kind === 'sse' ? ' -N' : ''}${method} "$${baseOf[place]}${pathOf(route, example)}"`,
    ...(token === null ? [] : [`-H "Authorization: Bearer $${token}"`]),
    ...Object.entries(headers).map(([name, value]) => `-H ${inShell(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${inShell(JSON.stringify(body))}`]),
    ...fields.map((field) => `${asFile ? '-F' : '--data-urlencode'} ${field}`),
  ];
  return parts.join(' \\\n  ');
}

/** The call of the client of src/client; where that has none (bytes, pages, forms, headers), the `fetch` of every program. */
export function clientCallOf(route: Route, place: Place): string {
  const example = exampleOf(route);
  const { form, headers, params } = example;
  if (route.kind === 'raw' || params?.['*'] !== undefined || form !== undefined || headers !== undefined) {
    return fetchOf(route, place, example);
  }
  const input = Object.keys(example).length === 0 ? '' : literal(example);
  if (route.kind === 'sse') return `gantry.${route.op}(${input === '' ? '{}' : input}, { onEvent: console.log });`;
  return `await gantry.${route.op}(${input});`;
}

function fetchOf(route: Route, place: Place, example: Example): string {
  const token = tokenOf(route);
  const { body, form = {} } = example;
  const headers = [
    ...(token === null ? [] : [`authorization: \`Bearer \${${token}}\``]),
    ...(body === undefined ? [] : ["'content-type': 'application/json'"]),
    ...Object.entries(example.headers ?? {}).map(([name, value]) => `${literal(name)}: ${literal(value)}`),
  ];
  const asFile = Object.values(form).some(isFile);
  const options = [
    ...(route.method === 'GET' ? [] : [`method: '${route.method}'`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(body === undefined ? [] : [`body: JSON.stringify(${literal(body)})`]),
    ...(example.form === undefined ? [] : [asFile ? 'body: form' : `body: new URLSearchParams(${literal(form)})`]),
  ];
  const url = `\`\${${baseOf[place]}}${pathOf(route, example)}\``;
  const call = `await fetch(${url}${options.length === 0 ? '' : `, { ${options.join(', ')} }`});`;
  if (!asFile) return call;
  const fields = Object.entries(form).map(([name, value]) =>
    isFile(value)
      ? `form.append(${literal(name)}, new Blob(['It works.']), ${literal(value.slice(1))});`
      : `form.append(${literal(name)}, ${literal(value)});`,
  );
  return ['const form = new FormData();', ...fields, call].join('\n');
}

/** As a person writes it: single quotes, and names without quotes where they need none. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const fields = Object.entries(value).map(
      ([name, one]) => `${/^[A-Za-z_]\w*$/.test(name) ? name : literal(name)}: ${literal(one)}`,
    );
    return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
  }
  return typeof value === 'string'
    ? `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
    : JSON.stringify(value);
}

/** What an operation needs that a Gantry on one computer, with the phone of the demo and nothing else, does not have: what it then answers instead. */
const needs: readonly (readonly [status: number, what: string, ops: readonly string[]])[] = [
  [
    404,
    'a cloud where people sign in (`gantry cloud`)',
    ['login', 'loginCallback', 'protectedResource', 'protectedResourceOf'],
  ],
  [403, 'a cloud (`gantry cloud`)', ['beginPairing']],
  [410, 'a pairing that has begun', ['pollPairing']],
  [404, 'a pairing that has begun', ['readPairing', 'approvePairing', 'denyPairing']],
  [409, 'a computer without open approvals, and a cloud', ['startLocalPairing']],
  [409, 'a paired computer', ['revokeComputer']],
  [502, 'a paired computer', ['readPeer', 'actOnPeer']],
  [
    401,
    'the signature of a paired computer',
    [
      ...[
        'describeDevice',
        'rotateDevice',
        'unpairDevice',
        'createDeviceToken',
        'putApproval',
        'forwardEvents',
        'reportUsage',
      ],
      ...['registerConnectorSubscription', 'unregisterConnectorSubscription', 'answerApproval', 'deliverTrigger'],
      ...['deliverConnectorEvent', 'deliverText', 'resyncRuntime'],
    ],
  ],
  [401, 'the token of a bot', ['agentHook', 'takeReport']],
  [403, 'a signed-in page; no token is enough', ['addPolicyRule', 'proposePolicyRules', 'removeAddedRule']],
  [404, 'the button of a push', ['pushAction']],
  [404, 'a conversation that the program keeps on this computer', ['adoptKeptSession']],
  [409, 'a step that is ready, or waits for a person', ['claimNode', 'doneNode', 'failNode', 'retryNode']],
  [404, 'a run that was started from a prompt', ['getQuickRun', 'quickRunDiff', 'endQuickRun', 'saveQuickRun']],
  [409, 'a bot that a limit holds', ['letBotGoOn']],
  [409, 'a template of the workspace; those that ship with Gantry stay', ['removeTemplate']],
  [404, 'a template that was deleted', ['restoreTemplate']],
  [404, 'work of the bot that was discarded', ['restoreWorktree']],
  [403, 'that you are its recipient', ['markMailRead']],
  [404, 'a turn that a bot has run', ['getAgentRun']],
  [404, 'a sign-in that has begun', ['toolServerOauthCallback']],
  [409, 'a run that is under way', ['cancelComputerUseRun', 'pauseComputerUseRun', 'resumeComputerUseRun']],
  [409, 'a run that waits for an approval', ['approveComputerUseRun']],
  [404, 'a run that kept a picture or a file', ['readComputerUseArtifact']],
  [423, 'control of the computer (`takeControl`)', ['callToolset', 'renewControl']],
  [
    404,
    'a project with hosted computers, on Linux',
    [
      ...[
        'listHostedComputers',
        'createHostedComputer',
        'getHostedComputer',
        'startHostedComputer',
        'stopHostedComputer',
      ],
      ...['callHostedToolset', 'readHostedToolsetSchema', 'listHostedEvents', 'streamHostedEvents', 'approveHosted'],
      ...['listHostedMeters', 'listHostedApprovals', 'changeComputerSettings', 'deleteHostedComputer'],
      'getComputerPool',
    ],
  ],
  [404, 'a computer host that was added', ['adminRemoveHost']],
  [409, 'a service that people sign in to', ['beginConnectorSignIn']],
  [409, 'a bot that a rule can run: hosted, or Claude Code', ['createAutomationRule']],
  [404, 'a rule', ['changeAutomationRule', 'removeAutomationRule']],
  [
    404,
    'a run of a rule',
    [
      ...[
        'findAutomationRun',
        'readAutomationRun',
        'listAutomationRunEvents',
        'approveAutomationRun',
        'denyAutomationRun',
      ],
      ...['retryAutomationRun', 'stopAutomationRun'],
    ],
  ],
  [404, 'a bot without a terminal', ['agentConversation', 'setAgentMode']],
  [410, 'a subscription at the service that calls', ['connectorEventCallback']],
  [404, 'a subscription of an outside app', ['endEdgeSubscription']],
  [404, 'a number that is being ported', ['getPhonePort', 'correctPhonePort', 'settleDemoPort']],
  [404, 'a registration of the number', ['getPhoneRegistration', 'confirmPhoneRegistration', 'phoneOptInPage']],
  [403, 'a number that the carrier lets text', ['sendText']],
  [410, 'the address that the carrier has', ['phoneRelayAddress']],
  [404, 'the carrier that is configured, and its signature', ['phoneCarrierWebhook']],
  [403, 'the consent of the person who is called', ['askForCall', 'dialAsVoiceWorker', 'dialPhoneCall']],
  [404, 'a call that is under way', ['controlPhoneCall', 'answerOnDemoHandset']],
];

export interface Refusal {
  readonly status: number;
  readonly needs: string;
}
const refusals = new Map(
  needs.flatMap(([status, what, ops]) => ops.map((op): [string, Refusal] => [op, { status, needs: what }])),
);

export const refusedOps: readonly string[] = [...refusals.keys()];

/** What its example lacks in such a Gantry; null: it succeeds there. */
export const refusalOf = ({ op }: Route): Refusal | null => refusals.get(op.replace(/(?:Short|V1)$/, '')) ?? null;
