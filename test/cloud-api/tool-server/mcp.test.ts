import { expect, test } from 'vitest';
import {
  internalMcpServer,
  legacyVersions,
  mcpMeta,
  modernVersion,
  rpcCodes,
  tasksExtension,
  tasksVersion,
} from '../../../src/contracts/tool-server/mcp.ts';
import { baseHeaders } from '../../../src/kit/http/base-headers.ts';
import { untilLinked } from '../../support/link.ts';
import { createProfileTasks } from '../../support/mcp/profile-tasks.ts';
import { type Seen, startToolCloud, startToolComputer } from './support.ts';

interface Listed {
  readonly result?: { readonly tools: { name: string }[]; readonly resultType?: string };
  readonly error?: { code: number; message: string; data?: unknown };
}
interface Called {
  readonly id: unknown;
  readonly result: {
    content: { text: string }[];
    isError?: boolean;
    structuredContent?: { error: string; since: string };
  };
}

test('a call reaches the caller’s computer byte for byte, and its answer comes back byte for byte', async () => {
  const { cloud, rpc } = await startToolCloud();
  const seen: Seen[] = [];
  await startToolComputer(cloud, 0, { seen });
  const reply = await rpc('tools/call', { name: 'echo.text', arguments: { ä: [1, { x: null }] } }, { id: 'call-7' });
  const { id, result } = reply.json as never as Called;
  expect([reply.status, id, result.isError]).toEqual([200, 'call-7', false]);
  expect(JSON.parse(result.content[0]!.text)).toEqual({ name: 'echo.text', args: { ä: [1, { x: null }] } });
  expect(JSON.parse(seen[0]!.body)).toMatchObject({
    id: 'call-7',
    params: { _meta: { [mcpMeta.version]: modernVersion } },
  });
  expect(seen[0]?.headers).toMatchObject({ 'mcp-protocol-version': modernVersion });
});

test('what the computer refuses comes back with its own status and code', async () => {
  const { cloud, rpc } = await startToolCloud();
  await startToolComputer(cloud, 0);
  const wrong = await rpc('tools/call', { name: 'echo.text' }, { headers: { 'mcp-name': 'other' } });
  expect([wrong.status, wrong.json.error.code]).toEqual([400, rpcCodes.headerMismatch]);
  const unknown = await rpc('tools/call', { name: 'no.such' });
  expect([unknown.status, unknown.json.error.code]).toEqual([200, rpcCodes.invalidParams]);
  const method = await rpc('resources/nothing');
  expect([method.status, method.json.error.code]).toEqual([404, rpcCodes.methodNotFound]);
});

test('the handshake, discovery, ping and notifications are answered without a computer', async () => {
  const { rpc, web } = await startToolCloud();
  const discovered = await rpc('server/discover');
  expect(discovered.status).toBe(200);
  for (const version of legacyVersions) {
    const begun = await rpc(
      'initialize',
      { protocolVersion: version, capabilities: {}, clientInfo: {} },
      { version: null },
    );
    expect((begun.json as never as { result: object }).result).toMatchObject({ protocolVersion: version });
    expect((await rpc('ping', {}, { version })).json).toEqual({ jsonrpc: '2.0', id: 1, result: {} });
  }
  const told = await web.call('POST', '/mcp/server', {
    token: 'ada',
    body: { jsonrpc: '2.0', method: 'notifications/initialized' },
  });
  expect([told.status, told.text]).toEqual([202, '']);
});

test('every answer carries what all answers of the API carry, once', async () => {
  const { cloud, rpc, web } = await startToolCloud();
  await startToolComputer(cloud, 0);
  const notification = { jsonrpc: '2.0', method: 'notifications/initialized' };
  const answers = [
    await rpc('tools/call', { name: 'echo.text' }),
    await rpc('server/discover'),
    await rpc('tools/call', { name: 'echo.text' }, { headers: { 'mcp-name': 'other' } }),
    await web.call('POST', '/mcp/server', { token: 'ada', body: notification }),
    await web.call('POST', '/mcp/server', { token: 'ada', body: {}, headers: { 'content-type': 'text/plain' } }),
    await web.call('POST', '/mcp/server', { token: 'nobody', body: notification }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 202, 415, 401]);
  for (const { headers, text } of answers) {
    expect(headers).toMatchObject({ ...baseHeaders, 'content-length': String(Buffer.byteLength(text)) });
    expect(headers['x-request-id']).toMatch(/^req_[^, ]+$/);
  }
});

