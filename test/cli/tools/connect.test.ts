/** What `gantry tools connect` prints, read as each client reads it, and used by a client that is not ours. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mcpClients } from '../../../src/cli/tools/mcp-clients.ts';
import { type Installation, startInstallation } from '../../host/paired-support.ts';
import { keepUntilEnd, onEnd } from '../../kit/http/support.ts';
import { run } from '../support.ts';

const twoTools = fileURLToPath(new URL('../../support/mcp/two-tools.ts', import.meta.url));
const stop = keepUntilEnd();
let installation: Installation;
let ownerToken: string;
beforeAll(async () => {
  installation = await startInstallation();
  ownerToken = readFileSync(installation.places.token, 'utf8').trim();
  writeFileSync(join(installation.home, 'ws', 'page.html'), '<h1>Converted</h1>');
}, 40_000);
afterAll(stop);

const env = () => ({ GANTRY_HOME: installation.home, PATH: process.env.PATH ?? '' });
const gantry = (...argv: string[]) => run(env(), ['tools', ...argv]);

interface Printed {
  readonly text: string;
  readonly format: string;
  readonly files: string[];
  readonly key: { readonly id: string; readonly name: string } | null;
}
interface HttpEntry {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}
interface ProgramEntry {
  readonly command: string;
  readonly args: string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Where each client looks in its file, and what it calls the address and the headers. */
const places: Readonly<Record<string, { at: string[]; url: string; headers: string }>> = {
  'claude-code': { at: ['mcpServers', 'gantry'], url: 'url', headers: 'headers' },
  'claude-desktop': { at: ['mcpServers', 'gantry'], url: '-', headers: '-' },
  cursor: { at: ['mcpServers', 'gantry'], url: 'url', headers: 'headers' },
  vscode: { at: ['servers', 'gantry'], url: 'url', headers: 'headers' },
  codex: { at: ['mcp_servers', 'gantry'], url: 'url', headers: 'http_headers' },
  'gemini-cli': { at: ['mcpServers', 'gantry'], url: 'httpUrl', headers: 'headers' },
  opencode: { at: ['mcp', 'servers', 'gantry'], url: 'url', headers: 'headers' },
  windsurf: { at: ['mcpServers', 'gantry'], url: 'serverUrl', headers: 'headers' },
  zed: { at: ['context_servers', 'gantry'], url: 'url', headers: 'headers' },
};

type Tree = { readonly [name: string]: unknown };
const within = (tree: Tree, path: readonly string[]): Tree => path.reduce((node, name) => node[name] as Tree, tree);

/** Of TOML what a file of Codex holds: tables, and values that JSON writes alike. */
function readToml(text: string): Tree {
  const root: Record<string, unknown> = {};
  let table = root;
  for (const line of text.split('\n').filter((one) => one.trim() !== '')) {
    const head = /^\[(.+)\]$/.exec(line);
    if (head === null) {
      const [, name = '', value = ''] = /^([A-Za-z0-9_-]+) = (.+)$/.exec(line) ?? [];
      table[name] = JSON.parse(value);
      continue;
    }
    table = root;
    for (const name of head[1]!.split('.')) {
      table[name] ??= {};
      table = table[name] as Record<string, unknown>;
    }
  }
  return root;
}

function entryOf(name: string, { text, format }: Printed): Tree {
  const tree = format === 'toml' ? readToml(text) : (JSON.parse(text) as Tree);
  expect(Object.keys(tree)).toEqual([places[name]!.at[0]]);
  return within(tree, places[name]!.at);
}

