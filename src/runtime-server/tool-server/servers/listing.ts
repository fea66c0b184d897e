/**
 * Turns a server's lists of tools and prompts into those that Gantry shows: usable names, schemas of one dialect, texts of limited length. Unusable
 * entries are left out with a sentence, because many clients drop the whole list over one bad name or schema. Pure. Must not know other servers.
 */
import { isObject, normaliseSchema, type Schema, sizeOf } from './schemas.ts';

export interface ListedTool {
  /** As the server calls it. */
  readonly tool: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Schema;
  readonly outputSchema?: Schema;
  readonly annotations?: Readonly<Record<string, unknown>>;
  /** As it was sent, where it asks for headers that repeat arguments (`x-mcp-header`): calls to the server need it. */
  readonly sentSchema?: Schema;
  /** In 2025-11-25: whether a call may, or must, be a task. */
  readonly taskSupport?: 'optional' | 'required';
}

/** One as the server calls it. */
export interface ListedPrompt {
  readonly prompt: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments?: readonly PromptArgument[];
}

interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
}

interface Listing {
  readonly tools: readonly ListedTool[];
  readonly problems: readonly string[];
}

const maxTitleLength = 200;
/** A model reads it with every step. Characters. */
const maxDescriptionLength = 8 * 1024;
/** Of one server. */
const maxTools = 2000;
/** Of one server, and of one of them. */
const maxPrompts = 500;
const maxArguments = 100;
/** Limit for one server's shown tools and all that was read of refused ones, which cost as much time. As JSON. */
const largestList = 4 * 1024 * 1024;
const maxProblems = 50;
const hints = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'] as const;

export function readListing(sent: readonly unknown[]): Listing {
  const tools = new Map<string, ListedTool>();
  const problems: string[] = [];
  let size = 0;
  for (const [index, item] of sent.entries()) {
    if (tools.size === maxTools) {
      problems.push(`The server lists ${sent.length} tools; only the first ${maxTools} are used.`);
      break;
    }
    const read = readTool(item, index);
    const text = JSON.stringify(read);
    size += Math.max(text.length, isObject(item) ? sizeOf(item.inputSchema) + sizeOf(item.outputSchema) : 0);
    if (size > largestList) {
      const name = typeof read === 'string' ? `tool ${index + 1}` : quoted(read.tool);
      problems.push(`The list is longer than ${largestList} characters; ${name} and all after it are left out.`);
      break;
    }
    if (typeof read === 'string') problems.push(read);
    else if (tools.has(read.tool)) problems.push(`${quoted(read.tool)} is listed twice; the first one is used.`);
    // As it will be read back from its row: JSON has numbers that JavaScript reads as infinite.
    else tools.set(read.tool, JSON.parse(text) as ListedTool);
  }
  const more = problems.length - maxProblems;
  return {
    tools: [...tools.values()],
    problems: more > 0 ? [...problems.slice(0, maxProblems), `And ${more} more.`] : problems,
  };
}

export function readPrompts(sent: readonly unknown[]): {
  readonly prompts: readonly ListedPrompt[];
  readonly problems: readonly string[];
} {
  const prompts = new Map<string, ListedPrompt>();
  const problems: string[] = [];
  let size = 0;
  for (const [index, item] of sent.slice(0, maxPrompts).entries()) {
    const read = readPrompt(item, index);
    if (typeof read === 'string') problems.push(read);
    else if (prompts.has(read.prompt))
      problems.push(`The prompt ${quoted(read.prompt)} is listed twice; the first one is used.`);
    else {
      size += JSON.stringify(read).length;
      if (size > largestList) {
        problems.push(
          `The prompts are longer than ${largestList} characters; ${quoted(read.prompt)} and all after it are left out.`,
        );
        break;
      }
      prompts.set(read.prompt, read);
    }
  }
  if (sent.length > maxPrompts)
    problems.push(`The server lists ${sent.length} prompts; only the first ${maxPrompts} are used.`);
  return { prompts: [...prompts.values()], problems };
}

