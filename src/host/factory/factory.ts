/** What the factory offers to the code that composes a runtime. */
import type { BoundRoute, OwnerLookups } from '../../kit/http/types.ts';
import type { FactoryPort } from '../../runtime-server/connectors/ports.ts';
import type { ChannelPort } from '../../runtime-server/phone/ports.ts';
import type { Library, ToolBot } from '../../runtime-server/tool-server/index.ts';
import type { LeaseFigures } from '../../runtime-server/workflows/silence.ts';

interface ToolBots {
  isBot(agentId: string): boolean;
  /** Null for ids that are not bots. `not_found` when a secret of its variables is gone. */
  bot(agentId: string): Promise<ToolBot | null>;
  called(agentId: string, tool: string, input: unknown): void;
}

export interface Factory {
  readonly routes: readonly BoundRoute[];
  /** Only for callers with a peer ticket. */
  readonly peerRoutes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  /** Takes up what an earlier run left: agents, live panes, queued sends, team files. Before it, routes answer from nothing. */
  start(): Promise<void>;
  /** Bots with a live pane, of this workspace and others. */
  liveBots(): number;
  /** The state of each bot of this workspace. */
  botStates(): readonly string[];
  /** Of the steps that bots and watched commands are at work on. */
  stepLeases(): LeaseFigures;
  /** Bots of this workspace as the tool server's callers; bots that another computer brought are not among them. */
  readonly toolBots: ToolBots;
  /** What connectors bring work to, and as what. */
  readonly connectors: FactoryPort;
  /** What channels from outside bring messages to. */
  readonly channels: ChannelPort;
  /** What clients of the tool server may read. */
  readonly library: Library;
  /** Ends every live bot's process tree. */
  stopAll(): Promise<void>;
  /** Lets go of everything; bots run on. */
  close(): Promise<void>;
}
