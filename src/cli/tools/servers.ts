/** `gantry tools servers`: attached tool servers of this computer. */
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError, exitCode } from '../../contracts/common/errors.ts';
import { type AttachedServer, AttachServer } from '../../contracts/tool-server/servers.ts';
import { readNamed } from '../../kit/files/within.ts';
import {
  type Action,
  type Context,
  flag,
  type Input,
  integer,
  optionalText,
  text as textOf,
  words,
} from '../command.ts';
import { table } from '../table.ts';
import { count, inCell, oneLine, spoken } from '../words.ts';
import { connectTools, type ToolsClient } from './client.ts';

const actions = ['ls', 'attach', 'detach', 'reconnect', 'enable', 'disable'] as const;
const maxTimeoutS = 600;
/** How long a person waits to hear how an attached server is, and how often it is asked. Milliseconds. */
const patienceMs = 10_000;
const askEveryMs = 200;

export const servers: Action = async (context, input) => {
  const given = optionalText(input, 'action') ?? 'ls';
  const action = actions.find((name) => name === given);
  if (action === undefined) {
    throw new AppError('usage', `There is no action ${JSON.stringify(given)}.`, `Use: ${actions.join(', ')}.`);
  }
  const client = await connectTools(context);
  if (action === 'ls') return list(context, client);
  if (action === 'attach' && flag(input, 'dryRun')) {
    const { name, transport } = await wanted(context, input);
    const { servers: all } = await client.listAttachedServers();
    if (all.some((one) => one.name === name)) {
      throw new AppError('refused', `A server named ${name} is already attached.`, 'Choose another name.', {
        status: 409,
      });
    }
    const where = transport.type === 'http' ? transport.url : [transport.command, ...(transport.args ?? [])].join(' ');
    return planned(context, { action, name, runs: where }, `attach ${name}: ${where}`);
  }
  if (action === 'attach') {
    const server = await settled(context, client, await client.attachServer({ body: await wanted(context, input) }));
    context.output.result(server, () => `Attached ${server.name}.\n${standingOf(context, server)}`);
    return { error: exitCode.transport, needs_reauth: exitCode.needs_person, connected: 0, connecting: 0, disabled: 0 }[
      server.status
    ];
  }
  const { id, name } = await find(context, client, textOf(input, 'name'));
  if (flag(input, 'dryRun')) return planned(context, { action, id, name }, `${action} ${name}`);
  if (action === 'detach') {
    await client.detachServer({ params: { id } });
    context.output.result({ id, name, detached: true }, () => `Detached ${name}.`);
    return undefined;
  }
  const server =
    action === 'reconnect'
      ? await client.reconnectServer({ params: { id } })
      : await client.changeAttachedServer({ params: { id }, body: { enabled: action === 'enable' } });
  context.output.result(server, () => `${server.name}: ${stateOf(server)}.`);
  return undefined;
};

/** Secrets of a header or a variable are no part of a plan. */
function planned(context: Context, plan: Record<string, string>, words: string): undefined {
  context.output.result({ dryRun: true, plan }, () => `Nothing was changed: this would ${inCell(words)}.`);
  return undefined;
}

/** As it is once it is something else than connecting, or after as long as a person waits. */
async function settled(context: Context, client: ToolsClient, attached: AttachedServer): Promise<AttachedServer> {
  const until = context.now() + patienceMs;
  let server = attached;
  while (server.status === 'connecting' && context.now() < until) {
    await delay(askEveryMs);
    server = await client.readAttachedServer({ params: { id: attached.id } });
  }
  return server;
}

/** How an attached server is, and what to do. */
function standingOf({ names: { gantry } }: Context, server: AttachedServer): string {
  const { name, status, error, authorizeUrl } = server;
  const why = error === null ? '' : ` ${inCell(error)}`;
  if (status === 'connected') {
    return `It is connected and has ${count(server.toolCount, 'tool')}: ${gantry} tools ls ${name}`;
  }
  if (status === 'connecting') return `It is still connecting. Check again: ${gantry} tools servers`;
  if (status === 'needs_reauth') {
    const where = authorizeUrl === null ? '' : `\nSign in at: ${inCell(authorizeUrl)}`;
    return `It needs a sign-in.${why}${where}`;
  }
  if (status === 'disabled') return `It is disabled. Enable it: ${gantry} tools servers enable ${name}`;
  return [
    `It cannot be reached.${why}`,
    'It stays attached, and Gantry keeps trying.',
    `Try it now: ${gantry} tools servers reconnect ${name}`,
    `Or detach it: ${gantry} tools servers detach ${name}`,
  ].join('\n');
}

async function list(context: Context, client: ToolsClient): Promise<undefined> {
  const answer = await client.listAttachedServers();
  context.output.result(answer, () => {
    if (answer.servers.length === 0) {
      return `No server is attached.\nAttach one: ${context.names.gantry} tools servers attach <name> -- <command>`;
    }
    const rows = answer.servers.map((server) => [
      server.name,
      stateOf(server),
      server.toolCount === 0 ? '-' : count(server.toolCount, 'tool'),
      oneLine(whereOf(server), 80),
      oneLine([server.error, server.authorizeUrl, ...server.problems].filter((part) => part !== null).join(' '), 300),
    ]);
    return table(['server', 'state', 'tools', 'runs', 'problem'], rows, context.output.width);
  });
  return undefined;
}

