/** `gantry tools ls | show | call`. */
import { AppError, exitCode } from '../../contracts/common/errors.ts';
import { type ContentBlock, doesNotTake, type ToolInfo, type ToolResult } from '../../contracts/tool-server/tools.ts';
import { type Action, type Context, flag, type Input, optionalText, text, words } from '../command.ts';
import { followed } from '../followed.ts';
import { facts, table } from '../table.ts';
import { count, inCell, inset, oneLine } from '../words.ts';
import { connectTools } from './client.ts';

/** Exit code of a call whose tool says that it failed. */
const failed = 1;

export const list: Action = async (context, input) => {
  const client = await connectTools(context);
  const server = optionalText(input, 'server');
  const all = (await client.listTools()).tools;
  const tools = server === undefined ? all : all.filter((tool) => tool.server === server);
  context.output.result({ tools }, () => {
    if (tools.length === 0) {
      return server === undefined
        ? 'There are no tools.'
        : `The server ${JSON.stringify(server)} has no tools here.\nCheck the server: ${context.names.gantry} tools servers`;
    }
    const rows = tools.map((tool) => [
      tool.name,
      tool.server ?? '-',
      oneLine(tool.description ?? tool.title ?? '', 200),
    ]);
    return table(['tool', 'server', 'what it does'], rows, context.output.width);
  });
  return undefined;
};

export const show: Action = async (context, input) => {
  const client = await connectTools(context);
  const name = text(input, 'tool');
  const tool = await client.readTool({ params: { name } }).catch(asUnknown(context, name));
  context.output.result(tool, () => described(tool));
  return undefined;
};

function described(tool: ToolInfo): string {
  const { readOnlyHint, destructiveHint } = tool.annotations ?? {};
  const effect = readOnlyHint === true ? 'read-only' : destructiveHint === false ? 'only adds' : null;
  return [
    facts([
      ['Tool', tool.name],
      ['Server', tool.server],
      ['Effect', effect],
    ]),
    ...(tool.description === undefined ? [] : ['', inset(tool.description)]),
    '',
    'Input',
    JSON.stringify(tool.inputSchema, null, 2),
  ].join('\n');
}

export const call: Action = async (context, input) => {
  const client = await connectTools(context);
  const name = text(input, 'tool');
  const values = words(input, 'values');
  const given = optionalText(input, 'args');
  if (given !== undefined && values.length > 0) {
    throw new AppError('usage', 'The arguments are given twice.', 'Give either --args or name=value.');
  }
  const args =
    given !== undefined || values.length === 0
      ? await objectOf(context, given ?? '{}')
      : pairs(values, (await client.readTool({ params: { name } }).catch(asUnknown(context, name))).inputSchema);
  if (flag(input, 'dryRun')) {
    // Whether it is there at all; what it would do, and whether a person is asked, shows only in the call.
    await client.readTool({ params: { name } }).catch(asUnknown(context, name));
    const plan = { tool: name, arguments: args };
    context.output.result(
      { dryRun: true, plan },
      () => `Nothing was called: this would call ${name} with ${inCell(JSON.stringify(args))}.`,
    );
    return undefined;
  }
  const result = await followed(context, name, (headers) =>
    client.callTool({ params: { name }, body: { arguments: args } }, { headers }),
  )
    .catch(asUnknown(context, name))
    .catch(asQuestion(context, input));
  context.output.result(result, () => result.content.map(shown).join('\n'));
  if (!result.isError) return undefined;
  return isNotTaken(result) ? exitCode.usage : failed;
};

/** The arguments are wrong, so nothing was tried. */
function isNotTaken({ content }: ToolResult): boolean {
  const text = content[0]?.text;
  return typeof text === 'string' && text.indexOf(doesNotTake) === text.indexOf(' ') && text.includes(doesNotTake);
}

async function objectOf({ terminal }: Context, given: string): Promise<Record<string, unknown>> {
  const json = given === '-' ? await read(terminal.stdin) : given;
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Said below.
  }
  throw new AppError(
    'usage',
    `--args is not a JSON object: ${oneLine(json, 200)}`,
    'Give one: --args \'{"path":"notes.md"}\'.',
  );
}

async function read(stdin: NodeJS.ReadStream): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stdin) pieces.push(Buffer.from(piece as Uint8Array));
  return Buffer.concat(pieces).toString('utf8');
}

/** `name=value`: a text where the tool takes a text, else JSON; a name that comes again makes a list where one is taken. */
function pairs(values: readonly string[], schema: ToolInfo['inputSchema']): Record<string, unknown> {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, { readonly type?: unknown } | undefined>>;
  const args: Record<string, unknown> = {};
  for (const pair of values) {
    const at = pair.indexOf('=');
    if (at < 1) {
      const fact = `${JSON.stringify(oneLine(pair, 100))} is not name=value.`;
      throw new AppError('usage', fact, `Names: ${Object.keys(properties).join(', ')}.`);
    }
    const name = pair.slice(0, at);
    const written = pair.slice(at + 1);
    const type = properties[name]?.type;
    if (type === 'array' && !written.startsWith('[')) {
      const list = Array.isArray(args[name]) ? (args[name] as unknown[]) : [];
      args[name] = [...list, written];
    } else args[name] = type === 'string' ? written : parsedValue(written);
  }
  return args;
}

function parsedValue(written: string): unknown {
  try {
    return JSON.parse(written) as unknown;
  } catch {
    return written;
  }
}

/** The wire's answer names a route: here a command lists the tools. */
function asUnknown({ names }: Context, tool: string): (thrown: unknown) => never {
  return (thrown) => {
    if (!(thrown instanceof AppError) || thrown.options.wireCode !== 'tool_not_found') throw thrown;
    throw new AppError(
      'not_found',
      `There is no tool ${JSON.stringify(tool)}.`,
      `List the tools: ${names.gantry} tools ls`,
      thrown.options,
    );
  };
}

/** Nobody answered in time: the same call runs once after the person did. */
function asQuestion(context: Context, input: Input): (thrown: unknown) => never {
  return (thrown) => {
    if (!(thrown instanceof AppError) || thrown.options.wireCode !== 'approval_required') throw thrown;
    const { gantry } = context.names;
    const id = thrown.options.extra?.approvalId;
    const approve = typeof id === 'string' ? `${gantry} workspace approve ${id}` : `${gantry} workspace approvals`;
    const action = `Approve it in the inbox, or: ${approve}. Then call ${text(input, 'tool')} with the same arguments again.`;
    throw new AppError('needs_person', thrown.fact, action, thrown.options);
  };
}

function shown(block: ContentBlock): string {
  if (block.type === 'text' && typeof block.text === 'string') return block.text;
  const { mimeType, data, uri } = block as { mimeType?: string; data?: string; uri?: string };
  const size = typeof data === 'string' ? `, ${count(Math.floor((data.length * 3) / 4), 'byte')}` : '';
  return `[${block.type}${mimeType === undefined ? '' : ` ${mimeType}`}${size}${uri === undefined ? '' : ` ${uri}`}]`;
}
