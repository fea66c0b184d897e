/**
 * Where bots live: what whoever works with one has to know of its place, and how one that has no pane of this computer is put into the
 * registry. Each place is described by the room that knows it; who composes the rooms gives them to the registry.
 */
import type { AgentBinding, HarnessName } from '../../../contracts/factory/agent.ts';
import type { DeliveryVia } from '../../../contracts/factory/delivery.ts';
import type { BotState, HarnessBot } from '../../harness/harness.ts';
import type { Shown } from '../model.ts';

export interface Placement {
  readonly name: 'terminal' | 'hosted' | 'remote' | 'vendor';
  /** How a message goes to its bots: at once, and while it waits. */
  readonly via: { readonly atOnce: DeliveryVia; readonly waiting: DeliveryVia };
  /** Its bots are programs in terminals: what ends a turn or answers a question is a key. */
  readonly inTerminal: boolean;
  /** The terminals are panes of this computer: while those cannot be read, nobody can say what a bot does. */
  readonly inPaneHere: boolean;
  /** This computer sets up where its bots work, and tells their person what they need. Else the one where they run does. */
  readonly keptHere: boolean;
  /** A message from a thread names the verb that answers it. */
  readonly answersByVerb: boolean;
  /** What its bots show, whatever is known of them; null: what they say. */
  readonly shows: Pick<Shown, 'state' | 'reason'> | null;
  /** Why nobody can run one by itself and hold it to a mode, in a sentence; null: nothing of the place is in the way. */
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
  /** Ends its turn when it is on this step. True: it has ended; false: whether it heard of it is not known here. */
  cancelWork(why: string, node: { readonly dagId: string; readonly nodeId: string }): Promise<boolean>;
  /** Ends it, and its place. False: it is let go of, and may run on where nobody here reaches it. */
  stop(): Promise<boolean>;
}

/** Its place in the registry, for whoever put it there. */
export interface Seat {
  /** Nothing else took the place, and it has not ended. */
  isTaken(): boolean;
  show(state: BotState): void;
  /** Tells that it may take a message now. */
  openGate(): void;
  /** The bot is live no more. */
  end(reason: string): void;
}
