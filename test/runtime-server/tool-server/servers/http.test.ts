/** Attached servers over real HTTP: both kinds of answers, sessions, credentials, addresses, and what breaks on the way. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ownAddress } from '../../../../src/runtime-server/tool-server/servers/http-connection.ts';
import type { ServerAuth } from '../../../../src/runtime-server/tool-server/servers/index.ts';
import { type HttpServerOptions, serveHttp } from '../../../support/attached/http.ts';
import { scratchFolder } from '../../../support/scratch.ts';
import { onEnd, openServers, stdio, textOf } from './support.ts';

const open = (more = {}) =>
  openServers({
    file: join(scratchFolder(), 'runtime.db'),
    limits: { connectMs: 3_000, probeMs: 1_000, listMs: 2_000 },
    ...more,
  });

async function serve(options: HttpServerOptions = {}) {
  const server = await serveHttp(options);
  onEnd(server.close);
  return server;
}

const http = (url: string, more: object = {}) => ({ type: 'http' as const, url, ...more });
const methods = (server: Awaited<ReturnType<typeof serve>>) => server.requests.map(({ body }) => body?.method);

test.each([
  { streams: false, sessions: false },
  { streams: true, sessions: true },
])('a server that answers so is listed and called: $streams, $sessions', async (how) => {
  const server = await serve(how);
  const servers = await open();
  const { id, transport } = await servers.attach('web', http(server.url, { headers: { 'x-key': 'sk-secret' } }));
  expect(transport).toMatchObject({ headers: { 'x-key': '•••' } });
  await servers.until(id, 'connected');
  expect(textOf(await servers.call('web.echo', { text: 'grüße' }))).toBe('echo: {"text":"grüße"}');
  expect(server.requests.every(({ headers }) => headers['x-key'] === 'sk-secret')).toBe(true);
  await servers.http('DELETE', `/mcp/servers/${id}`);
  // A session that nobody needs any more is given back.
  if (how.sessions) expect(server.requests.at(-1)).toMatchObject({ method: 'DELETE' });
});

test('a modern server is asked without a handshake, and with the headers that it asks for', async () => {
  const listed = {
    name: 'find',
    inputSchema: { type: 'object', properties: { city: { type: 'string', 'x-mcp-header': 'City' } } },
  };
  const server = await serve({
    first(_, response, body) {
      const meta = { ttlMs: 0, cacheScope: 'private' };
      const results: Record<string, object> = {
        'server/discover': {
          resultType: 'complete',
          supportedVersions: ['2026-07-28'],
          capabilities: { tools: {} },
          ...meta,
        },
        'tools/list': { resultType: 'complete', tools: [listed], ...meta },
        'tools/call': { resultType: 'complete', content: [{ type: 'text', text: 'found' }] },
      };
      const answer = { jsonrpc: '2.0', id: body?.id, result: results[String(body?.method)] };
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
      return true;
    },
  });
  const servers = await open();
  const { id } = await servers.attach('web', http(server.url));
  await servers.until(id, 'connected');
  expect(servers.tools.list()[0]?.inputSchema).toEqual({ type: 'object', properties: { city: { type: 'string' } } });
  expect(textOf(await servers.call('web.find', { city: 'Zürich' }))).toBe('found');
  expect(methods(server)).toEqual(['server/discover', 'tools/list', 'tools/call']);
  expect(server.requests.at(-1)?.headers).toMatchObject({
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'find',
    'mcp-param-city': '=?base64?WsO8cmljaA==?=',
  });
});

test('a session that the server forgot is made anew, and the call that never reached the tool is sent once more', async () => {
  const server = await serve({ sessions: true });
  const servers = await open();
  const { id } = await servers.attach('web', http(server.url));
  await servers.until(id, 'connected');
  server.forget();
  expect(textOf(await servers.call('web.echo', { text: 'x' }))).toBe('echo: {"text":"x"}');
  const calls = server.requests.filter(({ body }) => body?.method === 'tools/call');
  expect(calls.map(({ headers }) => headers['mcp-session-id'])).toEqual(['session-1', 'session-2']);
});

/** As the official SDKs and frameworks around them answer a session that they do not know. */
const refusals: [string, number, string][] = [
  ['TypeScript SDK', 400, rpcError(-32000, 'Bad Request: No valid session ID provided')],
  ['TypeScript SDK, not initialized', 400, rpcError(-32000, 'Bad Request: Server not initialized')],
  ['Python SDK', 400, rpcError(-32600, 'Bad Request: No valid session ID provided')],
  ['without the header', 400, rpcError(-32000, 'Bad Request: Mcp-Session-Id header is required')],
  ['gone', 410, ''],
  ['plain text', 422, 'Session abc has expired'],
];
function rpcError(code: number, message: string): string {
  return JSON.stringify({ jsonrpc: '2.0', error: { code, message }, id: null });
}

