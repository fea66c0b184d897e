/**
 * The boundary between the factory (who may send what to whom, queues, ledger) and the harnesses (how one agent CLI is
 * started, how its state is judged, how a text gets into it and what proves that it arrived).
 * The factory names no harness; a harness knows no team, ledger or thread.
 */
import type { AgentState, HarnessName, PaneInput } from '../../contracts/factory/agent.ts';
import type { DeliveryEvidence } from '../../contracts/factory/delivery.ts';
import type { NetworkPreset, SandboxMode } from '../../contracts/factory/team-file.ts';
import type { BotActivity } from './activity.ts';
import type { UsageCursor, UsageLimit, UsagePage } from './usage.ts';

/** A bot as a harness sees it, resolved from team.yaml and preset. */
export interface BotSpec {
  readonly agentId: string;
  readonly slug: string;
  readonly team: string;
  readonly harness: HarnessName;
  readonly model: string | null;
  /** For `custom` (needed) and `shell` (optional: a program that runs first). */
  readonly command: string | null;
  readonly cwd: string;
  /** The folder of the checkout that its worktree was made from; absent: it has no worktree. */
  readonly checkout?: string;
  readonly env: Readonly<Record<string, string>>;
  /** The team's CULTURE.md, for harnesses that can take a system prompt. */
  readonly culture: string | null;
  /** Take up the last conversation that was seen, where the harness can; without one, or when false, a new one. */
  readonly resume?: boolean;
  /** Absent: it runs as its person. */
  readonly sandbox?: BotSandbox;
  /** The account that its program is signed in with; absent: its person's own sign-in. */
  readonly account?: string;
  /** Variables of the person's that its program does not get. Follows from the account; kept nowhere. */
  readonly without?: readonly string[];
  /** With `resume`: this conversation, which the person began without Gantry, instead of the last one that was seen. */
  readonly adopts?: { readonly sessionId: string; readonly transcript: string | null };
}

/** A program that sees only its own folder, what its harness needs, and these absolute paths. */
export interface BotSandbox {
  readonly mode: Exclude<SandboxMode, 'none'>;
  readonly read: readonly string[];
  readonly write: readonly string[];
  readonly caps?: BotCaps;
  /** What it reaches without a question if it is closed; absent: what every closed bot does. */
  readonly network?: BotNetwork;
}

export interface BotNetwork {
  readonly presets: readonly NetworkPreset[];
  /** Besides the usual ones. */
  readonly ports: readonly number[];
}

/** Of everything that it runs together. */
export interface BotCaps {
  /** Mebibytes. */
  readonly memory?: number;
  readonly processes?: number;
  /** Cores. */
  readonly processor?: number;
  /** Mebibytes that may be added to what it may write. */
  readonly disk?: number;
}

/** Paths that the runtime gives to each bot's program as `GANTRY_*` variables; files are 0600. */
export interface BotPaths {
  readonly urlFile: string;
  readonly tokenFile: string;
  readonly workspace: string;
  /** Absolute path of the `gantry` command, for hooks: run as `<node> <path> …`. */
  readonly gantry: readonly string[];
  /** A folder of this bot's own (0700) for per-start settings files and rc files; never the person's home. */
  readonly folder: string;
}

export interface Launch {
  readonly command: readonly [string, ...string[]];
  /** The bot's own program, where a program of Gantry's starts it. Default: the first word of the command. */
  readonly program?: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cols: number;
  readonly rows: number;
  /** It continues the requested conversation. */
  readonly resumed?: boolean;
}

export interface FoundHarness {
  readonly name: HarnessName;
  readonly installed: boolean;
  readonly version: string | null;
  /** null where unknown. */
  readonly signedIn: boolean | null;
  /** Whether the installed version is one that the rules were recorded with. */
  readonly covered: boolean | null;
  readonly detail: string;
  readonly fix: string | null;
}

