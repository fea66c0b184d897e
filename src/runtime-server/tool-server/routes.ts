/**
 * The routes of the engine's tool server: MCP and plain REST over the same calls. Must not know tools, policy or attached
 * servers.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { mcpServer } from '../../contracts/tool-server/mcp.ts';
import { callTool, listTools, readTool, type ToolInfo } from '../../contracts/tool-server/tools.ts';
import { type BoundRoute, bind, bindWithHead } from '../../kit/http/types.ts';
import { createMcpEndpoint } from '../../kit/mcp/endpoint.ts';
import { safeNames } from '../../kit/mcp/names.ts';
import type { McpService } from '../../kit/mcp/service.ts';
import type { ProgressBook } from '../base/progress.ts';
import { type ToolOutcome, toResult } from './registry.ts';
import type { WireCalls } from './wire-calls.ts';

export function toolServerRoutes({
  calls,
  service,
  progress,
  log,
}: {
  readonly calls: WireCalls;
  readonly service: McpService;
  readonly progress: ProgressBook;
  readonly log: { error(message: string, fields?: Record<string, unknown>): void };
}): BoundRoute[] {
  const endpoint = createMcpEndpoint({ service, log });
  const find = spellings(calls);
  return [
    bindWithHead(mcpServer, (context) => {
      calls.admit(context.principal);
      return endpoint(context);
    }),
    bind(listTools, ({ principal, query }) => {
      calls.admit(principal);
      const { tools } = calls.list();
      if (query.names !== 'safe') return { body: { tools: [...tools] } };
      const safe = safeNames(tools.map(({ name }) => name));
      const shown = tools.map((tool) => ({ ...tool, name: safe.get(tool.name) ?? tool.name }));
      return { body: { tools: shown.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name))) } };
    }),
    bind(readTool, ({ principal, params }) => {
      calls.admit(principal);
      return { body: find(params.name) };
    }),
    bind(callTool, async (asked) => {
      const { principal, params, body, signal } = asked;
      calls.admit(principal);
      const { name } = find(params.name);
      const outcome = await progress.follow(asked, (onProgress) =>
        calls.call(name, body.arguments ?? {}, principal, signal, onProgress),
      );
      if (outcome.open) throw stillOpen(outcome);
      return { body: toResult(outcome) };
    }),
  ];
}

/** Finds a tool by its name or by the safe spelling of it. */
function spellings(calls: WireCalls): (written: string) => ToolInfo {
  let known = { revision: -1, tools: new Map<string, ToolInfo>() };
  return (written) => {
    const { tools, revision } = calls.list();
    if (known.revision !== revision) {
      const safe = safeNames(tools.map(({ name }) => name));
      const pairs = tools.flatMap((tool): [string, ToolInfo][] => [
        [safe.get(tool.name) ?? tool.name, tool],
        [tool.name, tool],
      ]);
      known = { revision, tools: new Map(pairs) };
    }
    const found = known.tools.get(written);
    if (found !== undefined) return found;
    const fact = `There is no tool ${JSON.stringify(written)}.`;
    throw new AppError('not_found', fact, 'See GET /api/v1/tools.', { wireCode: 'tool_not_found' });
  };
}

function stillOpen({ text, approvalId }: ToolOutcome): AppError {
  return new AppError('refused', text, '', {
    status: 409,
    wireCode: 'approval_required',
    extra: { approvalId, retryable: true },
  });
}