/** One of Gantry's own tools, one of documents, one of an attached server. */
async function listAndCall(client: Client): Promise<void> {
  onEnd(() => client.close());
  const calls = [
    ['time_now', { timezone: 'UTC' }, /UTC/],
    ['document_convert', { path: 'page.html' }, /# Converted/],
    ['pair_echo', { text: 'from a client' }, /from a client/],
  ] as const;
  const listed = new Set((await client.listTools()).tools.map(({ name }) => name));
  for (const [name, args, said] of calls) {
    expect(listed).toContain(name);
    const { content, isError = false } = await client.callTool({ name, arguments: args });
    expect([name, isError, JSON.stringify(content)]).toEqual([name, false, expect.stringMatching(said)]);
  }
}

test('a server is attached by its command, and shows its tools', async () => {
  expect((await gantry('servers', 'attach', 'pair', '--', process.execPath, twoTools)).code).toBe(0);
  await expect.poll(async () => (await gantry('servers')).out).toMatch(/pair\s+connected\s+2 tools/);
  expect((await gantry('call', 'pair.echo', 'text=by hand')).out).toBe('by hand\n');
});

test('every client that is known is listed with its file', async () => {
  const listed = (await gantry('connect', '--json')).json() as { clients: { name: string; files: string[] }[] };
  expect(listed.clients.map(({ name }) => name)).toEqual(Object.keys(places));
  for (const { files } of listed.clients) expect(files.length).toBeGreaterThan(0);
});

test.each(mcpClients.filter(({ onlyStdio }) => onlyStdio !== true).map(({ name }) => name))(
  '%s: the printed address and key let a real client list and call tools, and do nothing else',
  async (name) => {
    const printed = (await gantry('connect', name, '--json')).json() as never as Printed;
    expect(printed.text).not.toContain(ownerToken);
    const entry = entryOf(name, printed);
    const { url, headers }: HttpEntry = {
      url: String(entry[places[name]!.url]),
      headers: entry[places[name]!.headers] as HttpEntry['headers'],
    };
    const client = new Client({ name, version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    await listAndCall(client);
    const other = await fetch(`${installation.gantry.origin}/api/factory/agents`, { headers });
    expect(other.status).toBe(403);
  },
);

test.each(mcpClients.map(({ name }) => name))('%s: the printed command is a server with tools', async (name) => {
  const printed = (await gantry('connect', name, '--stdio', '--json')).json() as never as Printed;
  expect([printed.key, printed.text.includes(ownerToken)]).toEqual([null, false]);
  const entry = entryOf(name, printed);
  const command = Array.isArray(entry.command) ? (entry.command as string[]) : [entry.command as string];
  const program: ProgramEntry = {
    command: command[0]!,
    args: [...command.slice(1), ...((entry.args ?? []) as string[])],
    env: (entry.env ?? entry.environment) as Record<string, string>,
  };
  expect(program.env).toEqual({ GANTRY_HOME: installation.home });
  // The programs are the same but for how they are written down: one is started.
  if (name !== 'claude-desktop') return;
  const client = new Client({ name, version: '1' });
  await client.connect(new StdioClientTransport(program));
  await listAndCall(client);
});

test('a key is called as one wants and lives as long; a dry run makes none', async () => {
  const keys = async () =>
    (
      (await installation.web('GET', '/api/v1/keys')).json as never as {
        keys: { name: string; expiresAt: string | null }[];
      }
    ).keys;
  const before = (await keys()).length;
  const dry = (await gantry('connect', 'cursor', '--dry-run', '--json')).json() as never as Printed;
  expect([(await keys()).length, dry.text.includes('<a new API key>')]).toEqual([before, true]);
  await gantry('connect', 'cursor', '--key-name', 'my editor', '--days', '30');
  const [made] = await keys();
  expect([made?.name, made?.expiresAt === null]).toEqual(['my editor', false]);
});

test('a key may have some tools only, or one that finds them, and then opens nothing but the tool server', async () => {
  const narrow = ['connect', 'cursor', '--key-name', 'narrow', '--json', '--tools', 'time.*,system.info'];
  const listedWith = async (...more: string[]) => {
    const printed = (await gantry(...narrow, ...more)).json() as never as Printed;
    const { url, headers } = entryOf('cursor', printed) as never as HttpEntry;
    const client = new Client({ name: 'cursor', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    const { tools } = await client.listTools();
    expect(await client.callTool({ name: 'time_now', arguments: {} })).toMatchObject({ isError: false });
    await expect(client.callTool({ name: 'file_read', arguments: { path: 'page.html' } })).rejects.toThrow(
      'Unknown tool',
    );
    const found = tools.length === 1 && (await client.callTool({ name: 'tools_search', arguments: { query: 'time' } }));
    await client.close();
    const elsewhere = await fetch(`${installation.gantry.origin}/api/v1/tools`, { headers });
    expect(elsewhere.status).toBe(401);
    return [tools.map(({ name }) => name), JSON.stringify(found)];
  };
  expect(await listedWith()).toEqual([['system_info', 'time_now'], 'false']);
  expect(await listedWith('--search')).toEqual([['tools_search'], expect.stringContaining('time_now')]);
  const said = await gantry('connect', 'cursor', '--dry-run', '--tools', 'time.*');
  expect(said.out).toContain('may call only these tools: time.*.');
  for (const words of [['--search'], ['--stdio', '--tools', 'time.*'], ['--tools', 'a*b']]) {
    expect([words, (await gantry('connect', 'cursor', ...words)).code]).toEqual([words, 64]);
  }
});

test('a client that nobody knows is said to be so', async () => {
  const ran = await gantry('connect', 'emacs');
  expect([ran.code, ran.err.includes('claude-code')]).toEqual([2, true]);
});
