/**
 * How this computer's parts ask a person: workflows, gates, tools, harnesses. Each part declares the methods of {@link Approvals} that it needs
 * and gets them from the host. Must not know who answers or where.
 *
 * Guarantees for an asker: an answer reaches it only while its hold lives; at most one asker acts on it, once. An asker that left (a restart, an
 * aborted `signal`) can pick up a later answer by asking again with the same `dedupeKey`, once, within ten minutes of the answer.
 */
import type { Approval, ApprovalDetail, ApprovalRisk, ApprovalSource } from '../../contracts/approvals/approval.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { PolicyAction } from '../policy/index.ts';

/** For callers that ask again while they want an answer. */
export const comesBackWithinMs = 10 * 60_000;

export interface ApprovalAsk {
  readonly source: ApprovalSource;
  /** `tool_call`, `permission`, `wait_gate`, … */
  readonly kind: string;
  readonly title: string;
  /** The exact command or diff, whole. */
  readonly summary: string;
  /** Part of the approved action, apart from the summary. */
  readonly details?: readonly ApprovalDetail[];
  /** Why, in the asker's own words: shown beside the summary, never in it. */
  readonly reason?: string;
  readonly risk: ApprovalRisk;
  readonly agentId: string | null;
  /** The asker where no bot asks: a key, or a program of the person. Limits how many of its questions may wait. */
  readonly client?: string;
  readonly dagId?: string;
  readonly nodeId?: string;
  readonly runId?: string;
  /** The answer is valid only for this action: see `actionHash()`. */
  readonly actionHash: string;
  /** What the policy left to a person, where one rule can say exactly this: they may always allow it. */
  readonly action?: PolicyAction;
  readonly expiresInMs: number;
  /**
   * A live hold with the same key and action is joined, not doubled. An ask with a key survives a restart of Gantry when its asker asks again within
   * a minute; one without a key is withdrawn.
   */
  readonly dedupeKey?: string;
  /**
   * With a key, for an asker that comes back: it waits this long, and the question is withdrawn when it does not ask again for `withdrawnAfterMs`
   * after that. A person sees that end, not `expiresInMs`. Default: it stays until it expires.
   */
  readonly comesBack?: { readonly waitsMs: number; readonly withdrawnAfterMs: number };
}

export interface ApprovalVerdict {
  readonly kind: 'approve' | 'reject';
  readonly note: string | null;
  readonly by: { readonly user: string; readonly surface: string };
  /** RFC 3339: when the person answered. */
  readonly at: string;
}

export type ApprovalAnswer =
  | ApprovalVerdict
  | { readonly kind: 'expired' }
  | { readonly kind: 'withdrawn'; readonly surface: string };

export interface AskOptions {
  /** Aborted when the asker leaves: the hold stays, and its answer waits for the next ask with the same key. */
  readonly signal?: AbortSignal;
  /**
   * Runs in the transaction that takes the answer: its writes exist exactly when the answer counts as applied. For effects outside the database wait
   * for `answer` instead: they happen at most once.
   */
  readonly apply?: (tx: Tx, verdict: ApprovalVerdict) => void;
}

export interface Asked {
  readonly id: string;
  /** Never rejects. Stays open after `signal` was aborted. */
  readonly answer: Promise<ApprovalAnswer>;
}

/** One approval as this computer knows it. `waiting`: its question has not reached the cloud yet. */
interface HeldApproval {
  readonly approval: Approval;
  readonly actionHash: string;
  readonly action: PolicyAction | null;
  readonly waiting: boolean;
}

export interface Approvals {
  ask(ask: ApprovalAsk, options?: AskOptions): Promise<Asked>;
  /** Ends a hold without an answer: `surface` says where the person answered instead (`pane`), or who withdrew (`engine`). */
  withdraw(id: string, surface: string): Promise<void>;
  /** A live or recently ended hold, for the node page; null when it is not known here. */
  get(id: string): Promise<HeldApproval | null>;
  /** What each live hold asks for, oldest first; null: nothing that the policy decides. */
  asked(): Promise<readonly { readonly id: string; readonly action: PolicyAction | null }[]>;
  /** The live hold of a node, or the newest ended one. */
  ofNode(dagId: string, nodeId: string): Promise<Approval | null>;
  /** All of a run that are still known, oldest first. */
  ofRun(dagId: string): Promise<Approval[]>;
}
