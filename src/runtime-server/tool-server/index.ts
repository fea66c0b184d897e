/** The tool server's half on this computer: the registry and the native families. Listing and calling over MCP joins later. */
import { createFileTools } from './file-tools.ts';
import { createToolRegistry, type ToolRegistry, type ToolRegistryDeps } from './registry.ts';
import { createShellTool } from './shell-tool.ts';
import type { Tool } from './tool.ts';

export type { ToolInfo, ToolOutcome, ToolRegistry } from './registry.ts';
export { defineTool, type Tool, type ToolCaller, type ToolPlan } from './tool.ts';

export interface ToolServerDeps extends Omit<ToolRegistryDeps, 'tools'> {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly freshName: () => string;
  /** Tools of other areas. */
  readonly more: readonly Tool[];
}

export function createToolServer(deps: ToolServerDeps): ToolRegistry {
  return createToolRegistry({ ...deps, tools: [...createFileTools(deps), createShellTool(deps), ...deps.more] });
}
