/**
 * Tools of an edge server from a table: the schema of each tool's input, and its request to the caller's computer. The list is the same for everybody
 * and needs no computer. Must not know which tools there are.
 */
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import type { ToolResult } from '../../contracts/tool-server/tools.ts';
import type { JsonObject, ListedTool, McpRequest, RpcAnswer, ToolProvider } from '../../kit/mcp/service.ts';
import { hasTool } from '../tool-server/named-tools.ts';
import type { AskComputer, AskedComputer } from './ask-computer.ts';

export interface EdgeTool {
  readonly listed: ListedTool;
  /** The answer as JSON; null: the request goes on to the computer's own tool of this name, and may become a task there. */
  call(args: JsonObject, computer: AskedComputer, request: McpRequest): Promise<object | null>;
}

interface EdgeToolSpec<I extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: I;
  /** It changes something. */
  readonly acts?: true;
  run(input: z.output<I>, computer: AskedComputer, request: McpRequest): Promise<object>;
}

export function edgeTool<I extends z.ZodObject>({
  name,
  title,
  description,
  input,
  acts,
  run,
}: EdgeToolSpec<I>): EdgeTool {
  const inputSchema = inputOf(input);
  const annotations = acts
    ? { readOnlyHint: false, destructiveHint: false, openWorldHint: true }
    : { readOnlyHint: true, openWorldHint: false };
  return {
    listed: { name, title, description, inputSchema, annotations },
    call(args, computer, request) {
      const parsed = input.safeParse(args);
      if (parsed.success) return run(parsed.data, computer, request);
      const said = parsed.error.issues
        .slice(0, 5)
        .map((issue) => [...issue.path.map(String), issue.message].join(': '));
      throw new AppError('usage', `${name}: ${said.join('; ')}.`, 'See its inputSchema.', { wireCode: 'bad_request' });
    },
  };
}

export function inputOf(input: z.ZodObject): ListedTool['inputSchema'] {
  const { $schema, ...schema } = z.toJSONSchema(input, { io: 'input' });
  return schema;
}

/** `pass`: sends a request on to the tool server of the caller's computer. */
export function createEdgeTools(
  tools: readonly EdgeTool[],
  ask: AskComputer,
  pass: (request: McpRequest) => Promise<RpcAnswer>,
): ToolProvider {
  const byName = new Map(tools.map((tool) => [tool.listed.name, tool]));
  const listing = { items: tools.map(({ listed }) => listed), revision: 'all' };
  return {
    // A key that names its tools has no others here either.
    list({ principal: { tools: set } }) {
      if (set === undefined) return listing;
      const items = listing.items.filter(({ name }) => hasTool(set, name));
      return { items, revision: items.map(({ name }) => name).join(' ') };
    },
    async call(name, args, request) {
      const answer = await byName.get(name)!.call(args, ask(request), request);
      return answer === null ? { passedOn: await pass(request) } : resultOf(answer);
    },
  };
}

function resultOf(answer: object): ToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(answer) }],
    structuredContent: answer as ToolResult['structuredContent'],
    isError: false,
  };
}