const stateOf = ({ status }: AttachedServer) => (status === 'needs_reauth' ? 'needs a sign-in' : spoken(status));

function whereOf({ transport }: AttachedServer): string {
  return transport.type === 'http' ? transport.url : [transport.command, ...(transport.args ?? [])].join(' ');
}

async function find(context: Context, client: ToolsClient, named: string): Promise<AttachedServer> {
  const { servers: all } = await client.listAttachedServers();
  const found = all.find(({ id, name }) => id === named || name === named);
  if (found !== undefined) return found;
  const fact = `No server ${JSON.stringify(named)} is attached.`;
  throw new AppError('not_found', fact, `List the servers: ${context.names.gantry} tools servers`);
}

/** Checked here already, so that what is wrong is said with the words of the command. */
async function wanted(context: Context, input: Input): Promise<AttachServer> {
  const timeout = integer(input, 'timeout', 1, maxTimeoutS);
  const body = {
    name: textOf(input, 'name'),
    transport: await transportOf(context, input),
    ...(timeout === undefined ? {} : { timeoutMs: timeout * 1000 }),
  };
  const checked = AttachServer.safeParse(body);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  const fact = `${issue?.path.join('.')}: ${issue?.message}.`;
  throw new AppError(
    'usage',
    fact,
    'Names have 1 to 32 of a-z, 0-9, _ and -, and are not the name of a native tool family.',
  );
}

async function transportOf(context: Context, input: Input): Promise<AttachServer['transport']> {
  const { env, cwd } = context;
  const given = words(input, 'command');
  // No program is named like an address, so an address without --url still means an address.
  const isAddress = given.length === 1 && /^https?:\/\//i.test(given[0] ?? '');
  const [command, ...args] = isAddress ? [] : given;
  const url = optionalText(input, 'url') ?? (isAddress ? given[0] : undefined);
  if (isAddress && url !== given[0]) {
    throw new AppError('usage', 'Two addresses are given.', 'Give one.');
  }
  if (/^https?:\/\//i.test(command ?? '')) {
    const fact = `Unexpected after the address: ${JSON.stringify(oneLine(args.join(' '), 100))}.`;
    throw new AppError('usage', fact, 'Give only the address, and headers with --header "Name: value".');
  }
  if ((url === undefined) === (command === undefined)) {
    const fact =
      url === undefined ? 'Neither a program nor an address is given.' : 'A program and an address are given.';
    throw new AppError('usage', fact, 'Give a command after --, or --url <url>.');
  }
  if (url !== undefined) {
    const lines = await Promise.all(words(input, 'header').map((header) => linesOf(context, header)));
    const headers = Object.fromEntries(lines.flat().map((header) => headerOf(header, env)));
    return { type: 'http', url, ...(Object.keys(headers).length === 0 ? {} : { headers }) };
  }
  const variables = Object.fromEntries(words(input, 'env').map((variable) => variableOf(variable, env)));
  const folder = optionalText(input, 'cwd');
  return {
    type: 'stdio',
    command: command!,
    ...(args.length === 0 ? {} : { args }),
    ...(Object.keys(variables).length === 0 ? {} : { env: variables }),
    ...(folder === undefined ? {} : { cwd: resolve(cwd, folder) }),
  };
}

/** `@file`, or `@-` for stdin: a header in each of its lines. */
async function linesOf({ cwd, terminal }: Context, given: string): Promise<readonly string[]> {
  if (!given.startsWith('@')) return [given];
  const file = given.slice(1);
  try {
    const content = file === '-' ? await text(terminal.stdin) : headersIn(resolve(cwd, file));
    return content.split('\n').filter((line) => line.trim() !== '');
  } catch (error) {
    const fact = `The headers in ${JSON.stringify(file)} cannot be read: ${(error as Error).message}.`;
    throw new AppError('usage', fact, 'Give a file with "Name: value" in each line, or @- for stdin.');
  }
}

const largestHeaders = 64 * 1024;

function headersIn(path: string): string {
  const found = readNamed(path, largestHeaders);
  if (found.is === 'file') return found.bytes.toString('utf8');
  throw new Error(found.is === 'absent' ? 'It does not exist' : found.why.replace(/\.$/, ''));
}

/** Never repeats the value: it is a secret. */
function headerOf(given: string, env: Context['env']): [string, string] {
  const at = given.indexOf(':');
  if (at <= 0) throw new AppError('usage', 'A header has no colon.', 'Give "Name: value".');
  const value = given.slice(at + 1).trim();
  const [, before = '', name] = /^(\w+ )?\$([A-Za-z_]\w*)$/.exec(value) ?? [];
  return [given.slice(0, at).trim(), name === undefined ? value : `${before}${variableOf(name, env)[1]}`];
}

function variableOf(given: string, env: Context['env']): [string, string] {
  const at = given.indexOf('=');
  if (at > 0) return [given.slice(0, at), given.slice(at + 1)];
  const value = env[given];
  if (value !== undefined) return [given, value];
  throw new AppError('usage', `The variable ${given} is not set here.`, 'Give NAME=value, or set it first.');
}
