/** The interfaces that usage needs from outside. Composed by the factory. */

import type { AgentState, HarnessName } from '../../contracts/factory/agent.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { AccountSwitching } from '../agents/accounts/switching.ts';
import type { Base } from '../base/base.ts';
import type { Harnesses } from '../harness/harness.ts';
import type { UsageLimit } from '../harness/usage.ts';
import type { Models } from '../models/index.ts';
import type { Holds } from './holds.ts';

/** A bot of the workspace, as far as it is counted and held. */
export interface MeteredBot {
  readonly id: string;
  readonly address: string;
  readonly team: string;
  /** Null unless it runs, or ran, in a pane of this computer. */
  readonly harness: HarnessName | null;
  /** Program and account, such as `claude/work`; null unless it runs, or ran, in a pane of this computer. */
  readonly account: string | null;
  /** The state from its harness or loop, without holds. */
  readonly state: AgentState;
}

interface MeteredBots {
  all(): readonly MeteredBot[];
  find(idOrAddress: string): MeteredBot | null;
  /** Its own state has changed. */
  onState(listener: (agentId: string) => void): () => void;
  /** The limit that stops it now, as its harness reports it; null: none is known. */
  limit(agentId: string): UsageLimit | null;
  /** It may try again. */
  unblock(agentId: string): void;
  /** Why a hosted bot cannot ask its model; null: it can. */
  modelHold(agentId: string): { readonly why: string; readonly since: number; readonly until: number | null } | null;
}

/** How a bot goes on after a usage limit. */
export interface GoOn {
  /** What is over, in a sentence. */
  readonly over: string;
  /** In a new conversation: it knows nothing of what was said. */
  readonly afresh: boolean;
}

export interface MeteringDeps extends Pick<Base, 'store' | 'ledger' | 'clock' | 'timers' | 'log'> {
  readonly random: () => number;
  readonly workspace: string;
  readonly models: Models;
  readonly harnesses: Pick<Harnesses, 'usage'>;
  readonly bots: MeteredBots;
  /** Where is written what holds each. */
  readonly holds: Holds;
  /** Other sign-ins of a bot's program, where its person gave an order of them. */
  readonly accounts: AccountSwitching;
  /** The hold on the bot has changed: its queue is tried, its state shown again. */
  changed(agentId: string): void;
  /** Tells a bot's nodes about its limit. False: it has none that works. */
  readonly nodes: {
    /** Its turn was cut off. `waits`: it continues automatically. */
    limited(address: string, why: string, waits: boolean): void;
    /** It may continue. Returns whether it had such a node, which told it. */
    goOn(address: string, how: GoOn): Promise<boolean>;
    /** Whether what it uses now counts for the budget of a node. */
    isCounted(address: string): boolean;
  };
  /** A message of the engine to a bot; the same key is sent once. */
  tell(address: string, text: string, key: string): Promise<void>;
  /** A person may want to know that a limit holds bots. */
  needsPerson(tx: Tx, bot: string | null, reason: string, id: string): void;
}

/** Everything that waits for a time checks the wall clock this often: a sleeping computer stops every timer. */
export const lookEveryMs = 30_000;
/** What a bot with a budget uses is read this often: a budget is overrun by no more than the request that reaches it. */
export const countEveryMs = 1000;

export const dayMs = 24 * 3_600_000;
export const startOfDay = (now: number): number => Math.floor(now / dayMs) * dayMs;
export const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10);
export const startOfMonth = (now: number): number =>
  Date.parse(`${new Date(now).toISOString().slice(0, 7)}-01T00:00:00Z`);
export const nextDay = (now: number): number => startOfDay(now) + dayMs;
