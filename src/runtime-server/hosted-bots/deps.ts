/** The interfaces that hosted bots need from outside. Composed by the factory. */

import type { HostedMode } from '../../contracts/factory/team-file.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Base } from '../base/base.ts';
import type { Models } from '../models/index.ts';
import type { ToolRegistry } from '../tool-server/index.ts';
import type { HostedSpec } from './spec.ts';

export interface NodeRef {
  readonly dagId: string;
  readonly nodeId: string;
}

/** How a bot reports on its nodes: with the same verbs that bots in panes have. Refusals are AppErrors. */
export interface NodeWork {
  /** The bot's duty at the node now; null: none. */
  duty(node: NodeRef, address: string): Promise<'work' | 'review' | null>;
  /** Whether its budget allows one request more. */
  mayAsk(node: NodeRef): Promise<boolean>;
  progress(node: NodeRef, address: string, text: string): Promise<void>;
  done(node: NodeRef, address: string, given: { output?: string; note?: string }): Promise<void>;
  fail(node: NodeRef, address: string, reason: string): Promise<void>;
  prove(
    node: NodeRef,
    address: string,
    proof: { line: string; name: string; mime: string; content: AsyncIterable<Uint8Array> },
  ): Promise<{ receiptId: string }>;
}

interface AgentRunEnd {
  readonly status: 'completed' | 'failed' | 'cancelled' | 'interrupted';
  readonly at: number;
  readonly usage: Readonly<Record<string, number>> | null;
  readonly output: string | null;
  readonly error: string | null;
}

/** Records of what bots were run for. */
interface AgentRuns {
  begin(
    tx: Tx,
    run: { id: string; botId: string; source: { kind: 'workflow' | 'message'; ref: string }; at: number },
  ): void;
  end(tx: Tx, id: string, end: AgentRunEnd): void;
}

/** The delivery behind a message. */
export interface Order {
  readonly caller: string;
  readonly threadId: string | null;
  readonly dagId: string | null;
  readonly nodeId: string | null;
}

export interface HostedDeps extends Base {
  readonly workspace: string;
  readonly models: Models;
  readonly tools: ToolRegistry;
  readonly nodes: NodeWork;
  readonly runs: AgentRuns;
  orderOf(tx: Pick<Tx, 'get' | 'all'>, deliveryId: string): Order | null;
  /** The sender's own mode. */
  modeOf(caller: string): HostedMode;
  /** Puts the bot's words into a thread. The same key writes once. */
  reply(spec: Pick<HostedSpec, 'agentId' | 'address'>, threadId: string, text: string, key: string): Promise<void>;
  /** The environment of its commands: the variables of its team file, with secrets from the vault. */
  envOf(spec: HostedSpec): Promise<Readonly<Record<string, string>>>;
  /** The folder that the bot works in, made if need be. */
  folderOf(spec: HostedSpec): Promise<string>;
}
