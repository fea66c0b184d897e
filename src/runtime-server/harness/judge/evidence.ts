/**
 * The judge's input: typed evidence with a claim about the agent's state. Owns only the types; must not know where evidence comes from or how a
 * state is used.
 */
import type { AgentState } from '../../../contracts/factory/agent.ts';

const evidenceSources = ['hook', 'osc', 'title', 'screen', 'process', 'person'] as const;
type EvidenceSource = (typeof evidenceSources)[number];

export interface Claim {
  readonly state: AgentState;
  /** In words, shown to people. */
  readonly reason?: string;
  /** A first-run screen (style, trust, sign-in, no network): messages are held for it. */
  readonly setup?: boolean;
}

export interface Evidence {
  readonly source: EvidenceSource;
  /** Id of the rule that read it. */
  readonly rule: string;
  /** null: seen and understood, but it does not affect the state. */
  readonly claim: Claim | null;
  /** The few words that were seen; shown by `explain`. */
  readonly seen: string;
  /** States that this evidence may end. Absent: any (the harness's authority and the process itself). */
  readonly from?: readonly AgentState[];
}
