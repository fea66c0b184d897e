/** The interfaces that workflows need from outside. Composed by the factory. */

import type { Approval } from '../../contracts/approvals/approval.ts';
import type { bindingTypes, HarnessName } from '../../contracts/factory/agent.ts';
import type { Delivery } from '../../contracts/factory/delivery.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Base } from '../base/base.ts';
import type { Activity } from '../harness/activity.ts';
import type { Trust } from '../trust/index.ts';
import type { StepCost } from '../usage/costs.ts';
import type { Run, RunNode } from './model.ts';
import type { ShellJob } from './shell.ts';
import type { WorkQueue } from './worker-steps/calls.ts';

export interface WorkerBot {
  readonly slug: string;
  readonly address: string;
  readonly agentId: string;
  readonly role: string | null;
  readonly harness: HarnessName | null;
  readonly bindingType: (typeof bindingTypes)[number];
  /** Name of the other computer that it runs on: the verbs of a run do not reach from there. */
  readonly elsewhere?: string | null;
}

export interface WorkTeam {
  readonly name: string;
  readonly bots: readonly WorkerBot[];
  readonly edges: readonly { readonly kind: string; readonly from: string; readonly to: string }[];
}

/** The possible executors: the teams of the workspace. */
export interface Workforce {
  /** Names of the teams whose file is sound. */
  teams(): string[];
  /** A team with a preset applied. `not_found` for an unknown team, `usage` for an unknown preset. */
  team(name: string, preset: string | null): WorkTeam;
  /** Address of an agent, or null. */
  addressOf(agentId: string): string | null;
  /** Id of the bot with this address if it works in a terminal, else null. */
  inTerminal(address: string): string | null;
}

export interface Dispatch {
  readonly dagId: string;
  readonly nodeId: string;
  /** A repeated key returns the first Delivery and sends nothing. */
  readonly idempotencyKey: string;
}

/** Puts a text to a bot. The factory's send. */
export type DispatchTo = (address: string, text: string, dispatch: Dispatch) => Promise<Delivery>;

/** The folders of bots with their own worktree. */
export interface WorkPlaces {
  /** Puts the bot on the branch of the node that it is about to get. */
  takeUp(address: string, node: { readonly stepId: string; readonly nodeId: string }): Promise<void>;
  /** Makes its worktree ready for work: installed packages and the like. `refused` when that failed, with the end of the output. */
  setUp(address: string): Promise<'ready' | 'made'>;
  /** Whether the bot works in a worktree, made or not. */
  has(address: string): boolean;
  /** Folder in which commands about the bot's work run; null: the workspace. */
  folderOf(address: string): string | null;
  /** The bot's changes as a unified diff; null when it changed nothing or has no worktree. */
  patchOf(address: string): Promise<string | null>;
}

/** What is known at this moment of a bot that has a step. */
export interface BotLook {
  /** Another one after a restart. */
  readonly bot: object;
  readonly activity: Activity;
  /** It starts, asks a person, waits for a limit or cannot be read: its silence means nothing. */
  readonly excused: boolean;
  /** It would take a message now. */
  readonly atRest: boolean;
}

/** Watches the bots that have steps. */
export interface BotWatch {
  /** Null: nothing of it can be seen here, so it cannot fall silent. */
  of(address: string): BotLook | null;
  /** Repetitions count from now on. */
  begin(address: string): void;
  /** `seen`: what is there, in a sentence. `active`: it works all the same, such as by a transcript that grows. */
  look(address: string, quietMs: number): Promise<{ readonly seen: string; readonly active: boolean }>;
  /** Tokens that it used since, milliseconds since the epoch; those from a cache do not count. */
  tokensSince(address: string, at: number): Promise<number>;
  /** Changes whenever a file of its folder does; null: cannot be told. */
  filesOf(address: string): Promise<string | null>;
  /** Shows what was seen beside its state; null: no more. */
  show(address: string, seen: string | null): void;
}

/** How commands of this run are started; null: as the person. */
export type PlaceCommand = (run: Pick<Run, 'dagId' | 'template' | 'params'>) => ShellJob['place'] | null;

export interface GateVerdict {
  readonly kind: 'approve' | 'reject';
  readonly note: string | null;
  readonly by: { readonly user: string; readonly surface: string };
}

