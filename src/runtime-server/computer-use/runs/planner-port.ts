/**
 * The interface between runs and the planner of `intent` and `assist`: one run from its task to its end. The planner sees what it may do and the
 * results; it never sees stores, HTTP or the gate. Runs count, pause, ask people, store conversation and cost, and enforce limits.
 */
import type { Toolset } from '../../../contracts/computer-use/members.ts';
import type { TargetScope } from '../../../contracts/computer-use/run.ts';
import type { ToolsetCall, ToolsetContent, ToolsetResult } from '../../../contracts/computer-use/toolset.ts';
import type { Usage, Wire } from '../../models/model.ts';

/** One action that a model chose, in the coordinates that it was shown. */
export interface PlannedCall {
  readonly toolset: Toolset;
  readonly member: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly modelFrame?: ToolsetCall['model_frame'];
  readonly coordinateSpace?: ToolsetCall['coordinate_space'];
  /** Asks a person whatever the policy decides: the vendor wants the action confirmed. */
  readonly confirm?: string;
}

export type Picture = Extract<ToolsetContent, { type: 'image' }>;

export type CallAnswer =
  /** Also failed actions (`is_error`), contract errors, and stopped ones: the model sees the result and continues. */
  | {
      readonly kind: 'done';
      readonly result: ToolsetResult;
      /** How it looked after an acting call; null after one that only looked, after an error, or where there is no picture. */
      readonly after: Picture | null;
    }
  /** By the policy or by a person; the model sees it and may try another way. */
  | { readonly kind: 'denied'; readonly message: string };

export interface PlannerOrder {
  readonly runId: string;
  readonly mode: 'intent' | 'assist';
  /** As {@link Planner.find} answered it. */
  readonly model: string;
  readonly task: string;
  readonly context: string | null;
  /** `auto`: both toolsets. */
  readonly targetScope: TargetScope;
  /** Aborted when the run is cancelled, expires or the program stops. */
  readonly signal: AbortSignal;
}

export interface ModelAnswered {
  readonly wire: Wire;
  readonly model: string;
  readonly text: string;
  /** How many actions it wants. */
  readonly calls: number;
  readonly usage: Usage;
}

export interface PlannerHooks {
  /**
   * Before each request to the model: waits while the run is paused. False: no further step is allowed (steps or cost), and the
   * planner ends with `limit`. Rejects with the signal's reason.
   */
  step(): Promise<boolean>;
  /** Each whole answer, before its calls are carried out: kept as an event, and its cost recorded. */
  answered(answer: ModelAnswered): Promise<void>;
  /**
   * Carries one call out: waits while the run is paused and while a person is asked. Calls are made one after the other. Rejects when
   * the run is ending, or when display or browser are gone: whatever it rejects with is passed on.
   */
  call(call: PlannedCall): Promise<CallAnswer>;
}

export interface PlannerEnd {
  /** done: the model ended it · refused: it declined · limit: `step` returned so · fault: no model is available. */
  readonly how: 'done' | 'refused' | 'limit' | 'fault';
  /** The last words of the model; empty: none. */
  readonly text: string;
  /** For `fault`: its code and message, for example `model_unreachable`. */
  readonly error: { readonly code: string; readonly message: string } | null;
}

type PlannerModel =
  | { readonly model: string /** Its price is known. */; readonly priced: boolean }
  /** The missing setting, by name. */
  | { readonly problem: { readonly fact: string; readonly action: string } };

export interface Planner {
  /** Asked before anything starts. Null: the model that the settings name for computer use. */
  find(model: string | null): PlannerModel;
  /** Rejects only with the error of a hook. */
  run(order: PlannerOrder, hooks: PlannerHooks): Promise<PlannerEnd>;
}
