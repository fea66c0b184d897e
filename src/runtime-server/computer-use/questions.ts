/**
 * How the gate asks a person and learns the answer: one port, two adapters. On a person's computer the question is an approval (approval-questions.ts),
 * in a hosted computer its API user answers (own-questions.ts). Must not know what a call does.
 */
import type { ApprovalRisk } from '../../contracts/approvals/approval.ts';
import type { Tx } from '../../kit/store/store.ts';

export interface Question {
  readonly title: string;
  /** The exact action, complete, without text that is typed into credential fields. */
  readonly words: string;
  readonly risk: ApprovalRisk;
  readonly runId: string | null;
  /** Which client of the person's asks. */
  readonly client: string;
  readonly actionHash: string;
  /** Equal for the same action of the same caller: a waiting question is joined, not doubled. */
  readonly key: string;
  readonly expiresInMs: number;
}

export interface Answer {
  readonly state: 'approved' | 'denied' | 'expired';
  /** The person who answered; null where nobody did. */
  readonly by: string | null;
}

interface AskedQuestion {
  /** `apr_…` */
  readonly id: string;
  /** Resolves once the answer is durable. Never rejects. */
  readonly answer: Promise<Answer>;
}

export interface Questions {
  /** `apply` runs in the transaction that takes the answer of a person, at most once; expiry has none. */
  ask(question: Question, apply: (tx: Tx, answer: Answer) => void): Promise<AskedQuestion>;
  /** No caller waits for it any more. */
  withdraw(id: string): Promise<void>;
}
