/** What `gantry tools approve` prints, used by a client that is not ours. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Agent } from '../../../src/contracts/factory/agent.ts';
import { type People, type Person, startPeople } from '../../cloud-api/identity/support.ts';
import { type Installation, pairUp, signIn, startInstallation } from '../../host/paired-support.ts';
import { scratchHome } from '../../host/support.ts';
import { keepUntilEnd, onEnd } from '../../kit/http/support.ts';
import { run } from '../support.ts';

const stop = keepUntilEnd();
let installation: Installation;
let people: People;
let ada: Person;
let bot: Agent;
beforeAll(async () => {
  const home = scratchHome();
  const team = join(home, 'ws', '.gantry', 'teams', 'ops');
  mkdirSync(team, { recursive: true });
  writeFileSync(join(team, 'team.yaml'), 'bots:\n  - { bot: helper, binding: hosted, model: claude-haiku-4-5 }\n');
  const env = { ANTHROPIC_BASE_URL: 'http://127.0.0.1:9', ANTHROPIC_API_KEY: 'sk-test-0123456789' };
  [installation, people] = await Promise.all([startInstallation({ home, env }), startPeople()]);
  ada = await signIn(people);
  expect((await installation.web('POST', '/api/factory/teams/ops/up', { body: {} })).status).toBe(200);
  bot = (await installation.web('GET', '/api/factory/agents/helper@ops')).json as never as Agent;
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
  run({ GANTRY_HOME: installation.home, PATH: process.env.PATH ?? '' }, ['tools', 'approve', ...argv]);
const approve = async (...argv: string[]) => (await gantry(...argv, '--json')).json() as never as Printed;

async function connect({ url, headers }: Printed): Promise<Client> {
  const client = new Client({ name: 'app', version: '1' });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  onEnd(() => client.close());
  return client;
}
const factory = ['/api/factory/agents', '/api/factory/send', '/api/factory/work-engine/tickets', '/api/%66actory/send'];
/** Those of these paths where the key is not answered 401, neither reading nor writing. */
async function refusedAt({ url, headers }: Printed, ...paths: string[]): Promise<unknown[]> {
  const asked = paths.flatMap((path) => ['GET', 'POST'].map((method) => ({ path, method })));
  const answers = await Promise.all(
    asked.map(async ({ path, method }) => {
      const body = method === 'POST' ? '{}' : null;
      const type = { 'content-type': 'application/json' };
      const { status } = await fetch(new URL(path, url), { method, headers: { ...headers, ...type }, body });
      return { path, method, status };
    }),
  );
  // Where there is no such route nobody is asked who they are.
  return answers.filter(({ status }) => ![401, 404, 405].includes(status));
}
const keyNames = async () => {
  const { keys } = (await installation.web('GET', '/api/v1/keys')).json as never as { keys: { name: string }[] };
  return keys.map(({ name }) => name);
};

test('an app is let in to the server of all bots, and to nothing that changes anything', async () => {
  const made = await approve('Dashboard');
  expect(made).toMatchObject({ scope: 'agents:read', bot: null, url: `${installation.gantry.origin}/edge/mcp` });
  expect(made.config.mcpServers.gantry.url).toBe(made.url);
  const client = await connect(made);
  expect(await client.callTool({ name: 'get_agent', arguments: { agent: bot.id } })).toMatchObject({
    structuredContent: { id: bot.id },
  });
  expect(await refusedAt(made, `/edge/mcp/bots/${bot.id}`, '/edge/mcp%2Fbots', '/mcp/server', ...factory)).toEqual([]);
  const { apps } = (await installation.web('GET', '/api/v1/mcp/approvals')).json as never as { apps: object[] };
  expect(apps).toMatchObject([{ clientId: `key:${made.key.id}`, clientName: 'Dashboard', scopes: ['agents:read'] }]);
});

test('with a bot, to the connector of that bot, and to nothing else', async () => {
  const made = await approve('Helpdesk', '--bot', 'helper@ops', '--days', '30');
  expect(made).toMatchObject({
    scope: 'bots:act',
    bot: bot.id,
    url: `${installation.gantry.origin}/edge/mcp/bots/${bot.id}`,
  });
  const client = await connect(made);
  expect(await client.callTool({ name: 'list_runs', arguments: {} })).toMatchObject({
    structuredContent: { runs: [] },
  });
  const others = ['/edge/mcp', '/edge/mcp/bots/another_bot', '/edge/mcp/bots/%61nother_bot'];
  expect(await refusedAt(made, ...others, `/edge/mcp/bots/${bot.id}/../another_bot`, ...factory)).toEqual([]);
  // Only the address decides, however it is written.
  const same = await connect({
    ...made,
    url: made.url.replace(bot.id, `%${bot.id.charCodeAt(0).toString(16)}${bot.id.slice(1)}`),
  });
  expect((await same.listTools()).tools).not.toEqual([]);
  expect((await gantry('Helpdesk 2', '--bot', bot.id)).out).toContain('opens only this address');
  const listed = (await installation.web('GET', '/api/v1/keys')).json as never as {
    keys: { id: string; resource: string }[];
  };
  expect(listed.keys.find(({ id }) => id === made.key.id)?.resource).toBe(`/edge/mcp/bots/${bot.id}`);
});

test('a person reads where to put it, and that it is shown once; a dry run makes nothing', async () => {
  const { out } = await gantry('Reader');
  expect(out).toMatch(/Address {2}http.*\/edge\/mcp\n {2}Header {3}Authorization: Bearer gantry_/);
  expect(out).toContain('shown only once');
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
  const paired = await pairUp(installation, people, ada);
  const made = await approve('From afar', '--bot', bot.id);
  expect(made.url).toBe(`${people.origin}/edge/mcp/bots/${bot.id}?computer=${paired.computerId}`);
  const client = await connect(made);
  expect(await client.callTool({ name: 'list_runs', arguments: {} })).toMatchObject({
    structuredContent: { runs: [] },
  });
  expect(await refusedAt(made, '/edge/mcp', '/edge/mcp/bots/another_bot?computer=x', ...factory)).toEqual([]);
  const { apps } = (await ada.call('GET', '/api/v1/mcp/approvals')).json as never as { apps: object[] };
  expect(apps).toMatchObject([{ clientId: `key:${made.key.id}`, clientName: 'From afar' }]);
});
