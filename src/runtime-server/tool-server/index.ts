/**
 * The tool server's half on this computer: one registry of native tools, tools of other areas and those of attached servers, and its surfaces: MCP,
 * REST, bots in Gantry's own loop. Composes the parts; must not know who the bots are.
 */

import type { EgressMeter } from '../../kit/egress/egress-metrics.ts';
import type { BoundRoute } from '../../kit/http/types.ts';
import type { Ledger } from '../../kit/ledger/ledger.ts';
import type { ServerInfo } from '../../kit/mcp/service.ts';
import type { Telemetry } from '../../kit/telemetry/telemetry.ts';
import type { Approvals } from '../approvals/approvals.ts';
import type { Base } from '../base/base.ts';
import type { ProgressBook } from '../base/progress.ts';
import type { Policy } from '../policy/policy.ts';
import { createApprovalTool } from './approval-tool.ts';
import { createAsker } from './ask.ts';
import { type CallersDeps, createToolCallers } from './callers.ts';
import { type Converter, createDocumentTools } from './documents/index.ts';
import { createFileTools } from './file-tools.ts';
import type { ForeignTools } from './foreign-tools.ts';
import { createHttpTools } from './http-tools.ts';
import type { Library } from './library.ts';
import { createToolMcp } from './mcp-service.ts';
import { createToolRegistry, nameInRules, type ToolRegistry } from './registry.ts';
import { toolServerRoutes } from './routes.ts';
import { createShellSandbox, type ShellSandbox } from './shell-sandbox.ts';
import { createShellTool } from './shell-tool.ts';
import { createSystemTools } from './system-tools.ts';
import { createToolTasks, type ToolTasks } from './tasks/tasks.ts';
import { createTimeTool } from './time-tool.ts';
import type { Tool, ToolCaller } from './tool.ts';
import { createWeb, type WebDeps } from './web.ts';
import { createFinder } from './what-runs-finder.ts';
import { createRecordCall, createWireCalls } from './wire-calls.ts';

export type { ToolInfo } from '../../contracts/tool-server/tools.ts';
export type { ToolBot } from './callers.ts';
export type { Library } from './library.ts';
export type { ToolOutcome, ToolRegistry } from './registry.ts';
export type { ShellSandbox } from './shell-sandbox.ts';
export { toolCalled } from './told.ts';
export { defineTool, type Tool, type ToolCaller } from './tool.ts';

export interface ToolServerDeps extends Pick<Base, 'clock' | 'timers'> {
  readonly policy: Pick<Policy, 'decide'>;
  readonly approvals: Pick<Approvals, 'ask' | 'withdraw'>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly freshName: () => string;
  /** Folders that no tool reaches and no command sees: Gantry's own. */
  readonly hidden: readonly string[];
  /** In one of those: notes about commands that run. Default: none are kept. */
  readonly commandNotes?: string;
  readonly log: { error(message: string, fields?: Record<string, unknown>): void };
  /** Null: no documents are converted here. */
  readonly converter: Pick<Converter, 'convert'> | null;
  /** How names are looked up; default the system's way. */
  readonly lookup?: WebDeps['lookup'];
  /** Tools of other areas, for every caller. */
  readonly tools?: readonly Tool[];
  /** Tools of attached servers. */
  readonly foreign?: ForeignTools;
  /** Counts requests to addresses outside. */
  readonly egress?: EgressMeter | undefined;
  /** Traces calls; absent: none. */
  readonly telemetry?: Telemetry | undefined;
}

interface ToolWireDeps extends CallersDeps, Pick<Base, 'store' | 'ids'> {
  readonly ledger: Pick<Ledger, 'append'>;
  readonly info: ServerInfo;
  readonly library: Library;
  readonly progress: ProgressBook;
  /** Where the person answers approvals. */
  readonly inboxUrl: () => string;
  readonly log: Base['log'] & { error(message: string, fields?: Record<string, unknown>): void };
}

/** What clients reach over HTTP. */
export interface ToolWire extends Pick<ToolTasks, 'start' | 'close'> {
  readonly routes: readonly BoundRoute[];
}

export interface ToolServer {
  /** The tools, and these for callers of one area. */
  registry(more?: readonly Tool[]): ToolRegistry;
  /** MCP and REST. */
  wire(deps: ToolWireDeps): ToolWire;
  /** Where commands of tools run. */
  readonly sandbox: ShellSandbox;
  close(): Promise<void>;
}

/** A computer that no server is attached to. */
const nothingAttached: ForeignTools = {
  list: () => [],
  revision: 0,
  call: async (name) => ({ content: [{ type: 'text', text: `There is no tool "${name}".` }], isError: true }),
  follow: async (name) => ({ content: [{ type: 'text', text: `There is no tool "${name}".` }], isError: true }),
};

export function createToolServer(deps: ToolServerDeps): ToolServer {
  const { ask, giveBack } = createAsker(deps);
  const foreign = deps.foreign ?? nothingAttached;
  const { env, hidden, freshName, timers, converter, lookup } = deps;
  const web = createWeb({ clock: deps.clock, meter: deps.egress, ...(lookup === undefined ? {} : { lookup }) });
  const wanted = env.GANTRY_TOOL_SANDBOX !== 'off';
  const notes = deps.commandNotes === undefined ? {} : { notes: deps.commandNotes };
  const sandbox = createShellSandbox({ env, hidden, ...notes, wanted, clock: deps.clock, freshName });
  const mayWrite = (path: string, caller: ToolCaller) => {
    const action = { tool: 'file', member: 'write', bot: caller.bot?.address ?? null, path: nameInRules(caller, path) };
    return deps.policy.decide(action, caller.mode).verdict === 'allow';
  };
  const tools = [
    ...createFileTools({ hidden, freshName, finder: createFinder({ now: () => deps.clock.now() }) }),
    createShellTool({ sandbox, hidden, freshName, env, mayWrite }),
    ...createSystemTools({ env, sandbox }),
    ...createHttpTools({ web }),
    createTimeTool(deps),
    createApprovalTool(),
    ...(converter === null
      ? []
      : createDocumentTools({ converter, fetch: web, hidden, freshName, after: timers.after })),
    ...(deps.tools ?? []),
  ];
  const registry = (more: readonly Tool[] = []) =>
    createToolRegistry(
      { tools, foreign, policy: deps.policy, ask, giveBack, log: deps.log, telemetry: deps.telemetry },
      more,
    );
  return {
    registry,
    sandbox,
    close: () => web.close(),
    wire(own) {
      const callers = createToolCallers(own);
      const record = createRecordCall(own);
      const every = registry();
      const calls = createWireCalls({ registry: every, callers, record, called: own.called });
      const { approvals, clock } = deps;
      const tasks = createToolTasks({ ...own, registry: every, callers, record, approvals, clock, timers });
      const service = createToolMcp({ ...own, calls, foreign, tasks });
      return {
        routes: toolServerRoutes({ calls, service, progress: own.progress, log: own.log }),
        start: () => tasks.start(),
        close: () => tasks.close(),
      };
    },
  };
}
