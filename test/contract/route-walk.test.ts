// Runs always: asks every route for its auth, scope and owner.
/** Walks every route of every server with every wrong caller, so that no route can be added without a guard. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { AppError } from '../../src/contracts/common/errors.ts';
import { type Route, type Scope, scopes } from '../../src/contracts/common/route.ts';
import { deviceRoutes } from '../../src/contracts/computer-use/device-routes.ts';
import { runRoutes } from '../../src/contracts/computer-use/run-routes.ts';
import { connectorAreaRoutes, connectorEngineRoutes } from '../../src/contracts/connectors/routes.ts';
import { factoryRoutes } from '../../src/contracts/factory/routes.ts';
import { deliverTrigger } from '../../src/contracts/factory/work-engine/trigger-events.ts';
import { metricsRoutes } from '../../src/contracts/metrics/routes.ts';
import { phoneEngineRoutes, phoneRoutes } from '../../src/contracts/phone/routes.ts';
import { type ServerTable, serverTables } from '../../src/contracts/servers.ts';
import { toolServerRoutes } from '../../src/contracts/tool-server/routes.ts';
import type { PhoneSettings } from '../../src/host/phone-settings.ts';
import { localUserId } from '../../src/kit/http/principals.ts';
import type { BoundRoute } from '../../src/kit/http/types.ts';
import { readTokenFile } from '../../src/kit/secrets/token-file.ts';
import { startPair } from '../host/support.ts';
import { type Call, keepUntilEnd, rawRequest, steadyCaller } from '../kit/http/support.ts';
import { ownersOf } from '../support/owner-lookups.ts';

/** The peer server has a walk of its own: nobody but a ticket gets in there. */
type Server = Exclude<ServerTable['name'], 'peer' | 'cluster'>;
interface Servers {
  readonly pair: Awaited<ReturnType<typeof startPair>>;
  readonly bot: string;
  readonly reached: string[];
  call(server: Server): Call;
  port(server: Server): number;
}

/** A carrier that does not answer: what is refused, is refused before it is asked. */
const carrierAway: PhoneSettings = {
  carrier: 'telnyx',
  apiKey: 'KEY',
  publicKey: Buffer.alloc(32).toString('base64'),
  connectionId: '1',
  url: 'http://127.0.0.1:9',
  webhookUrl: null,
};

let servers: Servers;
const stop = keepUntilEnd();
beforeAll(async () => {
  const reached: string[] = [];
  const routes = [
    ...[...factoryRoutes, deliverTrigger, ...toolServerRoutes, ...deviceRoutes, ...runRoutes],
    ...[...connectorAreaRoutes, ...connectorEngineRoutes, ...phoneEngineRoutes, ...metricsRoutes],
  ].map(
    (route): BoundRoute => ({
      route,
      handler: () => {
        reached.push(route.op);
        throw new AppError('timeout', 'reached', '');
      },
    }),
  );
  // Nothing belongs to anybody here: every id is unknown or foreign.
  const started = await startPair({
    routes,
    owners: ownersOf([...factoryRoutes, ...runRoutes], false),
    cloud: { phone: carrierAway },
  });
  const pair = {
    ...started,
    callWeb: steadyCaller(started.webPort, started.ownerToken),
    callEngine: steadyCaller(started.enginePort, started.ownerToken),
  };
  // A project without hosted computers is refused before scopes are checked, so every caller would get the same answer.
  const shop = { id: 'shop', userId: localUserId, hostedDriverEnabled: true };
  expect((await pair.callWeb('POST', '/api/v1/admin/projects', { body: shop })).status).toBe(201);
  servers = {
    pair,
    reached,
    bot: await pair.bots.mint('agent_1'),
    call: (server) => (server === 'cloud' ? pair.callWeb : pair.callEngine),
    port: (server) => (server === 'cloud' ? pair.webPort : pair.enginePort),
  };
});
afterAll(stop);

interface Case {
  readonly name: string;
  readonly server: Server;
  readonly route: Pick<Route, 'method' | 'path' | 'op' | 'auth' | 'owner' | 'errors'>;
}
const walk: Case[] = serverTables.flatMap(({ name: server, routes }) =>
  server === 'peer' || server === 'cluster'
    ? []
    : routes.map((route) => ({ name: `${server} ${route.op}`, server, route })),
);
const pathOf = (route: Case['route']) =>
  route.path
    .replace(/:event\b/, 'Stop')
    .replace(/:\w+/g, 'nothing_1')
    .replace('*', 'x');
const phone = new Set(phoneRoutes.map(({ op }) => op));
const isPublic = (route: Case['route']) => route.auth.includes('public');

function expectRefused(status: number, json: unknown, route: Case['route'], wanted: number): void {
  expect([route.op, status]).toEqual([route.op, wanted]);
  const shapes = {
    factory: ['error'],
    plain: ['error', 'message'],
    computers: ['error'],
    rpc: ['jsonrpc', 'id', 'error'],
  };
  expect(Object.keys(json as object)).toEqual(shapes[route.errors]);
}