test('each caller reaches the default or the named computer of their own, and nobody else’s', async () => {
  const { cloud, rpc } = await startToolCloud();
  const seen: Seen[] = [];
  for (const at of [0, 1, 2]) await startToolComputer(cloud, at, { seen });
  const where = async (token: string, search = '', headers = {}) => {
    const reply = await rpc('tools/call', { name: 'echo.text' }, { token, search, headers });
    return reply.status === 200 ? seen.at(-1)?.computer : [reply.status, reply.json.error.code];
  };
  expect(await where('ada')).toBe('computer_a');
  expect(await where('ada', '?computer=computer_b')).toBe('computer_b');
  expect(await where('ada', '', { 'x-gantry-computer': 'cc_b' })).toBe('computer_b');
  expect(await where('bob')).toBe('computer_c');
  for (const [token, search] of [
    ['bob', '?computer=cc_a'],
    ['ada', '?computer=computer_c'],
    ['ada', '?computer=nothing'],
    ['eve', ''],
  ] as const) {
    expect([token, search, await where(token, search)]).toEqual([token, search, [404, rpcCodes.invalidParams]]);
  }
  expect(seen).toHaveLength(4);
  expect(seen[1]?.url).toBe('/mcp/server');
});

test('the computer is told which client of the person asks, and nothing that a client says of itself counts', async () => {
  const { cloud, rpc } = await startToolCloud();
  const seen: Seen[] = [];
  await startToolComputer(cloud, 0, { seen });
  const forged = { 'x-gantry-client': 'key:other', 'x-gantry-surface': 'cli', cookie: 'a=b' };
  for (const token of ['ada', 'ada-key', 'ada-oidc']) {
    await rpc('tools/call', { name: 'echo.text' }, { token, headers: forged });
  }
  await rpc('tools/call', { name: 'echo.text' }, { token: 'for-ada', path: internalMcpServer.path });
  expect(seen.map(({ client }) => client)).toEqual([
    'browser',
    'key:key_1',
    'oidc:https%3A%2F%2Fclient.example',
    'internal',
  ]);
  for (const { headers } of seen) expect(JSON.stringify(headers)).not.toMatch(/key:other|Bearer ada|a=b/);
});

test('tools are listed by the names that are asked for', async () => {
  const { cloud, rpc } = await startToolCloud();
  await startToolComputer(cloud, 0, { tools: ['echo.text', 'b.c'] });
  const names = async (search: string) =>
    ((await rpc('tools/list', {}, { search })).json as never as Listed).result?.tools.map(({ name }) => name);
  expect(await names('')).toEqual(['b.c', 'echo.text']);
  expect(await names('?names=safe&computer=computer_a')).toEqual(['b_c', 'echo_text']);
});

test('while a computer is away its last list is told, each era and caller their own, and a call says since when', async () => {
  const { cloud, rpc } = await startToolCloud();
  const computer = await startToolComputer(cloud, 0);
  const before = await rpc('tools/list', {}, { id: 4 });
  const legacy = await rpc('tools/list', {}, { version: '2025-06-18', id: 4 });
  await computer.dialer.stop();
  await untilLinked(cloud.dialIns, computer.id, false);
  const since = new Date(cloud.dialIns.state(computer.id).since).toISOString();
  const again = await rpc('tools/list', {}, { id: 4 });
  expect([again.status, again.text]).toEqual([200, before.text]);
  expect((await rpc('tools/list', {}, { version: '2025-06-18', id: 4 })).text).toBe(legacy.text);
  const called = await rpc('tools/call', { name: 'echo.text' });
  const { result } = called.json as never as Called;
  expect([called.status, result.isError, result.structuredContent]).toEqual([
    200,
    true,
    { error: 'computer_unavailable', since },
  ]);
  expect(result.content[0]?.text).toContain(since);
  for (const [method, search] of [
    ['tools/list', '?names=safe'],
    ['prompts/list', ''],
    ['tools/list', '?computer=computer_b'],
  ] as const) {
    const { error } = (await rpc(method, {}, { search })).json as never as Listed;
    expect([method, error?.code, error?.data]).toMatchObject([
      method,
      rpcCodes.internal,
      { error: 'computer_unavailable' },
    ]);
  }
});

