import { expect, test } from 'vitest';
import { oauthCallback } from '../../../src/contracts/tool-server/mcp.ts';
import { reconnectServer } from '../../../src/contracts/tool-server/servers.ts';
import { callBodyLimit, callTool, listTools } from '../../../src/contracts/tool-server/tools.ts';
import { clientOf } from '../../../src/kit/http/principals.ts';
import { bind } from '../../../src/kit/http/types.ts';
import { untilLinked } from '../../support/link.ts';
import { startToolCloud, startToolComputer } from './support.ts';

test('the routes of tools reach the named computer of their caller, with bodies as large as a call may be', async () => {
  const { cloud, web } = await startToolCloud();
  const seen: unknown[] = [];
  const routes = [
    bind(callTool, ({ params, body, principal }) => {
      seen.push([params.name, String(body.arguments?.text).length, clientOf(principal)]);
      return { body: { content: [], isError: false } };
    }),
    bind(listTools, ({ query }) => {
      seen.push(query);
      return { body: { tools: [] } };
    }),
  ];
  await startToolComputer(cloud, 1, { routes });
  const text = 'x'.repeat(7 * 1024 * 1024);
  const options = { token: 'ada-key', headers: { 'x-gantry-computer': 'cc_b' } };
  const called = await web.call('POST', '/api/v1/tools/echo.text/call', { ...options, body: { arguments: { text } } });
  expect(called.json).toEqual({ content: [], isError: false });
  expect((await web.call('GET', '/api/v1/tools?computer=computer_b&names=safe', { token: 'ada' })).status).toBe(200);
  expect(seen).toEqual([['echo.text', text.length, 'key:key_1'], { names: 'safe' }]);
  const raw = Buffer.alloc(callBodyLimit + 1);
  expect((await web.call('POST', '/api/v1/tools/echo.text/call', { ...options, raw })).status).toBe(413);
  const foreign = await web.call('GET', '/api/v1/tools?computer=computer_b', { token: 'bob' });
  expect([foreign.status, foreign.json.error]).toEqual([404, 'not_found']);
});

test('attached servers are a person’s alone', async () => {
  const { cloud, web } = await startToolCloud();
  let asked = 0;
  const refuse = bind(reconnectServer, () => {
    asked += 1;
    throw new Error('asked');
  });
  await startToolComputer(cloud, 0, { routes: [refuse] });
  const path = '/mcp/servers/server_1/reconnect';
  for (const token of ['ada-key', 'ada-oidc', 'for-ada']) {
    const reply = await web.call('POST', path, { token });
    expect([token, reply.status]).toEqual([token, 403]);
  }
  expect(asked).toBe(0);
  expect((await web.call('POST', path, { token: 'ada' })).status).toBe(500);
  expect(asked).toBe(1);
});

test('of a computer that is away it is said since when', async () => {
  const { cloud, web } = await startToolCloud();
  const computer = await startToolComputer(cloud, 0);
  await computer.dialer.stop();
  await untilLinked(cloud.dialIns, computer.id, false);
  const since = new Date(cloud.dialIns.state(computer.id).since).toISOString();
  for (const [method, path] of [
    ['GET', '/api/v1/tools'],
    ['POST', '/api/v1/tools/echo.text/call'],
    ['GET', '/mcp/servers'],
  ] as const) {
    const reply = await web.call(method, path, { token: 'ada', ...(method === 'POST' ? { body: {} } : {}) });
    expect([path, reply.status, reply.json.error]).toEqual([path, 503, 'computer_unavailable']);
    expect(String(reply.json.message)).toContain(since);
  }
});

/** Its engine notes who came back, and says how it went. */
async function withWayBack(cloud: Awaited<ReturnType<typeof startToolCloud>>['cloud']) {
  const seen: (string | undefined)[] = [];
  const back = bind(oauthCallback, ({ request, response, principal }) => {
    seen.push(request.url, principal.kind);
    response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Signed in.</p>');
  });
  const computer = await startToolComputer(cloud, 2, { routes: [back] });
  const path = `/mcp/oauth/callback?code=c&state=${computer.id}.secret-part&iss=https%3A%2F%2Fas.example`;
  return { seen, path };
}

test('a browser comes back from a provider to the computer whose sign-in it was, for nobody but its owner', async () => {
  const { cloud, web } = await startToolCloud();
  const { seen, path } = await withWayBack(cloud);
  const reply = await web.call('GET', path, { token: 'bob' });
  expect([reply.status, reply.text]).toEqual([200, '<p>Signed in.</p>']);
  expect(reply.headers['content-security-policy']).toBe("default-src 'none'; sandbox");
  expect(seen).toEqual([path, 'link']);
  // Another person, who was sent the address: what the provider gave them must not land on bob's computer.
  for (const state of [
    '',
    'computer_c',
    'computer_z.secret',
    'computer_a.secret',
    'computer_c.secret-part',
    '../x.y',
  ]) {
    const refused = await web.call('GET', `/mcp/oauth/callback?code=c&state=${state}`, { token: 'eve' });
    expect([state, refused.status, refused.json.message]).toEqual([
      state,
      404,
      expect.stringContaining('None of your linked computers'),
    ]);
  }
  expect(seen).toHaveLength(2);
});

test('a browser that shows nobody when it comes back is led here once more, and then told to sign in', async () => {
  const { cloud, web } = await startToolCloud();
  const { seen, path } = await withWayBack(cloud);
  const first = await web.call('GET', path, { token: null });
  expect([first.status, first.headers.refresh]).toEqual([200, `0; url=${path}&led=1`]);
  const second = await web.call('GET', `${path}&led=1`, { token: null });
  expect([second.status, second.text]).toEqual([403, expect.stringContaining('You are not signed in here')]);
  expect(seen).toEqual([]);
});

test('on the computer of one person alone whoever comes back with the state is that person', async () => {
  const { cloud, web } = await startToolCloud({ alone: true });
  const { seen, path } = await withWayBack(cloud);
  expect((await web.call('GET', path, { token: null })).status).toBe(200);
  expect(seen).toEqual([path, 'public']);
});
