/**
 * The interface of a computer's executor to its callers, the toolset route and runs. Each of these steps can end the call, in this order: contract →
 * lease → policy → approval → audit row, durable → action. Must not know HTTP, runs or models.
 */
import type { RunOptions } from '../../contracts/computer-use/run.ts';
import type { Control, ToolsetApproval, ToolsetCall, ToolsetResult } from '../../contracts/computer-use/toolset.ts';
import type { Place } from '../../programs/executor/protocol.ts';

export interface Holder {
  readonly kind: 'person' | 'run' | 'key';
  readonly id: string;
}

export interface ToolsetCaller {
  readonly userId: string;
  /** `browser`, `cli`, `key`, … */
  readonly surface: string;
  readonly holder: Holder;
  /** In a run that a person started, acting needs no question. */
  readonly startedByPerson: boolean;
  /** A model chose the action: a new origin and a credential field ask. */
  readonly byModel: boolean;
  /** For a run: when to ask. Default `on_risk`. */
  readonly approvals?: RunOptions['approvals'];
  /** This call asks a person whatever the policy allows: why, for the words of the question. */
  readonly confirm?: string;
  /** The run's task, for the text of a question. */
  readonly task?: string;
}

/** 409 `approval_required` is an answer here: the caller decides whether to wait. */
export type ToolsetOutcome =
  | { readonly kind: 'done'; readonly auditId: string; readonly result: ToolsetResult; readonly executed: boolean }
  | {
      readonly kind: 'approval_required';
      readonly approval: ToolsetApproval;
      readonly words: string;
      readonly result: ToolsetResult;
    }
  | { readonly kind: 'denied'; readonly rule: string; readonly message: string };

export type ApprovalState = 'pending' | 'approved' | 'denied' | 'used' | 'expired';

export interface ToolsetGate {
  /**
   * Throws the contract's errors: 400 `invalid_toolset_call`, 423 `take_control_first`, 403 `approval_denied`, 503 `display_unavailable` or
   * `browser_crashed`. Never acts twice for one (turn_id, call_index).
   */
  call(call: ToolsetCall, caller: ToolsetCaller, signal: AbortSignal): Promise<ToolsetOutcome>;
  /** Told of every answer to a question of this gate, also of those that expired. */
  onApproval(listener: (id: string, state: Exclude<ApprovalState, 'pending'>, by: string | null) => void): () => void;
  approvalState(id: string): ApprovalState | null;
  /** No caller waits for its answer any more. */
  withdrawApproval(id: string): Promise<void>;
  readonly control: {
    now(): Control;
    /** Throws 423 where the holder outranks. A run learns through {@link ToolsetGate.onControl} that it lost control. */
    take(holder: Holder): Control;
    renew(holder: Holder): Control;
    release(holder: Holder): Control;
  };
  /** `elsewhere`: somebody used mouse or keyboard outside of Gantry. */
  onControl(
    listener: (change: {
      readonly control: Control;
      readonly why: 'taken' | 'released' | 'expired' | 'elsewhere';
    }) => void,
  ): () => void;
  readonly sessions: {
    open(session: string, options: { readonly headless: boolean; readonly trace: boolean }): Promise<void>;
    close(session: string, wipe: boolean): Promise<void>;
    page(session: string): { readonly url: string; readonly title: string } | null;
  };
  /** Video of a place; `stop` returns the file, or null where nothing could be recorded. */
  record(place: Place, file: string): Promise<{ stop(): Promise<string | null> }>;
  /** `secret`: something was typed into a credential field since its browser came up, and a trace would hold it. */
  saveTrace(session: string, file: string): Promise<{ readonly file: string | null; readonly secret: boolean }>;
  onDownload(
    listener: (download: { readonly session: string; readonly path: string; readonly size: number }) => void,
  ): () => void;
  /** Stops the action under way there at once. */
  stop(place: Place): Promise<void>;
}
