/** The tools of one computer at its own server, before and while it is paired, and through the cloud that it is paired with. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readTokenFile } from '../../src/kit/secrets/token-file.ts';
import { type People, type Person, startPeople } from '../cloud-api/identity/support.ts';
import { type CallOptions, keepUntilEnd, type Reply } from '../kit/http/support.ts';
import { type Installation, pairUp, signIn, startInstallation } from './paired-support.ts';

const stop = keepUntilEnd();
let people: People;
let installation: Installation;
let ada: Person;
let key: string;
let computerId: string;
beforeAll(async () => {
  people = await startPeople();
  [installation, ada] = await Promise.all([startInstallation(), signIn(people)]);
  const made = await installation.web('POST', '/api/v1/keys', { body: { name: 'editor', scopes: ['bots:act'] } });
  key = (made.json as never as { secret: string }).secret;
}, 60_000);
afterAll(stop);

const callTime = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'time_now', arguments: {} } };
const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const here = (body: object, options: CallOptions = {}) => installation.web('POST', '/mcp/server', { body, ...options });
const there = (body: object, path = '/mcp/server') => ada.call('POST', path, { body });
interface Answer {
  readonly result?: { isError?: boolean; content?: { text: string }[]; tools?: object[] };
}
const told = ({ json }: Reply) => (json as never as Answer).result;

test('its owner, a key of theirs and a peer service use the tools at its own server', async () => {
  for (const options of [{}, { token: key }]) {
    expect(told(await here(callTime, options))).toMatchObject({ isError: false });
  }
  const service = {
    token: readTokenFile(installation.places.internalToken),
    headers: { 'x-platform-user-id': 'user_local' },
  };
  const internal = await installation.web('POST', '/internal/tools/mcp', { body: callTime, ...service });
  expect(told(internal)).toMatchObject({ isError: false });
  expect((await here(callTime, { token: null })).status).toBe(401);
});

test('a key that names its tools has no others of them, and one that names none has all', async () => {
  const body = { name: 'narrow', scopes: ['bots:act'], tools: { names: ['time.*', 'request_approval'] } };
  const made = await installation.web('POST', '/api/v1/keys', { body });
  const { secret: token } = made.json as never as { secret: string };
  const names = (await here(list, { token })).json as never as { result: { tools: { name: string }[] } };
  expect(names.result.tools.map(({ name }) => name)).toEqual(['request_approval', 'time.now']);
  expect(told(await here(callTime, { token }))).toMatchObject({ isError: false });
  const other = { ...callTime, params: { name: 'system_info', arguments: {} } };
  expect((await here(other, { token })).json).toMatchObject({ error: { message: 'Unknown tool: system_info' } });
  expect((await here(list, { token: key })).text).toBe((await here(list)).text);
});

test('a provider may lead a browser back to it, and no other site may lead one anywhere else', async () => {
  const followed = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  const back = (headers: Record<string, string>, path = '/mcp/oauth/callback?state=x.y&code=z') =>
    installation.web('GET', path, { token: null, headers });
  expect((await back(followed)).status).toBe(404);
  expect((await back({ ...followed, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' })).status).toBe(403);
  expect((await back(followed, '/api/v1/tools')).status).toBe(403);
});

test('while it is paired its own server asks it directly, and other computers at home', async () => {
  const paired = await pairUp(installation, people, ada);
  computerId = String(paired.computerId);
  for (const options of [{}, { token: key }]) {
    expect(told(await here(callTime, options))).toMatchObject({ isError: false });
  }
  expect((await installation.web('GET', '/api/v1/tools')).status).toBe(200);
  const named = { 'x-gantry-computer': computerId };
  expect(told(await here(callTime, { headers: named }))).toMatchObject({ isError: false });
  const other = await here(callTime, { headers: { 'x-gantry-computer': 'computer_elsewhere' } });
  expect([other.status, other.text]).toEqual([404, expect.stringContaining('computer_elsewhere')]);
  const client = await installation.web('GET', '/mcp/oauth/client.json', { token: null });
  expect(client.json).toMatchObject({ client_id: `${installation.gantry.origin}/mcp/oauth/client.json` });
});

test('its person uses its tools through the cloud, and while it is away sees them all the same', async () => {
  expect(told(await there(callTime))).toMatchObject({ isError: false });
  const listed = await there(list, `/mcp/server?computer=${computerId}`);
  expect(told(listed)?.tools?.length).toBeGreaterThan(10);
  expect(told(await here(list))).toEqual(told(listed));
  await installation.gantry.close({ stopBots: true });
  await expect.poll(async () => (await ada.call('GET', '/api/v1/tools')).status).toBe(503);
  expect((await there(list)).text).toBe(listed.text);
  const called = told(await there(callTime));
  expect([called?.isError, called?.content?.[0]?.text]).toEqual([true, expect.stringContaining(computerId)]);
});
