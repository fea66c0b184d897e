/** Who gets in to the tool server of a cloud of many people, and what is answered to everybody else. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Scope } from '../../../src/contracts/common/route.ts';
import { keepUntilEnd } from '../../kit/http/support.ts';
import { accessTokenOf, signInAs } from '../../support/oidc-provider.ts';
import { type People, type Person, personWith, startPeople } from '../identity/support.ts';

const stop = keepUntilEnd();
let people: People;
let ada: Person;
let resource: string;
beforeAll(async () => {
  people = await startPeople();
  resource = `${people.origin}/mcp/server`;
  ada = await personWith(people, await signInAs('ada', people.origin));
});
afterAll(stop);

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const pong = { jsonrpc: '2.0', id: 1, result: {} };
const post = (token: string | null, path = '/mcp/server', headers = {}) =>
  people.call('POST', path, { token, body: ping, headers });
const tokenFor = async (audience: string, scope = 'bots:act') =>
  (await accessTokenOf('ada', { issuer: people.provider.issuer, resource: audience, scope })).accessToken;
const keyWith = async (scope: Scope) => {
  const body = { userId: ada.id, name: `with ${scope.replace(':', ' ')}`, scopes: [scope] };
  const made = await people.call('POST', '/api/v1/admin/keys', { token: people.internalToken, body });
  return (made.json as never as { secret: string }).secret;
};
const challenged = (url: string, more: string) => `Bearer realm="gantry", resource_metadata="${url}"${more}`;
const metadata = () => `${people.origin}/.well-known/oauth-protected-resource/mcp/server`;

test('a token for the tool server gets in, one for anything else of this cloud does not, and the other way round', async () => {
  expect((await post(await tokenFor(resource))).json).toEqual(pong);
  const others = ['', '/edge/mcp', '/edge/mcp/bots/bot_1'].map((path) => `${people.origin}${path}`);
  for (const audience of others) {
    const reply = await post(await tokenFor(audience));
    expect([audience, reply.status]).toEqual([audience, 401]);
    expect(reply.headers['www-authenticate']).toBe(challenged(metadata(), ', error="invalid_token", scope="bots:act"'));
  }
  const elsewhere = await people.call('GET', '/api/v1/tools', { token: await tokenFor(resource, 'agents:read') });
  expect(elsewhere.status).toBe(401);
});

test('who has no credential is told before anything is read where to get one, and finds it in both places', async () => {
  const refused = await people.call('POST', '/mcp/server', { token: null, raw: '{"not json' });
  expect([refused.status, refused.headers['www-authenticate']]).toEqual([
    401,
    challenged(metadata(), ', scope="bots:act"'),
  ]);
  const described = await people.call('GET', '/.well-known/oauth-protected-resource/mcp/server', { token: null });
  expect(described.json).toMatchObject({
    resource,
    authorization_servers: [people.provider.issuer],
    bearer_methods_supported: ['header'],
  });
  const root = await people.call('GET', '/.well-known/oauth-protected-resource', { token: null });
  expect([root.status, (root.json as never as { resource: string }).resource]).toEqual([200, people.origin]);
});

test('whoever sends a token that is none is told that it is the token', async () => {
  for (const token of ['junk', 'a.b.c', 'gk_live_0000']) {
    const reply = await post(token);
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([
      401,
      challenged(metadata(), ', error="invalid_token", scope="bots:act"'),
    ]);
  }
});

test('a credential without the scope is challenged for it', async () => {
  for (const token of [await tokenFor(resource, 'agents:read'), await keyWith('agents:read')]) {
    const reply = await post(token);
    expect([reply.status, reply.headers['www-authenticate']]).toEqual([
      403,
      challenged(metadata(), ', error="insufficient_scope", scope="bots:act"'),
    ]);
  }
});

test('a key with bots:act gets in', async () => {
  expect((await post(await keyWith('bots:act'))).json).toEqual(pong);
});

test('a signed-in page gets in with its own header alone, and with JSON alone', async () => {
  expect((await ada.call('POST', '/mcp/server', { body: ping })).json).toEqual(pong);
  const forged = await people.call('POST', '/mcp/server', { headers: { cookie: ada.cookie }, body: ping });
  expect(forged.status).toBe(403);
  const form = await ada.call('POST', '/mcp/server', {
    raw: JSON.stringify(ping),
    headers: { 'content-type': 'text/plain' },
  });
  expect(form.status).toBe(415);
  const foreign = await ada.call('POST', '/mcp/server', { body: ping, headers: { origin: 'https://evil.example' } });
  expect(foreign.status).toBe(403);
});

test('the internal door takes the service token with a known person’s name, and nothing else', async () => {
  const path = '/internal/tools/mcp';
  const named = { 'x-platform-user-id': ada.id };
  expect((await post(people.internalToken, path, named)).json).toEqual(pong);
  expect((await post(people.internalToken, path)).status).toBe(400);
  expect((await post(people.internalToken, path, { 'x-platform-user-id': 'user_nobody' })).status).toBe(403);
  expect((await post(null, path, named)).status).toBe(401);
  for (const token of [await tokenFor(resource), await tokenFor(people.origin), await keyWith('bots:act')]) {
    expect([401, 403]).toContain((await post(token, path, named)).status);
    expect([401, 403]).toContain((await post(token, '/mcp/server', named)).status);
  }
  expect((await ada.call('POST', path, { body: ping, headers: named })).status).toBe(403);
  for (const wrong of ['/INTERNAL/tools/mcp', '/internal/tools/mcp/', '/mcp/server/', '/MCP/server']) {
    const reply = await post(people.internalToken, wrong, named);
    expect([wrong, reply.status]).toEqual([wrong, 404]);
  }
});

test('only POST is served', async () => {
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const reply = await people.call(method, '/mcp/server', { token: null });
    expect([method, reply.status, reply.headers.allow]).toEqual([method, 405, 'POST']);
  }
});

test('providers read who asks', async () => {
  const reply = await people.call('GET', '/mcp/oauth/client.json', { token: null });
  expect(reply.json).toMatchObject({
    client_id: `${people.origin}/mcp/oauth/client.json`,
    redirect_uris: [`${people.origin}/mcp/oauth/callback`],
  });
});