test.each(walk)('$name: nobody and junk are refused', async ({ server, route }) => {
  if (isPublic(route)) return;
  const call = servers.call(server);
  const before = servers.reached.length;
  const missing = await call(route.method, pathOf(route), { token: null });
  expectRefused(missing.status, missing.json, route, 401);
  const path = pathOf(route);
  for (const token of ['junk', servers.pair.linkToken, `${servers.pair.ownerToken}x`]) {
    const reply = await call(route.method, path, { token });
    // The budget for bad credentials is spent on the way: from then on 429.
    expect([route.op, [401, 429].includes(reply.status)]).toEqual([route.op, true]);
  }
  const inQuery = await call(route.method, `${path}?token=${servers.pair.ownerToken}`, { token: null });
  expect([401, 429]).toContain(inQuery.status);
  expect(servers.reached.length).toBe(before);
});

test.each(walk)('$name: a wrong Host, a foreign page and another site are refused', async ({ server, route }) => {
  const call = servers.call(server);
  const before = servers.reached.length;
  const port = servers.port(server);
  const path = pathOf(route);
  const host = await call(route.method, path, { headers: { host: `evil.example:${port}` } });
  expectRefused(host.status, host.json, route, 421);
  const foreign: Record<string, string>[] = [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: `http://127.0.0.1:${port + 1}` },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
  ];
  for (const headers of foreign) {
    const reply = await call(route.method, path, { headers });
    expectRefused(reply.status, reply.json, route, 403);
  }
  const options = await call('OPTIONS', path);
  expect(options.status).toBe(403);
  expect(options.headers['access-control-allow-origin']).toBeUndefined();
  expect(servers.reached.length).toBe(before);
});

test.each(walk)('$name: what the caller does not own is not found', async ({ server, route }) => {
  if (typeof route.owner === 'string' || 'none' in route.owner || !route.auth.includes('owner')) return;
  const before = servers.reached.length;
  const body = route.method === 'GET' || route.method === 'DELETE' ? undefined : validBody(route.op);
  const reply = await servers.call(server)(route.method, `${pathOf(route)}${validQuery[route.op] ?? ''}`, { body });
  expectRefused(reply.status, reply.json, route, 404);
  const { error } = reply.json;
  expect(typeof error === 'string' ? error : error.code).toMatch(/^(\w+_)?not_found$/);
  expect(servers.reached.length).toBe(before);
});

/** Of routes that ask for one. */
const validQuery: Readonly<Record<string, string>> = {
  readHostedToolsetSchema: '?toolset=computer',
  agentFileText: '?path=x',
  agentFilePlace: '?path=x',
  quickRunDiff: '?bot=x',
};

const somebody = '+12025550123';
const ofPhone: Readonly<Record<string, unknown>> = {
  movePhoneNumber: { botId: 'bot_1' },
  correctPhonePort: { details: {} },
  recordPhoneConsent: { e164: somebody, source: 'x', evidence: 'x' },
  addPhoneOptOut: { e164: somebody, evidence: 'x' },
  controlPhoneCall: { action: 'hangup' },
};

function validBody(op: string): unknown {
  if (op === 'agentSize') return { cols: 80, rows: 24 };
  if (op === 'setAgentMode') return { mode: 'plan' };
  if (op === 'addAgentImage') return { data: 'AAAA' };
  if (op === 'resolveApproval') return { decision: 'approve' };
  if (op === 'progressNode') return { text: 'x' };
  if (op === 'sendToPeer') return { text: 'x' };
  if (op === 'refinePlan') return { revision: 1, template: {} };
  if (op === 'callHostedToolset') return { toolset: 'computer', member: 'screenshot', input: {} };
  if (op === 'approveHosted') return { decision: 'approve' };
  if (op === 'endQuickRun') return { bot: 'x', outcome: 'kept' };
  if (op === 'saveQuickRun') return { team: 'x' };
  if (op === 'failNode') return { reason: 'x' };
  if (op in ofPhone) return ofPhone[op];
  return {};
}

