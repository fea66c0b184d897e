/** What `gantry tools approve` prints, used by a client that is not ours. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Agent } from '../../../src/contracts/factory/agent.ts';
import { type People, type Person, startPeople } from '../../cloud-api/identity/support.ts';
import { type Desk, pairUp, signIn, startDesk } from '../../host/paired-support.ts';
import { scratchHome } from '../../host/support.ts';
import { keepUntilEnd, onEnd } from '../../kit/http/support.ts';
import { run } from '../support.ts';

const stop = keepUntilEnd();
let desk: Desk;
let people: People;
let ada: Person;
let bot: Agent;
beforeAll(async () => {
  const home = scratchHome();
  const team = join(home, 'ws', '.gantry', 'teams', 'ops');
  mkdirSync(team, { recursive: true });
  writeFileSync(join(team, 'team.yaml'), 'bots:\n  - { bot: helper, binding: hosted, model: claude-haiku-4-5 }\n');
  const env = { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9', ANTHROPIC_API_KEY: 'sk-test-0123456789' };
  [desk, people] = await Promise.all([startDesk({ home, env }), startPeople()]);
  ada = await signIn(people);
  expect((await desk.web('POST', '/api/factory/teams/ops/up', { body: {} })).status).toBe(200);
  bot = (await desk.web('GET', '/api/factory/agents/helper@ops')).json as never as Agent;
}, 40_000);
afterAll(stop);

interface Printed {
  readonly url: string;
  readonly scope: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly config: { readonly mcpServers: { readonly gantry: { readonly url: string } } };
  readonly key: { readonly id: string | null; readonly name: string };
  readonly bot: string | null;
}
const gantry = (...argv: string[]) =>
  run({ GANTRY_HOME: desk.home, PATH: process.env.PATH ?? '' }, ['tools', 'approve', ...argv]);
const approve = async (...argv: string[]) => (await gantry(...argv, '--json')).json() as never as Printed;

async function connect({ url, headers }: Printed): Promise<Client> {
  const client = new Client({ name: 'app', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  onEnd(() => client.close());
  return client;
}
const keyNames = async () => {
  const { keys } = (await desk.web('GET', '/api/v1/keys')).json as never as { keys: { name: string }[] };
  return keys.map(({ name }) => name);
};

test('an app is let in to the server of all bots, and to nothing that changes anything', async () => {
  const made = await approve('Dashboard');
  expect(made).toMatchObject({ scope: 'agents:read', bot: null, url: `${desk.gantry.origin}/edge/mcp` });
  expect(made.config.mcpServers.gantry.url).toBe(made.url);
  const client = await connect(made);
  expect(await client.callTool({ name: 'get_agent', arguments: { agent: bot.id } })).toMatchObject({
    structuredContent: { id: bot.id },
  });
  const elsewhere = await fetch(`${made.url}/bots/${bot.id}`, { method: 'POST', headers: made.headers, body: '{}' });
  expect(elsewhere.status).toBe(403);
  const { apps } = (await desk.web('GET', '/api/v1/mcp/approvals')).json as never as { apps: object[] };
  expect(apps).toMatchObject([{ clientId: `key:${made.key.id}`, clientName: 'Dashboard', scopes: ['agents:read'] }]);
});

test('with a bot, to the connector of that bot, and it is said that the key may do more', async () => {
  const made = await approve('Helpdesk', '--bot', 'helper@ops', '--days', '30');
  expect(made).toMatchObject({ scope: 'bots:act', bot: bot.id, url: `${desk.gantry.origin}/edge/mcp/bots/${bot.id}` });
  const client = await connect(made);
  expect(await client.callTool({ name: 'list_runs', arguments: {} })).toMatchObject({
    structuredContent: { runs: [] },
  });
  const agents = await fetch(`${desk.gantry.origin}/edge/mcp`, { method: 'POST', headers: made.headers, body: '{}' });
  expect(agents.status).toBe(403);
  const other = await connect({ ...made, url: made.url.replace(bot.id, 'another_bot') });
  expect((await other.listTools()).tools).not.toEqual([]);
  expect((await gantry('Helpdesk 2', '--bot', bot.id)).out).toContain('act on all your bots');
});

test('a person reads where to put it, and that it is shown once; a dry run makes nothing', async () => {
  const { out } = await gantry('Reader');
  expect(out).toMatch(/Address {2}http.*\/edge\/mcp\n {2}Header {3}Authorization: Bearer gantry_/);
  expect(out).toContain('shown this once');
  const before = await keyNames();
  expect((await approve('Nobody', '--dry-run')).key).toEqual({ id: null, name: 'Nobody' });
  expect(await keyNames()).toEqual(before);
});

test('a bot that there is not makes no key', async () => {
  const before = await keyNames();
  const asked = await gantry('Lost', '--bot', 'nobody@ops');
  expect([asked.code, asked.err.includes('nobody@ops')]).toEqual([2, true]);
  expect(await keyNames()).toEqual(before);
});

test('while the computer is paired the key and the address are those of its home, and name this computer', async () => {
  const paired = await pairUp(desk, people, ada);
  const made = await approve('From afar', '--bot', bot.id);
  expect(made.url).toBe(`${people.origin}/edge/mcp/bots/${bot.id}?computer=${paired.computerId}`);
  const client = await connect(made);
  expect(await client.callTool({ name: 'list_runs', arguments: {} })).toMatchObject({
    structuredContent: { runs: [] },
  });
  const { apps } = (await ada.call('GET', '/api/v1/mcp/approvals')).json as never as { apps: object[] };
  expect(apps).toMatchObject([{ clientId: `key:${made.key.id}`, clientName: 'From afar' }]);
});