export interface BotState {
  readonly state: AgentState;
  /** In words, or `unclear`. */
  readonly reason: string | null;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** Whether a text may be typed now. `why` is the queue's reason as text. `setup`: a first-run screen blocks it. */
export type Gate = { readonly open: true } | { readonly open: false; readonly why: string; readonly setup: boolean };

export interface Outgoing {
  readonly deliveryId: string;
  /** The line that names the sender, without comment signs: `From owner`, `From web@dev`. */
  readonly senderLine: string;
  readonly text: string;
  /** One last line naming the verb that answers, when the message came from a thread. */
  readonly replyLine: string | null;
  /** Owner only: the bare text is typed, nothing before or after it. */
  readonly raw: boolean;
  /** False: it must not wait anywhere else either. */
  readonly mayQueue?: boolean;
}

export type DeliverResult =
  /** `evidence` null: another computer saw it and did not report how. */
  | { readonly state: 'verified'; readonly evidence: DeliveryEvidence | null; readonly detail?: string }
  | { readonly state: 'unconfirmed' | 'best_effort' | 'failed'; readonly evidence: null; readonly detail: string }
  /** The gate closed between asking and typing (draft in the composer, person typing, dialog opened): nothing was typed. */
  | { readonly state: 'held'; readonly why: string };

export interface ExplainStep {
  readonly at: number;
  readonly source: 'hook' | 'osc' | 'title' | 'screen' | 'process' | 'person';
  readonly rule: string;
  readonly claim: string;
  readonly evidence: string;
  readonly decided: boolean;
}

/** What its state was judged by, for the person who asks why. */
export interface Explained {
  readonly harness: string;
  readonly ruleset: string;
  readonly steps: readonly ExplainStep[];
  readonly bottom: readonly string[];
  /** Approvals in which its program's own questions wait for a person. */
  readonly approvals: readonly string[];
}

/** The keys that end a turn. Never more than needed: one key too many may end the program. */
export interface InterruptKeys {
  readonly keys: readonly string[];
  /** Between two keys, milliseconds, for a program that asks for the second one first. */
  readonly apartMs?: number;
}

export interface Interrupted {
  /** The turn was seen to end. False: there was none, or it continued. */
  readonly ended: boolean;
  /** The keys that were pressed; empty where the program was stopped without keys. */
  readonly keys: readonly string[];
}

/** One live bot in one pane. */
export interface HarnessBot {
  readonly agentId: string;
  readonly paneId: string;
  state(): BotState;
  readonly activity: BotActivity;
  /** Files to which its program writes the conversation. */
  transcripts(): readonly string[];
  onState(listener: (state: BotState) => void): () => void;
  gate(): Gate;
  /** Called when the gate may have opened; edges can be missed, so the caller also asks by timer. */
  onGate(listener: () => void): () => void;
  /** One at a time per bot; shares its lock with {@link input}. Never types unless {@link gate} is open. ≤ 10 s. */
  deliver(message: Outgoing): Promise<DeliverResult>;
  /**
   * Continues a message whose delivery was cut off when the runtime ended. Null where it is unknown how far it came: then it must not be typed
   * again. As {@link deliver} otherwise.
   */
  resume(message: Outgoing): Promise<DeliverResult | null>;
  /** A person's keystrokes: text first, then keys. `usage` for an unknown key or when both are empty. */
  input(input: PaneInput): Promise<void>;
  /**
   * A hook of the harness's own process; the answer is what the hook prints. Unknown events change nothing. A question of the
   * harness is answered when a person has answered it, wherever; `signal` aborts when the hook's process is gone.
   */
  hook(
    event: string,
    payload: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown>>;
  /** The keys that {@link interrupt} would press now. */
  interruptKeys(): readonly string[];
  /** Ends its turn as its harness has it and waits until the turn is seen to end, a few seconds at most. Does nothing without a turn. */
  interrupt(why: string): Promise<Interrupted>;
  explain(): Explained;
  /** While it is `blocked`: its harness's report on the limit that stops it. Absent without such a report. */
  limit?(): UsageLimit | null;
  /** The limit has ended, or a person lets the bot try again: it is no longer blocked. */
  unblock?(): void;
  close(): void;
}

/** What exec mode may do: look and plan; act where no permission is needed; also change files. */
export type ExecMode = 'plan' | 'ask' | 'accept_edits';

export interface ExecOptions {
  readonly mode: ExecMode;
  /** The session to continue. */
  readonly resume?: string | null;
  /** Then its whole process group is ended; default 10 minutes. */
  readonly timeoutMs?: number;
  /** Aborted: its whole process group is ended. */
  readonly signal?: AbortSignal;
}

export interface ExecResult {
  readonly state: 'done' | 'failed' | 'timeout' | 'stopped';
  /** The final answer. */
  readonly text: string;
  readonly sessionId: string | null;
  /** How many tool calls were refused: `done` with refusals may mean that nothing was done. */
  readonly refused: number;
  /** As it counts itself: inputTokens, outputTokens, cents; null where it does not. */
  readonly usage: Readonly<Record<string, number>> | null;
  readonly detail: string;
}

export interface Harnesses {
  /** The harnesses installed on this computer (looked up at most every 30 s). */
  found(): Promise<readonly FoundHarness[]>;
  /**
   * Prepares a start of the bot. Writes only into `paths.folder`. `usage`: harness not installed or command missing, with the install command as the
   * action.
   */
  prepare(bot: BotSpec, paths: BotPaths): Promise<Launch>;
  /** Whether {@link Harnesses.exec} can run it, held to a mode. */
  hasExec(harness: HarnessName): boolean;
  /** For a bot that runs elsewhere: the keys that would end its turn. */
  interruptKeys(harness: HarnessName): InterruptKeys;
  /** One text to a new process without a pane, to its end. `usage` where the harness has no such mode. */
  exec(bot: BotSpec, paths: BotPaths, text: string, options: ExecOptions): Promise<ExecResult>;
  /** Takes up a bot in a live pane: after `prepare` + create, or after a runtime restart. */
  attach(bot: BotSpec, paneId: string): HarnessBot;
  /** Usage since `cursor` from its harness's own transcripts; null where it keeps none that can be read. */
  usage(
    bot: Pick<BotSpec, 'agentId' | 'harness'>,
    cursor: UsageCursor | null,
    settled: boolean,
  ): Promise<UsagePage | null>;
}

/** A harness's own permission question, as it is put to a person. `trust_folder`: whether its program may work in its folder at all. */
export interface PermissionAsk {
  readonly source: 'harness';
  readonly kind: 'permission' | 'trust_folder';
  readonly title: string;
  /** The exact command or change, whole. */
  readonly summary: string;
  /** Beside the summary, and part of what is approved. */
  readonly details?: readonly { readonly name: string; readonly text: string }[];
  /** Why, in the program's own words. */
  readonly reason?: string;
  readonly risk: 'low' | 'medium' | 'high';
  readonly agentId: string;
  readonly actionHash: string;
  /** Where one rule of the policy can say exactly this. */
  readonly action?: PermissionAction;
  readonly expiresInMs: number;
  /** A repeat of the same question (a second hook, a restarted runtime) joins the first. */
  readonly dedupeKey: string;
}

export type PermissionAnswer =
  | {
      readonly kind: 'approve' | 'reject';
      readonly note: string | null;
      readonly by: { readonly user: string; readonly surface: string };
    }
  | { readonly kind: 'expired' }
  | { readonly kind: 'withdrawn'; readonly surface: string };

/** The part of approvals that harnesses need. */
export interface PermissionApprovals {
  ask(
    ask: PermissionAsk,
    options?: { readonly signal?: AbortSignal },
  ): Promise<{ readonly id: string; readonly answer: Promise<PermissionAnswer> }>;
  /** The question is gone: `pane` where it was answered there, `engine` where nothing can take an answer any more. */
  withdraw(id: string, surface: string): Promise<void>;
}

interface PermissionAction {
  readonly tool: string;
  readonly member?: string;
  readonly bot: string;
  readonly path?: string;
  readonly host?: string;
  readonly command?: string;
}

/** The part of the one policy that harnesses need: rules of the person answer before a person is asked. */
export interface PermissionPolicy {
  decide(action: PermissionAction, mode: null): { readonly verdict: 'allow' | 'ask' | 'deny'; readonly rule: string };
}

/** Where a harness keeps the few facts that a restarted runtime needs (last hook, session id, transcript path). */
export interface BotMemory {
  recall(agentId: string): Readonly<Record<string, unknown>> | null;
  remember(agentId: string, facts: Readonly<Record<string, unknown>>): void;
}
