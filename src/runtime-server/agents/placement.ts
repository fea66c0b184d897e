/**
 * The interface of a place where bots live: what a place declares about its bots, what each of them does while it is live, and how it enters the
 * registry. Each place has a folder of its own with `placement.ts` and, unless its bots live in somebody else's app, `bot.ts`; the composer gives them
 * to the registry. Code that uses bots asks for what is declared here, never which place it is.
 */
import { type AgentBinding, type HarnessName, type PaneInput, runsInPane } from '../../contracts/factory/agent.ts';
import type { DeliveryVia } from '../../contracts/factory/delivery.ts';
import type { Execution, ExecutionEnd } from '../connectors/ports.ts';
import type { BotActivity } from '../harness/activity.ts';
import type { BotState, DeliverResult, Explained, Gate, Interrupted, Outgoing } from '../harness/harness.ts';
import type { UsageLimit } from '../harness/usage.ts';
import type { Shown } from './model.ts';

/**
 * What is the same for all bots of a place. Each of them, while it is live, is a {@link PlacedBot} that names its place.
 *
 * @example
 * ```ts
 * import type { Placement } from './placement.ts';
 *
 * // Bots in a service that keeps their conversation and asks its own people before they act.
 * export const servicePlacement: Placement = {
 *   via: { atOnce: 'peer', waiting: 'peer' },
 *   inTerminal: false,
 *   inPaneHere: false,
 *   isLocal: false,
 *   followsTeam: false,
 *   keepsConversation: true,
 *   answersByVerb: false,
 *   takesTickets: false,
 *   shows: null,
 *   holdsMode: false,
 *   unenforceable: 'The service asks its own people.',
 * };
 * ```
 */
export interface Placement {
  /** How a message goes to its bots: at once, and while it waits. */
  readonly via: { readonly atOnce: DeliveryVia; readonly waiting: DeliveryVia };
  /** Its bots are programs in terminals: keys end a turn or answer a question. */
  readonly inTerminal: boolean;
  /** The terminals are panes of this computer: while those are unreadable, a bot's state is unknown. */
  readonly inPaneHere: boolean;
  /** This computer sets up the bots' folders and notifies their person. Otherwise the computer that runs them does. */
  readonly isLocal: boolean;
  /** Its bots live while their team is up: no program has to be started for them. */
  readonly followsTeam: boolean;
  /** A conversation that Gantry keeps is all there is to read of its bots: they never had a screen. */
  readonly keepsConversation: boolean;
  /** A message from a thread names the verb that answers it. */
  readonly answersByVerb: boolean;
  /** A message to its bots becomes a ticket in a thread, and the outside app that takes it speaks as the bot. */
  readonly takesTickets: boolean;
  /** Overrides the state of its bots; null: they show their own. */
  readonly shows: Pick<Shown, 'state' | 'reason'> | null;
  /** Gantry holds its bots to the permissions in their team file. Otherwise each asks its person before it acts. */
  readonly holdsMode: boolean;
  /** Why none of its bots can run separately and be held to a mode, in a sentence; null: the place allows it. */
  readonly unenforceable: string | null;
}

/** The places that a team file names. */
export type Placements = Readonly<Record<AgentBinding['type'] | 'acp', Placement>>;

/** A program in a terminal, or an agent that is spoken with over a protocol, have the same binding. */
export function placeNamed({ type, harness }: Pick<AgentBinding, 'type' | 'harness'>): keyof Placements {
  return type === 'terminal' && harness !== undefined && !runsInPane(harness) ? 'acp' : type;
}

/** Where a bot of another computer runs. */
export interface RemoteRef {
  readonly computerId: string;
  readonly computerName: string;
  /** Its pane there. */
  readonly session: string;
  readonly harness: HarnessName | null;
}

/** One live bot, wherever it lives. */
export interface PlacedBot {
  readonly placement: Placement;
  /** Where it runs now; null: on this computer. */
  ref(): RemoteRef | null;
  /** Why it cannot be reached; null while it can. */
  away(): string | null;
  state(): BotState;
  /** What it does; absent where this computer cannot see it. */
  readonly activity?: BotActivity;
  /** Files to which its program writes the conversation; absent without such files here. */
  transcripts?(): readonly string[];
  onState(listener: (state: BotState) => void): () => void;
  /** Whether it can take a message now. */
  gate(): Gate;
  /** Called when the gate may have opened; edges can be missed, so the caller also asks by timer. */
  onGate(listener: () => void): () => void;
  /** One at a time per bot. Hands nothing over unless {@link gate} is open. ≤ 10 s. */
  deliver(message: Outgoing): Promise<DeliverResult>;
  /**
   * Continues a message whose delivery was cut off when the runtime ended. Null where it is unknown how far it came: then it must not be sent
   * again. As {@link deliver} otherwise.
   */
  resume(message: Outgoing): Promise<DeliverResult | null>;
  /** A person's keystrokes: text first, then keys. `not_found` where there is no terminal. */
  input(input: PaneInput): Promise<void>;
  /** A hook of its program, as `HarnessBot.hook`; absent where no program of this computer reports. */
  hook?(
    event: string,
    payload: Readonly<Record<string, unknown>>,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown>>;
  /** The keys that {@link interrupt} would press now. */
  interruptKeys(): readonly string[];
  /** Ends its turn and waits until that is seen to end, a few seconds at most. Does nothing without a turn. */
  interrupt(why: string): Promise<Interrupted>;
  /** Ends its turn when it is on this step. True: it has ended; false: a message must tell the bot. */
  cancelWork(why: string, node: { readonly dagId: string; readonly nodeId: string }): Promise<boolean>;
  explain(): Explained;
  /** Runs it without a person watching, held to a mode; absent where the place cannot. */
  readonly alone?: AloneBot;
  /** While it is `blocked`: its program's report on the limit that stops it. Absent without such a report. */
  limit?(): UsageLimit | null;
  /** Why its model is not asked now, although a message could be taken; null: no hold. Absent where Gantry asks no model for it. */
  held?(): ModelHold | null;
  /** The limit has ended, or a person lets the bot try again: it is no longer blocked. */
  unblock?(): void;
  /** Ends it, and its place. False: it is released, and may run on where this computer cannot reach it. */
  stop(): Promise<boolean>;
  /** Lets go of it; it may run on. */
  close(): void;
}

export interface AloneBot {
  /** Why it cannot begin now; null: it can. {@link PlacedBot.onGate} reports when that may have changed. */
  hindrance(): Promise<string | null>;
  /** Held to the stricter mode; messages wait until it ends. Begins nothing while the bot is busy. Never throws. */
  run(order: Omit<Execution, 'botId' | 'jobId'>): Promise<Omit<ExecutionEnd, 'sessionId'>>;
}

export interface ModelHold {
  readonly why: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
  /** When it retries without a person; null: once its cause is gone. */
  readonly until: number | null;
}

/** Its place in the registry, for the module that put it there. */
export interface Seat {
  /** Nothing else took the place, and it has not ended. */
  isTaken(): boolean;
  show(state: BotState): void;
  /** Tells that it may take a message now. */
  openGate(): void;
  /** The bot is live no more. */
  end(reason: string): void;
}
