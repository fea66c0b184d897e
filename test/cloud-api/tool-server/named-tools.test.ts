/** Keys that name their tools: they see and call those and no others, over MCP and REST, by either spelling, or find them by a search. */
import { expect, test } from 'vitest';
import { findTool } from '../../../src/cloud-api/tool-server/named-tools.ts';
import type { KeyTools } from '../../../src/contracts/identity/keys.ts';
import { callTool, listTools, readTool, type ToolInfo } from '../../../src/contracts/tool-server/tools.ts';
import { bind } from '../../../src/kit/http/types.ts';
import { untilLinked } from '../../support/link.ts';
import { type RpcOptions, type Seen, startToolCloud, startToolComputer } from './support.ts';

const about: Readonly<Record<string, string>> = {
  'file.read': 'Reads a file.',
  'file.write': 'Writes text into a file.',
  'time.now': 'Says what time it is.',
  'shell.exec': 'Runs a command.',
  'file_read.all': 'Reads everything, on another server.',
};
const infos = Object.entries(about).map(
  ([name, description]): ToolInfo => ({ name, description, inputSchema: { type: 'object' }, server: null }),
);

interface Answer {
  readonly result?: Readonly<Record<string, unknown>> & { readonly tools?: { readonly name: string }[] };
  readonly error?: { readonly code: number; readonly message: string };
}

async function start() {
  const { cloud, rpc, web } = await startToolCloud();
  const seen: Seen[] = [];
  const overRest: string[] = [];
  const computer = await startToolComputer(cloud, 0, {
    seen,
    tools: Object.keys(about),
    routes: [
      bind(listTools, () => ({ body: { tools: infos } })),
      bind(readTool, ({ params }) => ({ body: infos.find(({ name }) => name === params.name)! })),
      bind(callTool, ({ params }) => {
        overRest.push(params.name);
        return { body: { content: [], isError: false } };
      }),
    ],
  });
  const ask = async (method: string, params: object = {}, options: RpcOptions = {}) =>
    (await rpc(method, params, { token: 'ada-some', ...options })).json as unknown as Answer;
  const names = async (options: RpcOptions = {}) =>
    (await ask('tools/list', {}, options)).result?.tools?.map(({ name }) => name);
  const called = () => seen.map(({ body }) => (JSON.parse(body) as { params: { name: string } }).params.name);
  return { cloud, computer, rpc, web, ask, names, called, overRest };
}

test('it lists only its tools, in every version and spelling; a key that names none lists what its person does', async () => {
  const { names, rpc } = await start();
  const some = ['file.read', 'file.write', 'time.now'];
  expect(await names()).toEqual(some);
  expect(await names({ version: '2025-06-18' })).toEqual(some);
  expect(await names({ search: '?names=safe' })).toEqual(['file_read', 'file_write', 'time_now']);
  const [ofKey, ofPerson] = await Promise.all(['ada-key', 'ada'].map((token) => rpc('tools/list', {}, { token })));
  expect(ofKey?.text).toBe(ofPerson?.text);
});

test('it calls its tools by either spelling, and every other name is unknown and reaches no computer', async () => {
  const { ask, called } = await start();
  const call = (name: string) => ask('tools/call', { name, arguments: {} });
  expect((await call('file.read')).result).toMatchObject({ isError: false });
  expect((await call('file_write')).result).toMatchObject({ isError: false });
  expect(called()).toEqual(['file.read', 'file.write']);
  for (const name of ['shell.exec', 'shell_exec', 'file_read.all', 'file_read_all', 'files', 'tools.search']) {
    expect((await call(name)).error).toMatchObject({ code: -32602, message: `Unknown tool: ${name}` });
  }
  expect(called()).toHaveLength(2);
});

