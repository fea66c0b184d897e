/** Clients that nobody here wrote use the tool server as they use any other. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMCPClient } from '@ai-sdk/mcp';
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ownerToken, sharedEngine } from '../runtime-server/engine.ts';
import { createProfile } from '../support/mcp/profile.ts';
import { type ServedProfile, serveMcp } from '../support/mcp/serve-profile.ts';

const inspector = join(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js',
);
const info = { name: 'test', version: '1.0.0' };
const said = [{ type: 'text', text: 'Dotted: hello' }];
const call = { name: 'dotted.name_tool', arguments: { word: 'hello' } };

let served: ServedProfile;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gantry-clients-'));
  served = await serveMcp(createProfile());
});
afterAll(async () => {
  await served.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('the official client, version 2', () => {
  const modes = [
    ['auto', '2026-07-28'],
    [{ pin: '2026-07-28' }, '2026-07-28'],
    ['legacy', '2025-11-25'],
  ] as const;
  test.each(modes)('%j speaks %s and uses tools, prompts and resources', async (mode, version) => {
    const client = new Client2(info, { versionNegotiation: { mode } });
    await client.connect(new Transport2(new URL(served.url)));
    try {
      expect(client.getNegotiatedProtocolVersion()).toBe(version);
      expect(client.getServerVersion()?.name).toBe('gantry-conformance');
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain(call.name);
      expect((await client.callTool(call)).content).toEqual(said);
      expect(await client.callTool({ name: 'test_error_handling' })).toMatchObject({ isError: true });
      await expect(client.callTool({ name: 'nowhere' })).rejects.toMatchObject({ code: -32602 });
      expect((await client.listPrompts()).prompts.length).toBeGreaterThan(3);
      expect((await client.listResources()).resources.length).toBeGreaterThan(2);
      expect((await client.listResourceTemplates()).resourceTemplates.length).toBe(2);
      expect((await client.readResource({ uri: 'test://static-text' })).contents.length).toBe(1);
      await expect(client.readResource({ uri: 'test://nowhere' })).rejects.toThrow('Resource not found');
    } finally {
      await client.close();
    }
  });
});

test('the official client, version 1, uses tools, prompts and resources', async () => {
  const client = new Client1(info);
  await client.connect(new Transport1(new URL(served.url)));
  try {
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain(call.name);
    expect((await client.callTool(call)).content).toEqual(said);
    await expect(client.callTool({ name: 'nowhere' })).rejects.toMatchObject({ code: -32602 });
    expect((await client.getPrompt({ name: 'test_simple_prompt' })).messages.length).toBe(1);
    expect((await client.readResource({ uri: 'test://static-text' })).contents.length).toBe(1);
    expect(await client.ping()).toEqual({});
  } finally {
    await client.close();
  }
});

test('the AI SDK’s client lists and calls tools', async () => {
  const client = await createMCPClient({ transport: { type: 'http', url: served.url } });
  try {
    const tools = await client.tools();
    const tool = tools['dotted.name_tool'];
    const result = await tool?.execute({ word: 'hello' }, { toolCallId: '1', messages: [], context: undefined });
    expect(result).toMatchObject({ content: said });
    expect((await client.listResources()).resources.length).toBeGreaterThan(2);
  } finally {
    await client.close();
  }
});

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The Inspector's command line, with a home of its own. */
function inspect(url: string, ...args: string[]): Promise<Ended> {
  const all = ['--cli', '--server-url', url, '--transport', 'http', '--format', 'json', ...args];
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [inspector, ...all],
      { env: { ...process.env, HOME: folder, MCP_CATALOG_PATH: join(folder, 'catalog.json') }, timeout: 25_000 },
      (error, stdout, stderr) => resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr }),
    );
  });
}

describe('the Inspector', () => {
  test.each(['modern', 'legacy'])('lists and calls tools in the %s era', async (era) => {
    const [list, called] = await Promise.all([
      inspect(served.url, '--protocol-era', era, '--method', 'tools/list'),
      inspect(
        served.url,
        '--protocol-era',
        era,
        '--method',
        'tools/call',
        '--tool-name',
        call.name,
        '--tool-arg',
        'word=hello',
      ),
    ]);
    expect([list.code, called.code, list.stderr + called.stderr]).toEqual([0, 0, '']);
    const listed = (JSON.parse(list.stdout) as { result: { tools: { name: string }[] } }).result.tools;
    expect(listed.map(({ name }) => name)).toContain(call.name);
    expect(JSON.parse(called.stdout)).toMatchObject({ result: { content: said } });
  });

  test('finds nothing to object to in the tools under their safe names', async () => {
    const { code, stderr } = await inspect(
      `${served.url}?names=safe`,
      '--protocol-era',
      'modern',
      '--method',
      'tools/list',
      '--strict',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  });
});

describe('the engine’s own tools', () => {
  const shared = sharedEngine();
  const authorization = `Bearer ${ownerToken}`;
  const address = (query = '') => `${shared.current.url}/mcp/server${query}`;

  test.each(['auto', 'legacy'] as const)('are listed and called by the official client (%s)', async (mode) => {
    const client = new Client2(info, { versionNegotiation: { mode } });
    await client.connect(new Transport2(new URL(address()), { requestInit: { headers: { authorization } } }));
    try {
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain('time.now');
      // The client holds what comes against the tool's output schema.
      const { structuredContent } = await client.callTool({ name: 'time.now', arguments: { timezone: 'UTC' } });
      expect(structuredContent).toMatchObject({ timezone: 'UTC' });
      expect((await client.listPrompts()).prompts).toBeInstanceOf(Array);
      expect((await client.listResourceTemplates()).resourceTemplates.length).toBeGreaterThan(0);
    } finally {
      await client.close();
    }
  });

  test('have schemas that the Inspector finds portable, under names that every host takes', async () => {
    const options = ['--header', `Authorization: ${authorization}`, '--protocol-era', 'modern'];
    const { code, stdout, stderr } = await inspect(
      address('?names=safe'),
      ...options,
      '--method',
      'tools/list',
      '--strict',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { tools } = (JSON.parse(stdout) as { result: { tools: { name: string }[] } }).result;
    for (const { name } of tools) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });
});
