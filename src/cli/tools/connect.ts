/**
 * `gantry tools connect`: the configuration by which an MCP client uses this computer's tools, and a key created for it. It never contains the
 * owner's token: a program that reads it could do everything.
 */
import { join } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import type { KeyTools } from '../../contracts/identity/keys.ts';
import { mcpServer } from '../../contracts/tool-server/mcp.ts';
import { dataFolder, packageRoot } from '../../host/places.ts';
import { type Action, type Context, flag, type Input, optionalText } from '../command.ts';
import { table } from '../table.ts';
import { type McpClient, mcpClients, type Reach, textOf } from './mcp-clients.ts';
import { findHome, makeKey, toolsIn } from './new-key.ts';

/** What the server is called in a client's file. */
const serverName = 'gantry';

export const connect: Action = async (context, input) => {
  const { gantry } = context.names;
  const named = optionalText(input, 'client');
  if (named === undefined) {
    const clients = mcpClients.map(({ name, title, files }) => ({ name, title, files }));
    context.output.result({ clients }, () => {
      const rows = clients.map(({ name, title, files }) => [name, title, files[0] ?? '']);
      return `${table(['client', 'is', 'file'], rows, context.output.width)}\nPrint a configuration: ${gantry} tools connect <client>`;
    });
    return undefined;
  }
  const client = mcpClients.find(({ name }) => name === named);
  if (client === undefined) {
    const known = mcpClients.map(({ name }) => name).join(', ');
    throw new AppError('not_found', `Unknown client ${JSON.stringify(named)}.`, `Known: ${known}.`);
  }
  const byCommand = client.onlyStdio === true || flag(input, 'stdio');
  if (byCommand && toolsIn(input) !== undefined) {
    const fact = `${client.title} starts a command, which uses your own token: it has all tools.`;
    throw new AppError('usage', fact, 'Leave out --tools.');
  }
  const made = byCommand ? { reach: command(context), key: null } : await address(context, input, client);
  const config = client.config(serverName, made.reach);
  const text = textOf(client, config);
  const { name, title, files, format } = client;
  context.output.result({ client: name, files, format, config, text, key: made.key }, () =>
    [text, '', ...guide(context, client, made.key, title, files)].join('\n'),
  );
  return undefined;
};

function guide(
  { names }: Context,
  client: McpClient,
  key: Made['key'],
  title: string,
  files: readonly string[],
): string[] {
  return [
    `Add this to ${files.join('\n         or ')}`,
    client.after,
    ...(key === null
      ? [`${title} then acts as you, and approvals come to you.`]
      : [
          `The key ${JSON.stringify(key.name)} may ${mayOf(key.tools)}. Anyone who has it can do the same; revoke it under Settings → API keys.`,
          ...committed(client),
        ]),
    `See approvals: ${names.gantry} workspace approvals`,
  ];
}

function mayOf(tools: KeyTools | null): string {
  if (tools === null) return 'call tools and write to bots';
  return `call only these tools: ${tools.names.join(', ')}${tools.search === true ? ', which it finds with tools.search' : ''}`;
}

/** A key in a file of a project goes to everybody who has the project. */
function committed({ files, expands }: McpClient): string[] {
  if (!files.some((file) => file.endsWith('in the project'))) return [];
  const fact = 'A file in the project may be committed, and the key with it: use your own file';
  if (expands !== true) return [`${fact}.`];
  return [`${fact}, or write \${GANTRY_KEY} in place of the key and set that variable where the client starts.`];
}

/** The program itself, wherever the client starts it from. */
function command({ env }: Context): Reach {
  return {
    kind: 'stdio',
    command: process.execPath,
    args: [join(packageRoot(), 'scripts', 'gantry.mjs'), 'tools', 'stdio'],
    env: { GANTRY_HOME: dataFolder(env) },
  };
}

interface Made {
  readonly reach: Reach;
  readonly key: { readonly id: string | null; readonly name: string; readonly tools: KeyTools | null } | null;
}

async function address(context: Context, input: Input, client: McpClient): Promise<Made> {
  const home = await findHome(context);
  const search = new URLSearchParams({ names: 'safe' });
  if (home.computerId !== null) search.set('computer', home.computerId);
  const url = `${home.origin}${mcpServer.path}?${search}`;
  const name = optionalText(input, 'keyName') ?? client.title;
  const tools = toolsIn(input);
  // A key that is to have some tools must not do by another address what they would.
  const only = tools === undefined ? {} : { tools, resource: mcpServer.path };
  const { secret, ...key } = await makeKey(context, input, home, { name, scope: 'bots:act', ...only });
  return { reach: { kind: 'http', url, key: secret }, key: { ...key, tools: tools ?? null } };
}
