/**
 * What the conformance kit plays: one bot of one adapter, with whatever it drives behind it. The rows (`rows.ts`) know only this. Implemented for
 * agent programs in panes, real or stand-ins (`pane-subject.ts`), and for hosted bots (`hosted-subject.ts`).
 */
import type { AgentState } from '../../../src/contracts/factory/agent.ts';
import type { DeliveryEvidence } from '../../../src/contracts/factory/delivery.ts';

/** How a message came out; `held`: it was not given to the program at all. */
export interface Sent {
  readonly state: 'verified' | 'unconfirmed' | 'best_effort' | 'failed' | 'held';
  readonly evidence?: DeliveryEvidence | null;
}

/** Tokens of one answer of a model. */
export interface Counted {
  readonly id: string;
  readonly input: number;
  readonly output: number;
}

export interface Subject {
  /** As figures and the docs name it. */
  readonly name: string;
  /** Rows that do not apply to it, each with the reason. */
  readonly exempt: Readonly<Record<string, string>>;
  /** Who is promised to see that a message arrived. */
  readonly witness: DeliveryEvidence;
  /** Starts it, in a new conversation or the last one, until it can take a message. */
  begin(options?: { readonly resume: boolean }): Promise<void>;
  end(): Promise<void>;
  /** kill -9, and until that was noticed. */
  kill(): Promise<void>;
  /** Until it can take a message. */
  quiet(): Promise<void>;
  /** Once what was sent before it has been taken; resolves when it is known how it came out. */
  send(words: string): Promise<Sent>;
  /** Only if it can be taken now. */
  offer(words: string): Promise<Sent>;
  state(): AgentState | Promise<AgentState>;
  /** The states that it has shown since it began, in order. */
  states(): readonly AgentState[];
  /** Until the turn of the last message is well under way. */
  atWork(): Promise<void>;
  /** Whether its turn was seen to end. */
  interrupt(): Promise<boolean>;
  /** Says yes to its question, where it is answered. */
  answer(): Promise<void>;
  /** How often the command that it asked about has run. */
  ran(): number;
  /** Prompts that it has taken, whole, in order; also of its earlier starts. */
  prompts(): readonly string[];
  /** Whether two prompts were said in one conversation. */
  together(first: string, second: string): boolean;
  usage(): Promise<readonly Counted[]>;
  /** A person's own half-typed words. */
  readonly draft?: {
    /** Until they are seen. */
    type(words: string): Promise<void>;
    stands(words: string): boolean;
    clear(): Promise<void>;
  };
}

/** Waits for a state, never for a time; says what it waited for, and `seen`. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  { ms = 30_000, seen = () => '' }: { readonly ms?: number; readonly seen?: () => string } = {},
): Promise<void> {
  const end = performance.now() + ms;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`${what}: not within ${ms / 1000} s. ${seen()}`.trim());
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
