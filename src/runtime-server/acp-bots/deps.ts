/** What bots over ACP need from outside. Composed by the factory. */
import type { McpServer } from '@agentclientprotocol/sdk';
import type { Tx } from '../../kit/store/store.ts';
import type { Base } from '../base/base.ts';
import type { BotSpec, PermissionAnswer, PermissionAsk } from '../harness/harness.ts';
import type { Policy } from '../policy/index.ts';

/** A start of an agent, ready to run. */
export interface Prepared {
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  /** Gantry's tools, where the agent can be given them. */
  readonly mcpServers: (offers: { readonly http: boolean }) => McpServer[];
  /** Sign-in methods of the agent that need no person here. */
  readonly signIns: readonly string[];
  /** The mode in which it asks a person, if that is known: it works in that one until they choose another. */
  readonly asksIn: string | null;
  /** What it reads of a file that is not there: that it is empty, in place of an error. */
  readonly missingIsEmpty: boolean;
  /** For the time when its process runs, which leads a session: keeps it in its limits until what this returns is called. */
  held(pid: number): () => void;
  /** For the time when this process has ended. Never rejects. */
  close(): Promise<void>;
}

/** The part of approvals that agents need. */
export interface AcpApprovals {
  /** Without a key: the agent ends with this process, so nobody could ask again. */
  ask(
    ask: Omit<PermissionAsk, 'dedupeKey'>,
  ): Promise<{ readonly id: string; readonly answer: Promise<PermissionAnswer> }>;
  withdraw(id: string, surface: string): Promise<void>;
}

export interface AcpDeps extends Base {
  readonly workspace: string;
  readonly approvals: AcpApprovals;
  readonly policy: Pick<Policy, 'decide'>;
  /** Everything that can go wrong before the agent runs is an AppError; `needs_person` where somebody must agree first. */
  prepare(spec: BotSpec): Promise<Prepared>;
  /** The thread that a delivery came from. */
  threadOf(tx: Pick<Tx, 'get' | 'all'>, deliveryId: string): string | null;
  /** Puts the bot's words into a thread. The same key writes once. */
  reply(agentId: string, threadId: string, text: string, key: string): Promise<void>;
}
