/** What the factory gives to whoever composes a runtime. */
import type { BoundRoute, OwnerLookups } from '../../kit/http/types.ts';
import type { FactoryDoors } from '../../runtime-server/connectors/ports.ts';
import type { ChannelDoors } from '../../runtime-server/phone/ports.ts';
import type { Library, ToolBot } from '../../runtime-server/tool-server/index.ts';

export interface ToolBots {
  isBot(agentId: string): boolean;
  /** Null for what is none. `not_found` when a secret of its variables is gone. */
  bot(agentId: string): Promise<ToolBot | null>;
}

export interface Factory {
  readonly routes: readonly BoundRoute[];
  /** For whoever comes with a peer ticket, and for nobody else. */
  readonly peerRoutes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  /** Takes up what an earlier run left: agents, live panes, queued sends, team files. Before it, routes answer from nothing. */
  start(): Promise<void>;
  /** Bots with a live pane, of this workspace and others. */
  liveBots(): number;
  /** What its person calls a bot; null for one that there is not. */
  nameOf(agentId: string): string | null;
  /** Bots of this workspace as the tool server's callers; what another computer brought is none. */
  readonly toolBots: ToolBots;
  /** What connectors bring work to, and as what. */
  readonly connectors: FactoryDoors;
  /** What channels from outside bring messages to. */
  readonly channels: ChannelDoors;
  /** What clients of the tool server may read. */
  readonly library: Library;
  /** Ends every live bot's process tree. */
  stopAll(): Promise<void>;
  /** Lets go of everything; bots run on. */
  close(): Promise<void>;
}