test('a call that was cut off is said to be so and not made twice; a list is asked for again', async () => {
  const { cloud, rpc } = await startToolCloud();
  let calls = 0;
  const seen: Seen[] = [];
  const computer = await startToolComputer(cloud, 0, {
    seen,
    call: () => {
      calls += 1;
      computer.wire.cutAll();
      return new Promise(() => {});
    },
  });
  const reply = await rpc('tools/call', { name: 'echo.text' });
  const { result } = reply.json as never as Called;
  expect([reply.status, result.isError, calls]).toEqual([200, true, 1]);
  expect(result.content[0]?.text).toContain('whether the tool ran is not known');
  await computer.linked();
  const listed = (await rpc('tools/list')).json as never as Listed;
  expect(listed.result?.tools).toHaveLength(1);
});

test('a client that leaves ends its call on the computer', async () => {
  const { cloud, web } = await startToolCloud();
  const ended = Promise.withResolvers<string>();
  const begun = Promise.withResolvers<void>();
  await startToolComputer(cloud, 0, {
    call: (_name, _args, { signal }) => {
      signal.addEventListener('abort', () => ended.resolve('ended'));
      begun.resolve();
      return new Promise(() => {});
    },
  });
  const leaving = new AbortController();
  const call = fetch(`http://127.0.0.1:${web.port}/mcp/server`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { authorization: 'Bearer ada', 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo.text' } }),
  });
  await begun.promise;
  leaving.abort();
  await expect(call).rejects.toThrow();
  expect(await ended.promise).toBe('ended');
});

test('a peer service must name the person it acts for, and nobody else may speak there', async () => {
  const { rpc } = await startToolCloud();
  const unnamed = await rpc('ping', {}, { token: 'for-nobody', path: internalMcpServer.path, version: '2025-06-18' });
  expect([unnamed.status, unnamed.json.error.code]).toEqual([400, rpcCodes.invalidParams]);
  expect(String(unnamed.json.error.message)).toContain('x-platform-user-id');
  for (const token of ['ada', 'ada-key', 'ada-oidc']) {
    const reply = await rpc('ping', {}, { token, path: internalMcpServer.path, version: '2025-06-18' });
    expect([token, reply.status]).toEqual([token, 403]);
  }
});

test('tasks of the computer pass in both revisions, and their list is nobody else’s while the computer is away', async () => {
  const { cloud, rpc } = await startToolCloud();
  const tasks = createProfileTasks();
  const computer = await startToolComputer(cloud, 0, {
    tools: ['slow_compute'],
    tasks: tasks.provider,
    call: (name, args, _request, wish) =>
      wish === null ? tasks.atOnce(name, args) : { task: tasks.create(name, args) },
  });
  const result = async (method: string, params: object, options: object) =>
    ((await rpc(method, params, options)).json as { result?: Record<string, unknown> }).result;
  const call = { name: 'slow_compute', arguments: { seconds: 0, label: 'far' } };

  const modern = { can: { extensions: { [tasksExtension]: {} } } };
  expect(await result('server/discover', {}, modern)).toMatchObject({
    capabilities: { extensions: { [tasksExtension]: {} } },
  });
  const { taskId } = (await result('tools/call', call, modern)) as { taskId: string };
  await expect
    .poll(() => result('tasks/get', { taskId }, modern))
    .toMatchObject({ status: 'completed', result: { content: [{ text: 'Computed far.' }] } });
  expect(await result('tools/call', call, {})).toMatchObject({ resultType: 'complete' });

  const legacy = { version: tasksVersion };
  const { task } = (await result('tools/call', { ...call, task: {} }, legacy)) as { task: { taskId: string } };
  expect(await result('tasks/result', { taskId: task.taskId }, legacy)).toMatchObject({ isError: false });
  expect(await result('tasks/list', {}, legacy)).toMatchObject({ tasks: [{ taskId: task.taskId }, { taskId }] });
  const listed = async (version: string) => JSON.stringify(await result('tools/list', {}, { version }));
  expect([await listed(tasksVersion), await listed('2025-06-18')]).toEqual([
    expect.stringContaining('taskSupport'),
    expect.not.stringContaining('taskSupport'),
  ]);
  await computer.dialer.stop();
  await untilLinked(cloud.dialIns, computer.id, false);
  expect(await result('tasks/list', {}, legacy)).toBeUndefined();
  expect([await listed(tasksVersion), await listed('2025-06-18')]).toEqual([
    expect.stringContaining('taskSupport'),
    expect.not.stringContaining('taskSupport'),
  ]);
});
