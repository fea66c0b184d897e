/**
 * The interface of a place where bots live: what its users must know about it, and how a bot without a pane of this computer enters the registry.
 * Each place is implemented by its own module; the composer gives them to the registry.
 */
import type { AgentBinding, HarnessName } from '../../../contracts/factory/agent.ts';
import type { DeliveryVia } from '../../../contracts/factory/delivery.ts';
import type { BotState, HarnessBot } from '../../harness/harness.ts';
import type { Shown } from '../model.ts';

export interface Placement {
  readonly name: 'terminal' | 'hosted' | 'remote' | 'vendor';
  /** How a message goes to its bots: at once, and while it waits. */
  readonly via: { readonly atOnce: DeliveryVia; readonly waiting: DeliveryVia };
  /** Its bots are programs in terminals: keys end a turn or answer a question. */
  readonly inTerminal: boolean;
  /** The terminals are panes of this computer: while those are unreadable, a bot's state is unknown. */
  readonly inPaneHere: boolean;
  /** This computer sets up the bots' folders and notifies their person. Otherwise the computer that runs them does. */
  readonly keptHere: boolean;
  /** A message from a thread names the verb that answers it. */
  readonly answersByVerb: boolean;
  /** Overrides the state of its bots; null: they show their own. */
  readonly shows: Pick<Shown, 'state' | 'reason'> | null;
  /** Why none of its bots can run separately and be held to a mode, in a sentence; null: the place allows it. */
  readonly unenforceable: string | null;
}

/** The places that a team file names. */
export type Placements = Readonly<Record<AgentBinding['type'], Placement>>;

/** Where a bot of another computer runs. */
export interface RemoteRef {
  readonly computerId: string;
  readonly computerName: string;
  /** Its pane there. */
  readonly session: string;
  readonly harness: HarnessName | null;
}

export interface Placed {
  readonly placement: Placement;
  readonly bot: HarnessBot;
  /** Where it runs now; null: on this computer. */
  ref(): RemoteRef | null;
  /** Why it cannot be reached; null while it can. */
  away(): string | null;
  /** Ends its turn when it is on this step. True: it has ended; false: whether it was reached is unknown here. */
  cancelWork(why: string, node: { readonly dagId: string; readonly nodeId: string }): Promise<boolean>;
  /** Ends it, and its place. False: it is released, and may run on where this computer cannot reach it. */
  stop(): Promise<boolean>;
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