function readPrompt(sent: unknown, index: number): ListedPrompt | string {
  if (!isObject(sent) || typeof sent.name !== 'string') return `Prompt ${index + 1} has no name.`;
  const { name } = sent;
  if (name.length > maxTitleLength || textOf(name, maxTitleLength) !== name)
    return `The prompt ${quoted(name)} is left out: its name is empty, too long, or has invisible characters.`;
  const given = Array.isArray(sent.arguments) ? sent.arguments : [];
  const taken = given.slice(0, maxArguments).flatMap((each): PromptArgument[] => {
    if (!isObject(each) || typeof each.name !== 'string') return [];
    return [{ name: each.name, ...described(each), ...(each.required === true ? { required: true } : {}) }];
  });
  return { prompt: name, ...described(sent), ...(taken.length === 0 ? {} : { arguments: taken }) };
}

function described(sent: Readonly<Record<string, unknown>>): {
  readonly title?: string;
  readonly description?: string;
} {
  const title = textOf(sent.title, maxTitleLength);
  const description = textOf(sent.description, maxDescriptionLength);
  return { ...(title === null ? {} : { title }), ...(description === null ? {} : { description }) };
}

function readTool(sent: unknown, index: number): ListedTool | string {
  if (!isObject(sent) || typeof sent.name !== 'string') return `Tool ${index + 1} has no name.`;
  const { name } = sent;
  if (!/^[A-Za-z0-9_.-]+$/.test(name)) {
    return `${quoted(name)} is left out: its name may have only letters, digits, "_", "." and "-".`;
  }
  const input = normaliseSchema(sent.inputSchema, 'input');
  if ('problem' in input) return `${quoted(name)} is left out: ${input.problem}.`;
  const output = sent.outputSchema === undefined ? null : normaliseSchema(sent.outputSchema, 'output');
  const title = textOf(sent.title ?? (isObject(sent.annotations) ? sent.annotations.title : undefined), maxTitleLength);
  const description = textOf(sent.description, maxDescriptionLength);
  const annotations = annotationsOf(sent.annotations);
  return {
    tool: name,
    ...(title === null ? {} : { title }),
    ...(description === null ? {} : { description }),
    inputSchema: input.schema,
    // Readers check a result against it: no schema is better than an unreadable one.
    ...(output !== null && 'schema' in output ? { outputSchema: output.schema } : {}),
    ...(annotations === null ? {} : { annotations }),
    ...(asksForHeaders(sent.inputSchema) ? { sentSchema: sent.inputSchema as Schema } : {}),
    ...taskSupportOf(sent.execution),
  };
}

/** Characters that are invisible, or change the direction of the text after them, could hide a text from the person and not from the model. */
const invisible =
  /[\u0000-\u0008\u000b-\u001f\u007f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu;

/** Text of a server as a person reads it; null: there is nothing to read. */
export function textOf(value: unknown, maxLength: number): string | null {
  if (typeof value !== 'string') return null;
  const text = value.replace(invisible, '').toWellFormed();
  if (text.trim() === '') return null;
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1).toWellFormed()}…`;
}

function annotationsOf(value: unknown): Record<string, unknown> | null {
  if (!isObject(value)) return null;
  const kept = hints.flatMap((hint) => (typeof value[hint] === 'boolean' ? [[hint, value[hint]] as const] : []));
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

function taskSupportOf(execution: unknown): Pick<ListedTool, 'taskSupport'> {
  const support = isObject(execution) ? execution.taskSupport : undefined;
  return support === 'optional' || support === 'required' ? { taskSupport: support } : {};
}

function asksForHeaders(schema: unknown): boolean {
  return schema !== undefined && JSON.stringify(schema).includes('"x-mcp-header"');
}

export const quoted = (name: string) => JSON.stringify(name.length > 80 ? `${name.slice(0, 80)}…` : name);