test.each(refusals)(
  'a restarted server that refuses the session is used again at once: %s',
  async (_, status, said) => {
    const server = await serve({
      sessions: true,
      gone: (response) => response.writeHead(status, { 'content-type': 'application/json' }).end(said),
    });
    const servers = await open();
    const { id } = await servers.attach('web', http(server.url));
    await servers.until(id, 'connected');
    server.forget();
    expect(textOf(await servers.call('web.echo', { text: 'x' }))).toBe('echo: {"text":"x"}');
    const calls = server.requests.filter(({ body }) => body?.method === 'tools/call');
    expect(calls.map(({ headers }) => headers['mcp-session-id'])).toEqual(['session-1', 'session-2']);
  },
);

test.each([
  ['an error of JSON-RPC', 200],
  ['500', 500],
])(
  'a call whose answer says that the session is gone, and that may have run, is not repeated; the next one works: %s',
  async (_, status) => {
    const server = await serve({
      sessions: true,
      gone: (response, body) =>
        response
          .writeHead(status, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, error: { code: -32000, message: 'Session not found' } })),
    });
    const servers = await open();
    const { id } = await servers.attach('web', http(server.url));
    await servers.until(id, 'connected');
    server.forget();
    expect(textOf(await servers.call('web.echo', { text: 'x' }))).toMatch(
      /answered web\.echo with an error.*Session not found/,
    );
    expect(methods(server).filter((method) => method === 'tools/call')).toHaveLength(1);
    expect(textOf(await servers.call('web.echo', { text: 'y' }))).toBe('echo: {"text":"y"}');
  },
);

test('a tool that speaks of a session of its own costs the server neither its session nor a second call', async () => {
  const server = await serve({
    sessions: true,
    first(_, response, body) {
      if (body?.method !== 'tools/call') return false;
      const error = { code: -32000, message: 'Browser session not found' };
      response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ jsonrpc: '2.0', id: body.id, error }));
      return true;
    },
  });
  const servers = await open();
  const { id } = await servers.attach('web', http(server.url));
  await servers.until(id, 'connected');
  expect((await servers.call('web.echo', { text: 'x' })).isError).toBe(true);
  expect(methods(server).filter((method) => method === 'initialize')).toHaveLength(1);
  expect(methods(server).filter((method) => method === 'tools/call')).toHaveLength(1);
  expect((await servers.read(id)).status).toBe('connected');
});

test('a restarted server is found by the next look at its list, without any call', async () => {
  const server = await serve({
    sessions: true,
    gone: (response) => response.writeHead(400).end('Bad Request: No valid session ID provided'),
  });
  const servers = await open({ waits: { backoffMs: [100], refreshMs: 50 } });
  const { id } = await servers.attach('web', http(server.url));
  await servers.until(id, 'connected');
  server.forget();
  const introductions = () => methods(server).filter((method) => method === 'initialize').length;
  await expect.poll(introductions).toBe(2);
  await servers.until(id, 'connected');
});

test.each([{ streams: false }, { streams: true }])(
  'a call that breaks off is told at once, and sent no second time: $streams',
  async (how) => {
    const server = await serve(how);
    const servers = await open();
    const { id } = await servers.attach('web', http(server.url));
    await servers.until(id, 'connected');
    const answer = await servers.call('web.die');
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toMatch(/^The attached server "web" (was lost while|answered) web\.die .*after \d\.\d s/);
    expect(methods(server).filter((method) => method === 'tools/call')).toHaveLength(1);
    await servers.until(id, 'connected');
    expect(textOf(await servers.call('web.echo', { text: 'x' }))).toBe('echo: {"text":"x"}');
  },
);

