/** The edge of a cloud of many people, while no computer is there: who gets in, what is said, and what is kept (interface.md B; gaps.md B). */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Scope } from '../../../src/contracts/common/route.ts';
import { legacyVersions, mcpMeta, mcpVersions, modernVersion } from '../../../src/contracts/tool-server/mcp.ts';
import { keepUntilEnd, type Reply } from '../../kit/http/support.ts';
import { accessTokenOf, signInAs } from '../../support/oidc-provider.ts';
import { type People, type Person, personWith, startPeople } from '../identity/support.ts';

const stop = keepUntilEnd();
let people: People;
let ada: Person;
let bob: Person;
beforeAll(async () => {
  people = await startPeople();
  [ada, bob] = (await Promise.all(
    ['ada', 'bob'].map(async (name) => personWith(people, await signInAs(name, people.origin))),
  )) as [Person, Person];
});
afterAll(stop);

const agents = '/edge/mcp';
const bot = '/edge/mcp/bots/bot_1';
const keyOf = async (scopes: readonly Scope[], name: string, person = ada): Promise<{ id: string; secret: string }> => {
  const made = await person.call('POST', '/api/v1/keys', { body: { name, scopes } });
  expect(made.status).toBe(201);
  const { key, secret } = made.json as never as { key: { id: string }; secret: string };
  return { id: key.id, secret };
};
const tokenFor = async (path: string, scope: string, name = 'ada') => {
  const resource = `${people.origin}${path}`;
  return (await accessTokenOf(name, { issuer: people.provider.issuer, resource, scope })).accessToken;
};

/** As a client of 2026-07-28 asks, with every header. */
function ask(path: string, token: string | null, method: string, params: object = {}): Promise<Reply> {
  const _meta = { [mcpMeta.version]: modernVersion, [mcpMeta.clientCapabilities]: {} };
  const name = (params as { name?: string }).name;
  return people.call('POST', path, {
    token,
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
    headers: {
      'mcp-protocol-version': modernVersion,
      'mcp-method': method,
      ...(method === 'tools/call' && name !== undefined ? { 'mcp-name': name } : {}),
    },
  });
}
const resultOf = <T>(reply: Reply): T => (reply.json as never as { result: T }).result;

interface About {
  readonly capabilities: { events?: object; tools?: object; extensions?: Record<string, object> };
}
const eventsCapability = { events: {}, extensions: { 'io.modelcontextprotocol/events': {} } };

test('both servers say the events extension under both names, in both eras, and list while no computer is there', async () => {
  const reader = (await keyOf(['agents:read'], 'reader of both eras')).secret;
  const actor = (await keyOf(['bots:act'], 'actor of both eras')).secret;
  for (const [path, token] of [
    [agents, reader],
    [bot, actor],
  ] as const) {
    const discovered = resultOf<About & { supportedVersions: string[] }>(await ask(path, token, 'server/discover'));
    expect(discovered.supportedVersions).toEqual(mcpVersions);
    expect(discovered.capabilities).toEqual({ tools: {}, ...eventsCapability });
    for (const version of legacyVersions) {
      const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: version } };
      const begun = resultOf<About>(await people.call('POST', path, { token, body }));
      expect(begun).toMatchObject({ protocolVersion: version, capabilities: eventsCapability });
    }
    const { events } = resultOf<{ events: { name: string; delivery: string[] }[] }>(
      await ask(path, token, 'events/list'),
    );
    expect(events.map(({ name }) => name)).toContain('agent.run.completed');
    expect(events.map(({ name }) => name).includes('usage.threshold')).toBe(path === agents);
    const { tools } = resultOf<{ tools: { name: string }[] }>(await ask(path, token, 'tools/list'));
    expect(tools.map(({ name }) => name)).toEqual(
      path === agents
        ? [
            'get_agent',
            'get_board',
            'get_run',
            'get_run_result',
            'list_agents',
            'list_campaigns',
            'list_runs',
            'read_transcript',
          ]
        : ['get_replies', 'get_run', 'get_run_result', 'list_runs', 'send_message'],
    );
  }
});
