/** The tool server as MCP sees it: the registry's tools, and resources. Must not know the protocol. */
import type { ToolInfo } from '../../contracts/tool-server/tools.ts';
import { createMcpService } from '../../kit/mcp/create-service.ts';
import type { ListedTool, Listing, McpService, ServerInfo } from '../../kit/mcp/service.ts';
import type { ForeignTools } from './foreign-tools.ts';
import { type Library, libraryProviders } from './library.ts';
import { toResult } from './registry.ts';
import type { ToolTasks } from './tasks/tasks.ts';
import type { WireCalls } from './wire-calls.ts';

const instructions =
  'Tools of this computer and of the tool servers attached to it. A call that needs approval waits up to 50 seconds for a person. If it then returns approval_required, make the same call again later: it runs once after they approve.';

export function createToolMcp({
  calls,
  library,
  foreign,
  tasks,
  info,
}: {
  readonly calls: WireCalls;
  readonly tasks: ToolTasks;
  readonly library: Library;
  readonly foreign: Pick<ForeignTools, 'prompts'>;
  readonly info: ServerInfo;
}): McpService {
  let listing: Listing<ListedTool> = { items: [], revision: -1 };
  return createMcpService({
    info,
    instructions,
    ...libraryProviders({ library, calls, foreign }),
    tools: {
      list() {
        const { tools, revision } = calls.list();
        if (listing.revision !== revision) listing = { items: tools.map(withTasks), revision };
        return listing;
      },
      async call(name, args, { principal, signal }, wish) {
        if (wish === null) return toResult(await calls.call(name, args, principal, signal));
        const answer = await tasks.call(name, args, principal, signal, wish);
        return 'task' in answer ? answer : toResult(answer);
      },
    },
    tasks: {
      get: (id, { principal }) => tasks.get(id, principal),
      wait: (id, { principal, signal }, maxMs) => tasks.wait(id, principal, maxMs, signal),
      list: ({ principal }) => tasks.list(principal),
      cancel: (id, { principal }) => tasks.cancel(id, principal),
      update: (id, answers, { principal }) => tasks.update(id, Object.keys(answers), principal),
    },
  });
}

/** Only a tool that may act can need a person. What a server says about its own tools is not believed. */
function withTasks(tool: ToolInfo): ListedTool {
  const { annotations, server } = tool;
  const looks = server === null && annotations?.readOnlyHint === true;
  return looks ? (tool as ListedTool) : ({ ...tool, execution: { taskSupport: 'optional' } } as ListedTool);
}
