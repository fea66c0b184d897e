/**
 * One way to list, plan and call a tool, whatever its source: Gantry's own, described in zod once, or one of an attached server, which brings its
 * own schema. Must not know policy or approvals.
 */
import { z } from 'zod';
import type { ContentBlock, ToolInfo, ToolResult } from '../../contracts/tool-server/tools.ts';
import { wrongArguments } from './argument-words.ts';
import type {
  ForeignPort,
  ForeignPrompt,
  ForeignPrompts,
  ForeignTask,
  ForeignTool,
  ForeignTools,
} from './foreign-tools.ts';
import type { Tool, ToolCaller, ToolPlan } from './tool.ts';

/** The result of a call that was made. */
export interface CallableResult {
  readonly isError: boolean;
  readonly content: readonly ContentBlock[];
  /** As a model of ours reads it. */
  readonly text: string;
  /** Absent where the tool gives none. */
  readonly structured?: unknown;
}

export interface Callable {
  readonly info: ToolInfo;
  /** Family and member, as rules name it. */
  readonly action: { readonly tool: string; readonly member?: string; readonly attached?: true };
  readonly report: boolean;
  readonly decides: boolean;
  readonly forNodes: boolean;
  readonly readOnly: boolean;
  /** The arguments as the tool takes them, or why it does not. */
  read(input: unknown): { readonly ok: true; readonly input: object } | { readonly ok: false; readonly why: string };
  plan(input: object, caller: ToolCaller): Promise<ToolPlan<CallableResult>>;
  /** For a tool of an attached server: the result of a task that it made of an earlier call. */
  follow?(task: ForeignTask, signal: AbortSignal, port: ForeignPort): Promise<CallableResult>;
}

/** Text of a result beyond this is cut: it is sent beside the data it was made from. Characters. */
const maxTextLength = 1_000_000;

export function ownTool(tool: Tool): Callable {
  const [family = tool.name, member] = tool.name.split('.');
  const info: ToolInfo = {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: schemaOf(tool.input, 'input'),
    outputSchema: schemaOf(tool.output, 'output'),
    annotations: { title: tool.title, readOnlyHint: tool.readOnly, ...tool.annotations },
    server: null,
  };
  return {
    info,
    action: { tool: family, ...(member === undefined ? {} : { member }) },
    report: tool.report === true,
    decides: tool.decides === true,
    forNodes: tool.forNodes === true,
    readOnly: tool.readOnly,
    read(input) {
      const given = input ?? {};
      const parsed = tool.input.safeParse(given);
      if (parsed.success) return { ok: true, input: parsed.data };
      const names = Object.keys((info.inputSchema.properties ?? {}) as object);
      return { ok: false, why: wrongArguments(parsed.error.issues, given, names) };
    },
    async plan(input, caller) {
      const plan = await tool.plan(input as never, caller);
      return {
        ...plan,
        async run(signal, may, answer) {
          const output = await plan.run(signal, may, answer);
          const text = tool.say?.(output) ?? JSON.stringify(output);
          const content = [{ type: 'text', text: cut(text, maxTextLength) }, ...(tool.blocks?.(output) ?? [])];
          return { isError: false, content, text, structured: output };
        },
      };
    },
  };
}

/** A server's hints about its tool are shown but not trusted: the tool counts as acting. */
export function foreignTool(tool: ForeignTool, tools: ForeignTools): Callable {
  const { name, server } = tool;
  const member = name.slice(server.length + 1);
  return {
    info: tool as ToolInfo,
    action: { tool: server, member, attached: true },
    report: false,
    decides: false,
    forNodes: false,
    readOnly: false,
    read: (input) =>
      typeof input === 'object' && input !== null && !Array.isArray(input)
        ? { ok: true, input }
        : input === undefined
          ? { ok: true, input: {} }
          : { ok: false, why: 'the arguments must be an object.' },
    plan: async (input) => ({
      risk: 'medium',
      title: `Call ${name}`,
      summary: `${name} of the attached server ${server}\n${JSON.stringify(input, null, 2)}`,
      run: async (signal, _may, _answer, port) =>
        foreignResult(await tools.call(name, input as Readonly<Record<string, unknown>>, { ...port, signal })),
    }),
    follow: async (task, signal, port) => foreignResult(await tools.follow(name, task, { ...port, signal })),
  };
}

function foreignResult(result: ToolResult): CallableResult {
  const { isError, content, structuredContent: structured } = result;
  return { isError, content, text: wordsOf(result), ...(structured === undefined ? {} : { structured }) };
}

/**
 * Asks a server for a prompt: the values leave this computer, so policy and person decide as about a call of its tools. It is in no list of tools.
 */
export function foreignPrompt({ name, server }: ForeignPrompt, prompts: ForeignPrompts): Callable {
  return {
    info: { name: promptCall(name), description: '', inputSchema: { type: 'object' }, server },
    action: { tool: server, member: name.slice(server.length + 1), attached: true },
    report: false,
    decides: false,
    forNodes: false,
    readOnly: false,
    read: (input) => ({ ok: true, input: input as object }),
    plan: async (input) => ({
      risk: 'medium',
      title: `Get the prompt ${name}`,
      summary: `The prompt ${name} of the attached server ${server}\n${JSON.stringify(input, null, 2)}`,
      async run(signal) {
        const prompt = await prompts.get(name, input as Readonly<Record<string, string>>, { signal });
        const text = JSON.stringify(prompt);
        return { isError: false, content: [{ type: 'text', text }], text, structured: prompt };
      },
    }),
  };
}

/** How a prompt is called by: no tool has such a name. */
export const promptCall = (name: string) => `prompt:${name}`;

/** Blocks as one of our models reads them: it gets only text. */
function wordsOf({ content, structuredContent }: ToolResult): string {
  const words = content.map((block) => {
    if (typeof block.text === 'string') return block.text;
    const resource = block.resource as { readonly text?: unknown; readonly uri?: unknown } | undefined;
    if (typeof resource?.text === 'string') return resource.text;
    return `[${block.type}${typeof block.mimeType === 'string' ? ` ${block.mimeType}` : ''}]`;
  });
  if (words.length === 0 && structuredContent !== undefined) return JSON.stringify(structuredContent);
  return words.join('\n');
}

export function cut(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  return `${text.slice(0, maxLength)}\n[cut: ${text.length - maxLength} characters more]`;
}

/** JSON Schema 2020-12; its `$schema` is left out, which some clients refuse. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io });
  return oneTypeEach(rest) as Record<string, unknown>;
}

/** `type: ["number", "null"]` as `anyOf`: hosts that know one type a schema refuse the tool, or drop the constraint. */
function oneTypeEach(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(oneTypeEach);
  if (typeof schema !== 'object' || schema === null) return schema;
  const each = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, oneTypeEach(value)]));
  const { type, ...rest } = each;
  return Array.isArray(type) ? { anyOf: type.map((one) => ({ type: one })), ...rest } : each;
}