test('with search it lists one tool, which finds the others by what they do; they are called by name', async () => {
  const { ask, names, called } = await start();
  const searching = { token: 'ada-search' };
  expect(await names(searching)).toEqual(['tools.search']);
  expect(await names({ ...searching, search: '?names=safe' })).toEqual(['tools_search']);
  const found = async (args: object, options: RpcOptions = searching) => {
    const { result } = await ask('tools/call', { name: 'tools.search', arguments: args }, options);
    return (result?.structuredContent as { tools: { name: string }[] } | undefined)?.tools.map(({ name }) => name);
  };
  expect(await found({ query: 'write some text' })).toEqual(['file.write']);
  expect(await found({ query: 'file' })).toEqual(['file.read', 'file.write']);
  expect(await found({ query: '', limit: 1 })).toEqual(['file.read']);
  expect(await found({ query: 'command' })).toEqual([]);
  expect(await found({ query: 'time' }, { ...searching, search: '?names=safe' })).toEqual(['time_now']);
  const wrong = await ask('tools/call', { name: 'tools.search', arguments: { limit: 0 } }, searching);
  expect(wrong.result).toMatchObject({ isError: true });
  expect((await ask('tools/call', { name: 'time.now' }, searching)).result).toMatchObject({ isError: false });
  expect(called()).toEqual(['time.now']);
});

test('it has no prompts and no resources, and its tasks as every client', async () => {
  const { ask } = await start();
  for (const [method, member] of [
    ['prompts/list', 'prompts'],
    ['resources/list', 'resources'],
    ['resources/templates/list', 'resourceTemplates'],
  ] as const) {
    expect((await ask(method)).result).toMatchObject({ [member]: [] });
  }
  expect((await ask('resources/read', { uri: 'file:///notes.md' })).error).toMatchObject({ code: -32602 });
});

test('over REST it is the same, and a tool outside of the set is not found', async () => {
  const { web, overRest } = await start();
  const at = (method: string, path: string) =>
    web.call(method, `/api/v1/tools${path}`, { token: 'ada-some', body: {} });
  const listed = (await web.call('GET', '/api/v1/tools?names=safe', { token: 'ada-some' })).json as never as {
    tools: ToolInfo[];
  };
  expect(listed.tools.map(({ name }) => name)).toEqual(['file_read', 'file_write', 'time_now']);
  expect((await web.call('GET', '/api/v1/tools/time_now', { token: 'ada-some' })).json).toMatchObject({
    name: 'time.now',
  });
  expect((await at('POST', '/file_read/call')).status).toBe(200);
  for (const name of ['shell.exec', 'shell_exec']) {
    const { status, json } = await at('POST', `/${name}/call`);
    expect([name, status, json.error]).toEqual([name, 404, 'tool_not_found']);
  }
  expect(overRest).toEqual(['file.read']);
});

test('while the computer is away it sees its part of the last list', async () => {
  const { cloud, computer, names, ask } = await start();
  await names({ search: '?names=safe' });
  await names();
  await computer.dialer.stop();
  await untilLinked(cloud.dialIns, computer.id, false);
  expect(await names()).toEqual(['file.read', 'file.write', 'time.now']);
  expect(await names({ search: '?names=safe' })).toEqual(['file_read', 'file_write', 'time_now']);
  expect((await ask('tools/call', { name: 'shell.exec' })).error).toMatchObject({ code: -32602 });
});

test('at the edge it has those of the server’s tools that it names', async () => {
  const { names } = await start();
  const headers = { 'mcp-method': 'tools/list' };
  expect(await names({ path: '/edge/mcp', headers })).toEqual([]);
  expect(await names({ path: '/edge/mcp', headers, token: 'ada-key' })).toContain('list_agents');
});

test('a set that names the safe spelling of a tool does not have that tool', async () => {
  const listed = async () => [{ name: 'file.write' }, { name: 'file_tools.read' }] as unknown as ToolInfo[];
  const found = (names: readonly string[], written: string) => findTool({ names } as KeyTools, written, listed);
  expect(await found(['file_*'], 'file_write')).toBeNull();
  expect(await found(['file_write'], 'file_write')).toBeNull();
  expect(await found(['file_*'], 'file_tools_read')).toBe('file_tools.read');
  expect(await found(['file.*'], 'file_write')).toBe('file.write');
});
