/** The tool server as MCP sees it: the registry's tools, and resources. Must not know the protocol. */

import { createMcpService } from '../../kit/mcp/create-service.ts';
import type { ListedTool, McpService, ServerInfo } from '../../kit/mcp/service.ts';
import type { ForeignTools } from './foreign-tools.ts';
import { type Library, libraryProviders } from './library.ts';
import { toResult } from './registry.ts';
import type { WireCalls } from './wire-calls.ts';

const instructions =
  'Tools of this computer and of the tool servers attached to it. A call that needs approval waits up to 50 seconds for a person. If it then returns approval_required, make the same call again later: it runs once after they approve.';

export function createToolMcp({
  calls,
  library,
  foreign,
  info,
}: {
  readonly calls: WireCalls;
  readonly library: Library;
  readonly foreign: Pick<ForeignTools, 'prompts'>;
  readonly info: ServerInfo;
}): McpService {
  return createMcpService({
    info,
    instructions,
    ...libraryProviders({ library, calls, foreign }),
    tools: {
      list() {
        const { tools, revision } = calls.list();
        return { items: tools as readonly ListedTool[], revision };
      },
      call: async (name, args, { principal, signal }) => toResult(await calls.call(name, args, principal, signal)),
    },
  });
}