test('a bot can call these operations and no others', async () => {
  const allowed: string[] = [];
  for (const { server, route } of walk) {
    if (server !== 'engine' || isPublic(route)) continue;
    const reply = await servers.pair.callEngine(route.method, pathOf(route), { token: servers.bot });
    if (reply.status !== 403) allowed.push(route.op);
    expect(reply.status).not.toBe(401);
  }
  // Adding to this list gives a bot, and whoever talks it into something, one more thing to do.
  expect(allowed).toEqual([
    'listAgents',
    'getAgent',
    'captureAgent',
    'agentTranscript',
    'agentScreen',
    'explainAgent',
    'agentHook',
    'agentConversation',
    'takeReport',
    'listTeams',
    'checkTeam',
    'sendMessage',
    'listDeliveries',
    'listThreads',
    'createThread',
    'listMessages',
    'getWorkspace',
    'listTemplates',
    'getTemplate',
    'checkTemplate',
    'getFlow',
    'getRunTimes',
    'listCampaigns',
    'getBoard',
    'listProjects',
    'listNodes',
    'getNode',
    'uploadProof',
    'readProof',
    'claimNode',
    'progressNode',
    'doneNode',
    'failNode',
    'agentDiff',
    'explainWhy',
    'waitFor',
    'listSchedules',
    // Where a rule of the policy allows it, and nowhere else.
    'createSchedule',
    'listOccurrences',
    'checkGate',
    'listMail',
    'readMail',
    'markMailRead',
    'sendMail',
    'queryLedger',
    'verifyLedger',
    'listLeases',
    'claimLease',
    'renewLease',
    'releaseLease',
    'listPlans',
    'getPlan',
    'draftPlan',
    'refinePlan',
    'discardPlan',
    'listPeers',
    'registerPeer',
    'beatPeer',
    'sendToPeer',
    'removePeer',
    'listCheckpoints',
    'steerAgent',
    'listTickets',
    'getTicket',
    'closeTicket',
    'listAgentRuns',
    'getAgentRun',
    'mcpServer',
    'listTools',
    'readTool',
    'callTool',
  ]);
});

test('a bot is nobody at the cloud API', async () => {
  for (const { server, route } of walk) {
    if (server !== 'cloud' || isPublic(route)) continue;
    const reply = await servers.pair.callWeb(route.method, pathOf(route), { token: servers.bot });
    expect([route.op, [401, 429].includes(reply.status)]).toEqual([route.op, true]);
  }
});

test('a key at one’s own computer does what its scopes say, and the service token what administration needs', async () => {
  const { pair } = servers;
  const keyOf = async (scope: Scope) => {
    const reply = await pair.callWeb('POST', '/api/v1/keys', { body: { name: 'walk', scopes: [scope] } });
    return {
      kind: 'key',
      scopes: [scope] as readonly Scope[],
      token: (reply.json as unknown as { secret: string }).secret,
    };
  };
  const service = { kind: 'internal', scopes, token: readTokenFile(pair.places.internalToken) };
  for (const { kind, scopes: held, token } of [await keyOf('agents:read'), await keyOf('admin'), service]) {
    for (const { server, route } of walk) {
      if (server !== 'cloud' || isPublic(route)) continue;
      const { auth, scope } = route as Route;
      const enough = scope === null ? kind !== 'key' : scope === 'any' || held.includes(scope);
      const mayCall = auth.includes(kind as never) && enough;
      const reply = await pair.callWeb(route.method, pathOf(route), { token });
      const refused = reply.status === 403 && /is not enough to|lacks the scope|is enough for this/.test(reply.text);
      expect([kind, held, route.op, refused]).toEqual([kind, held, route.op, !mayCall]);
      expect([route.op, reply.status]).not.toEqual([route.op, 401]);
    }
  }
});

test('without a carrier each route of the phone says that, and nothing else, to whoever it lets in', async () => {
  const pair = await startPair({});
  for (const { route } of walk.filter(({ route: { op } }) => phone.has(op))) {
    const token = isPublic(route) ? null : undefined;
    if (token === undefined && !route.auth.includes('owner')) continue;
    const reply = await pair.callWeb(route.method, pathOf(route), token === null ? { token } : {});
    expect([route.op, reply.status, reply.text]).toEqual([route.op, 503, '{"error":"phone_not_configured"}']);
  }
});

test('what is served is what the tables declare, nothing more', () => {
  const declared = new Set(walk.map(({ route }) => `${route.method} ${route.path}`));
  const live = servers.pair.web.routes.map((route) => `${route.method} ${route.path}`);
  expect(live.filter((route) => !declared.has(route))).toEqual([]);
  expect(live.length).toBe(new Set(walk.filter(({ server }) => server === 'cloud').map(({ name }) => name)).size);
});

test('the scheme may be written in any case; two credentials are one too many', async () => {
  const { pair } = servers;
  const path = '/api/factory/agents';
  const lower = await pair.callEngine('GET', path, { headers: { authorization: `bearer ${pair.ownerToken}` } });
  expect(lower.status).toBe(504);
  const two = await rawRequest(
    pair.enginePort,
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${pair.enginePort}\r\nAuthorization: Bearer ${pair.ownerToken}\r\nAuthorization: Bearer ${pair.ownerToken}\r\nConnection: close\r\n\r\n`,
  );
  expect(two).toMatch(/^HTTP\/1\.1 401 /);
});

test('after too many bad credentials the answer is 429, and good ones still pass', async () => {
  const { pair } = servers;
  let last = 0;
  let retry: string | undefined;
  for (let attempt = 0; attempt < 25; attempt += 1) {
    const reply = await pair.callEngine('GET', '/api/factory/agents', { token: 'junk' });
    last = reply.status;
    retry = reply.headers['retry-after'];
  }
  expect(last).toBe(429);
  expect(Number(retry)).toBeGreaterThan(0);
  expect((await pair.callEngine('GET', '/api/factory/agents')).status).toBe(504);
});