export interface GateAsk {
  readonly source: 'workflow';
  readonly kind: string;
  readonly title: string;
  readonly summary: string;
  readonly risk: 'low';
  readonly agentId: null;
  /** Absent: of a campaign, or of a whole run. */
  readonly dagId?: string;
  readonly nodeId?: string;
  readonly actionHash: string;
  readonly expiresInMs: number;
  readonly dedupeKey: string;
}

/** The part of approvals that gates need. */
export interface GateApprovals {
  ask(
    ask: GateAsk,
    options: { readonly signal: AbortSignal; readonly apply: (tx: Tx, verdict: GateVerdict) => void },
  ): Promise<{ readonly id: string; readonly answer: Promise<{ readonly kind: string }> }>;
  withdraw(id: string, surface: string): Promise<void>;
  /** The live approval of a node, or the newest one that ended; null when there was none. */
  ofNode(dagId: string, nodeId: string): Promise<Approval | null>;
  /** Approvals of a run, oldest first; those that ended long ago are no longer known. */
  ofRun(dagId: string): Promise<Approval[]>;
}

/** Stores the records of bots' runs. Ending an ended one changes nothing. */
export interface AgentRunBook {
  begin(
    tx: Tx,
    run: {
      readonly id: string;
      readonly botId: string;
      readonly source: { readonly kind: 'workflow'; readonly ref: string };
      readonly at: number;
    },
  ): void;
  end(
    tx: Tx,
    id: string,
    end: {
      readonly status: 'completed' | 'failed' | 'cancelled' | 'interrupted';
      readonly at: number;
      readonly usage: null;
      readonly output: string | null;
      readonly error: string | null;
    },
  ): void;
}

/** Events that a person may want to know; `id` names the move. */
export interface WorkEvents {
  needsUser(
    tx: Tx,
    run: Pick<Run, 'title'>,
    node: Pick<RunNode, 'dagId' | 'nodeId' | 'title' | 'cause' | 'detail' | 'assignee'>,
    id: string,
  ): void;
  /** `failed`: the step whose failure ended it; null: it ended well, or a person ended it. */
  ended(
    tx: Tx,
    run: Pick<Run, 'dagId' | 'title' | 'status'>,
    failed: Pick<RunNode, 'title' | 'cause' | 'detail'> | null,
    id: string,
  ): void;
}

/** Stops a bot's work on a node at once where possible. False: a message must tell it. */
export type StopBot = (address: string, node: { readonly dagId: string; readonly nodeId: string }) => Promise<boolean>;

/** Ends the turn of a bot on a step. Whether it was seen to end. */
export type EndTurn = (
  address: string,
  node: { readonly dagId: string; readonly nodeId: string },
  why: string,
) => Promise<boolean>;

/** Why a bot over its budget takes no more work, as a question to a person; null: it does. */
export type OverBudget = (address: string) => string | null;

export interface WorkflowDeps extends Base {
  readonly overBudget?: OverBudget | undefined;
  readonly stopBot?: StopBot | undefined;
  readonly endTurn?: EndTurn | undefined;
  /** Told of each request of a bot, by its id, once it is durable; absent: none is counted. */
  readonly onSpent?: ((listener: (agentId: string) => void) => () => void) | undefined;
  readonly trust: Pick<Trust, 'judge' | 'sayYes'>;
  /** Absolute path of the one workspace. */
  readonly workspace: string;
  /** Folder of the templates that ship. */
  readonly shippedTemplates: string;
  /** The environment of nodes' commands, without Gantry's own variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly workforce: Workforce;
  readonly dispatch: DispatchTo;
  readonly agentRuns: AgentRunBook;
  readonly events: WorkEvents;
  readonly places: WorkPlaces;
  /** Absent: no bot is watched, and none falls silent. */
  readonly watch?: BotWatch | undefined;
  /** A bot has this attempt of a step now: called before it is told, and more than once. */
  readonly handed?: (address: string, node: Pick<RunNode, 'dagId' | 'nodeId' | 'attempt'>) => void;
  readonly place?: PlaceCommand | undefined;
  /** Where steps with the executor `queue` go. Absent: nowhere. */
  readonly queue?: WorkQueue | undefined;
  /** Null: only their verb opens gates. */
  readonly approvals: GateApprovals | null;
  /** What model requests of the run's steps cost; absent: not recorded. */
  readonly costsOf?: (dagId: string) => Promise<StepCost[]>;
  readonly deliveriesOf: (nodeId: string) => Promise<Delivery[]>;
  /** How many commands run at once. */
  readonly slots: number;
  /** The user whose runs these are. */
  readonly ownerId: string;
}
