/**
 * What a tool is, and who calls it. A tool says what it would do before it does it: policy and person decide about exactly that.
 * Shaped so that the tool server of MCP lists and calls the same tools. Must not know any tool.
 */
import type { z } from 'zod';
import type { ApprovalRisk } from '../../contracts/approvals/approval.ts';
import type { PolicyMode } from '../policy/policy.ts';

/** Whoever calls: a bot, with the folder it may work in. */
export interface ToolCaller {
  readonly agentId: string;
  readonly address: string;
  readonly mode: PolicyMode;
  /** The allowed root. */
  readonly root: string;
  /** Paths in rules are relative to it. */
  readonly workspace: string;
  /** Variables that its commands see beside the plain ones. No secrets of Gantry's. */
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly runId?: string | undefined;
  readonly dagId?: string | undefined;
  readonly nodeId?: string | undefined;
}

/** What a call would do. */
export interface ToolPlan<Out> {
  /** For the policy: absolute path, command. */
  readonly path?: string;
  readonly command?: string;
  /** With the variables that the caller sets before it, where there are any: this must be allowed as well. */
  readonly commandAsRun?: string;
  /** Something in it is never covered by a mode that accepts edits. */
  readonly guarded?: boolean;
  readonly risk: ApprovalRisk;
  /** What the person is asked, in a few words. */
  readonly title: string;
  /** The exact command or diff, whole. */
  readonly summary: string;
  /** Does exactly what the plan says, or fails. */
  run(signal: AbortSignal): Promise<Out>;
}

export interface Tool<In extends z.ZodObject = z.ZodObject, Out extends z.ZodType = z.ZodType> {
  /** `file.read` */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: In;
  readonly output: Out;
  /** Changes nothing anywhere. */
  readonly readOnly: boolean;
  /** Says something to Gantry about the caller's own work, whose verbs have their own rules: no policy is asked. */
  readonly report?: boolean;
  /** Only for callers that work on a node of a run. */
  readonly forNodes?: boolean;
  plan(input: z.infer<In>, caller: ToolCaller): Promise<ToolPlan<z.infer<Out>>> | ToolPlan<z.infer<Out>>;
  /** The result as a model reads it; default: JSON. */
  say?(output: z.infer<Out>): string;
}

/** Keeps the types of one tool together; in a list they are all alike. */
export function defineTool<In extends z.ZodObject, Out extends z.ZodType>(tool: Tool<In, Out>): Tool {
  return tool as unknown as Tool;
}