test.each([{ streams: false }, { streams: true }])(
  'of 50 MB in one answer no more is read than may be: $streams',
  async (how) => {
    const server = await serve({ ...how, kind: 'huge' });
    const servers = await open();
    const { id } = await servers.attach('web', http(server.url));
    await servers.until(id, 'connected');
    expect(textOf(await servers.call('web.echo', { text: 'x' }))).toMatch(
      /The server’s answer has more than 8388608 bytes\.$/,
    );
    expect((await servers.read(id)).status).toBe('connected');
  },
);

test('a server that is gone is told, and found when it is there again', async () => {
  const first = await serve();
  const servers = await open({ waits: { backoffMs: [100], refreshMs: 200 } });
  const { id } = await servers.attach('web', http(first.url));
  await servers.until(id, 'connected');
  await first.close();
  await servers.until(id, 'error');
  // Between two tries it says that it connects.
  await expect.poll(async () => (await servers.read(id)).error ?? '').toContain('ECONNREFUSED');
  expect(servers.names()).toContain('web.echo');
  const answer = textOf(await servers.call('web.echo', { text: 'x' }));
  expect(answer).toMatch(/^The attached server "web" cannot be reached .*ECONNREFUSED.* Nothing ran\.$/);
  await serve({ port: Number(new URL(first.url).port), kind: 'twice' });
  await servers.until(id, 'connected');
  expect(servers.names()).toEqual(['web.echo', 'web.fine']);
});

test('a server that takes a connection and says nothing is told, and so is one that answers with a page or with 500', async () => {
  const answers: Record<string, HttpServerOptions['first']> = {
    silent: () => true,
    page: (_, response) => response.setHeader('content-type', 'text/html').end('<p>Hello</p>') !== null,
    broken: (_, response) => response.writeHead(500).end('Oh no') !== null,
  };
  const errors = { silent: /did not answer|timed out/, page: /text\/html/, broken: /500|Oh no/ };
  const servers = await open();
  const good = await servers.attach('good', stdio('usual'));
  const ids: [string, RegExp][] = [];
  for (const [name, first] of Object.entries(answers)) {
    const server = await serve({ first: first as NonNullable<typeof first> });
    ids.push([(await servers.attach(name, http(server.url))).id, errors[name as keyof typeof errors]]);
  }
  await servers.until(good.id, 'connected');
  for (const [id, why] of ids) {
    await expect.poll(async () => (await servers.read(id)).error, { interval: 10 }).toMatch(why);
  }
});

test('a call that is forbidden is told as that, and costs the server nothing else', async () => {
  const server = await serve({
    first(_, response, body) {
      if (body?.method !== 'tools/call') return false;
      response.writeHead(403).end('Not this one');
      return true;
    },
  });
  const servers = await open();
  const { id } = await servers.attach('web', http(server.url));
  await servers.until(id, 'connected');
  const answer = await servers.call('web.echo', { text: 'x' });
  expect([answer.isError, textOf(answer)]).toEqual([
    true,
    expect.stringMatching(/^The attached server "web" refused web\.echo after \d\.\d s: .*Not this one\.$/),
  ]);
  await servers.until(id, 'connected');
  await servers.call('web.echo', { text: 'x' });
  // Each is sent once, over the connection that there is.
  const calls = methods(server).filter((method) => method === 'tools/call');
  const lists = methods(server).filter((method) => method === 'tools/list');
  expect([calls.length, lists.length]).toEqual([2, 1]);
});

test('without a sign-in, 401 says that a header is missing; with one it is tried', async () => {
  const server = await serve({
    first(request, response) {
      if (request.headers.authorization === 'Bearer right-one') return false;
      response.writeHead(401, { 'www-authenticate': 'Bearer realm="x"' }).end();
      return true;
    },
  });
  const servers = await open();
  const { id } = await servers.attach('web', http(server.url, { headers: { authorization: 'Bearer wrong-one' } }));
  await servers.until(id, 'needs_reauth');
  expect(await servers.read(id)).toMatchObject({ error: expect.stringContaining('header'), authorizeUrl: null });
  expect(textOf(await servers.call('web.echo', {}))).toBe('There is no tool "web.echo".');
  await servers.http('PATCH', `/mcp/servers/${id}`, {
    body: { transport: http(server.url, { headers: { authorization: 'Bearer right-one' } }) },
  });
  await servers.until(id, 'connected');
});

