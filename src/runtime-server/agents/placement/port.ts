/**
 * A live bot that has no pane of this computer: it runs in Gantry's own loop, or on another computer. The part that knows how puts it
 * into the registry, which knows it by this alone.
 */
import type { HarnessName } from '../../../contracts/factory/agent.ts';
import type { BotState, HarnessBot } from '../../harness/harness.ts';

/** Where a bot of another computer runs. */
export interface RemoteRef {
  readonly computerId: string;
  readonly computerName: string;
  /** Its pane there. */
  readonly session: string;
  readonly harness: HarnessName | null;
}

export interface Placed {
  readonly kind: 'hosted' | 'remote';
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
