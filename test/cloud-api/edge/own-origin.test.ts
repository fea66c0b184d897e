/** The edge at an origin of its own (`events_edge_url`): it is all that is served there, and tokens are for its addresses there. */
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { linkPath } from '../../../src/contracts/link/dial-in.ts';
import { readCloudSettings } from '../../../src/host/cloud-settings.ts';
import { keepUntilEnd, onEnd } from '../../kit/http/support.ts';
import { freePort } from '../../support/free-port.ts';
import { accessTokenOf, signInAs, startOidcProvider } from '../../support/oidc-provider.ts';
import { type People, type Person, personWith, startPeople } from '../identity/support.ts';

const stop = keepUntilEnd();
let people: People;
let ada: Person;
let edge: string;
beforeAll(async () => {
  const port = await freePort();
  edge = `http://localhost:${port}`;
  const provider = await startOidcProvider({ origins: [`http://127.0.0.1:${port}`, edge] });
  onEnd(() => provider.close());
  people = await startPeople({ port, provider, settings: { eventsEdgeUrl: edge } });
  ada = await personWith(people, await signInAs('ada', people.origin));
});
afterAll(stop);

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly challenge: string;
}
/** By the name of the edge's own host, as a proxy passes it on. */
function at(
  method: string,
  path: string,
  {
    token,
    body,
    host = new URL(edge).host,
    headers = {},
  }: { token?: string; body?: object; host?: string; headers?: Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: people.port,
        method,
        path,
        headers: {
          host,
          'content-type': 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...headers,
        },
      },
      async (answer) => {
        let text = '';
        for await (const chunk of answer) text += String(chunk);
        resolve({ status: answer.statusCode ?? 0, text, challenge: String(answer.headers['www-authenticate']) });
      },
    );
    sent.on('error', reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const tokenFor = async (resource: string) =>
  (await accessTokenOf('ada', { issuer: people.provider.issuer, resource, scope: 'agents:read bots:act' })).accessToken;

test('its servers stand at its root, and each says where their tokens are to be had', async () => {
  for (const path of ['/mcp', '/mcp/bots/bot_1']) {
    const nobody = await at('POST', path, { body: ping });
    const metadata = `${edge}/.well-known/oauth-protected-resource${path}`;
    expect([nobody.status, nobody.challenge]).toEqual([
      401,
      expect.stringContaining(`resource_metadata="${metadata}"`),
    ]);
    const described = await at('GET', new URL(metadata).pathname);
    expect(JSON.parse(described.text)).toMatchObject({ resource: `${edge}${path}` });
    expect((await at('POST', path, { body: ping, token: await tokenFor(`${edge}${path}`) })).status).toBe(200);
    expect((await at('POST', path, { body: ping, token: await tokenFor(`${people.origin}/edge${path}`) })).status).toBe(
      401,
    );
  }
  const page = await at('GET', '/');
  expect([page.status, page.text.includes(`${edge}/mcp`)]).toEqual([200, true]);
});

test('nothing else is served there, and no other name is answered', async () => {
  const key = (await ada.call('POST', '/api/v1/keys', { body: { name: 'all', scopes: ['agents:read', 'bots:act'] } }))
    .json as never as { secret: string };
  for (const path of [
    '/api/v1/tools',
    '/api/factory/agents',
    '/login',
    '/index.html',
    '/edge',
    '/edge/mcp',
    '/.well-known/oauth-protected-resource',
    '/../api/v1/tools',
  ]) {
    expect([path, (await at('GET', path, { token: key.secret })).status]).toEqual([path, 404]);
  }
  expect((await at('POST', '/mcp', { body: ping, host: 'elsewhere.example', token: key.secret })).status).toBe(421);
  const dialled = { upgrade: 'websocket', connection: 'upgrade' };
  expect((await at('GET', linkPath, { headers: dialled })).status).toBe(421);
  const page = { origin: edge };
  expect((await at('POST', '/mcp', { body: ping, token: key.secret, headers: page })).status).toBe(403);
});

test('the setting names another origin, without a path', () => {
  const env = {
    GANTRY_BASE_URL: 'https://gantry.example',
    GANTRY_OIDC_ISSUER: 'https://id.example',
    GANTRY_OIDC_CLIENT_ID: 'gantry',
  };
  const read = (url?: string) => readCloudSettings(env, { eventsEdgeUrl: url }).eventsEdgeUrl;
  expect([read(), read('https://events.gantry.example/')]).toEqual([null, 'https://events.gantry.example']);
  for (const wrong of [
    'https://gantry.example',
    'https://events.example/edge',
    'http://events.example',
    'events.example',
  ]) {
    expect(() => read(wrong), wrong).toThrow('--events-edge-url (GANTRY_EVENTS_EDGE_URL)');
  }
});