test('whoever signs in is asked for tokens, told of refusals, and gives the address to sign in at', async () => {
  let token: string | null = null;
  let valid = 'first';
  let authorizeUrl = 'https://login.example/authorize?x=1';
  let answered = (_id: string, _signedIn: boolean) => {};
  const refusals: unknown[] = [];
  const forgotten: string[] = [];
  const auth: ServerAuth = {
    tokenFor: async () => token,
    async challenge(target, said) {
      refusals.push([target, said]);
      return token === null || token === 'first'
        ? { is: 'sign_in', authorizeUrl }
        : { is: 'none', why: 'The sign-in was refused.' };
    },
    forget: async (id) => void forgotten.push(id),
    onAnswered(listener) {
      answered = listener;
      return () => {};
    },
  };
  const server = await serve({
    first(request, response) {
      if (request.headers.authorization === `Bearer ${valid}`) return false;
      response.writeHead(401, { 'www-authenticate': 'Bearer resource_metadata="https://x.example/"' }).end();
      return true;
    },
  });
  const servers = await open({ auth });
  const { id } = await servers.attach('web', http(server.url, { oauth: { scopes: ['read'] } }));
  await servers.until(id, 'needs_reauth');
  expect((await servers.read(id)).authorizeUrl).toBe('https://login.example/authorize?x=1');
  expect(refusals[0]).toEqual([
    { id, name: 'web', url: server.url, oauth: { scopes: ['read'] } },
    { status: 401, wwwAuthenticate: 'Bearer resource_metadata="https://x.example/"', token: null },
  ]);
  // Declined, or after its time: the address is used up, and another is shown.
  authorizeUrl = 'https://login.example/authorize?x=2';
  answered(id, false);
  await expect.poll(async () => (await servers.read(id)).authorizeUrl).toBe(authorizeUrl);
  token = 'first';
  answered(id, true);
  await servers.until(id, 'connected');
  expect(textOf(await servers.call('web.echo', { text: 'x' }))).toBe('echo: {"text":"x"}');
  // The token is taken back while it is connected.
  valid = 'second';
  expect(textOf(await servers.call('web.echo', { text: 'x' }))).toContain(
    'Somebody must sign in there: on the Tools page',
  );
  expect(await servers.read(id)).toMatchObject({ status: 'needs_reauth', toolCount: 4 });
  expect(refusals.at(-1)).toMatchObject([{ id }, { token: 'first' }]);
  await servers.http('DELETE', `/mcp/servers/${id}`);
  expect(forgotten).toEqual([id]);
});

test('redirects within a server are followed, and nobody is led to another one', async () => {
  const other = await serve();
  let target = '/mcp';
  const server = await serve({
    first(request, response) {
      if (request.url !== '/old') return false;
      response.writeHead(307, { location: target }).end();
      return true;
    },
  });
  const servers = await open();
  const old = server.url.replace('/mcp', '/old');
  const inside = await servers.attach('inside', http(old));
  await servers.until(inside.id, 'connected');
  await servers.http('DELETE', `/mcp/servers/${inside.id}`);
  target = other.url;
  const outside = await servers.attach('outside', http(old, { headers: { 'x-key': 'secret-key' } }));
  await servers.until(outside.id, 'error');
  expect(other.requests).toEqual([]);
});

test('the private address that was attached is reached, and no other: not by a public name, not over http', async () => {
  const servers = await open();
  const kinds = {
    'http://example.com/mcp': 'is not https',
    'https://169.254.169.254/latest': 'is not a public address',
  };
  for (const [index, [url, why]] of Object.entries(kinds).entries()) {
    const { id } = await servers.attach(`s${index}`, http(url));
    await servers.until(id, 'error');
    expect((await servers.read(id)).error).toContain(why);
  }
  const near = [
    'http://localhost:3/x',
    'http://127.0.0.1/x',
    'https://[::1]:7/x',
    'http://10.0.0.1:8/',
    'https://nas/x',
  ];
  expect(near.flatMap(ownAddress)).toEqual(['localhost:3', '127.0.0.1:80', '::1:7', '10.0.0.1:8', 'nas:443']);
  const far = ['https://example.com/', 'https://127.0.0.1.nip.io/', 'http://169.254.169.254/', 'https://8.8.8.8/'];
  expect(far.flatMap(ownAddress)).toEqual([]);
});
