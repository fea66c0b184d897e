/**
 * Types of a tool and its caller. A tool plans its effect before it acts: policy and person decide about exactly that. The same for MCP, REST and
 * bots in Gantry's own loop. Must not know any tool.
 */
import type { z } from 'zod';
import type { ApprovalDetail, ApprovalRisk } from '../../contracts/approvals/approval.ts';
import type { OnProgress } from '../../contracts/common/work-progress.ts';
import type { ContentBlock, ToolAnnotations } from '../../contracts/tool-server/tools.ts';
import type { ApprovalAnswer } from '../approvals/approvals.ts';
import type { PolicyMode, PolicyVerdict } from '../policy/policy.ts';
import type { ForeignPort } from './foreign-tools.ts';

/** The caller: a bot, or a program of the person's, with the folder it may work in. */
export interface ToolCaller {
  /** Null: a program of the person's. */
  readonly bot: { readonly agentId: string; readonly address: string } | null;
  /** Which client: a person's permission for one does not extend to another. */
  readonly client: string;
  /** For the ledger: user or agent, and the surface. */
  readonly actor: string;
  readonly surface: string;
  /** Null for a person: they may act, and are asked before an irreversible action. */
  readonly mode: PolicyMode | null;
  /** The allowed root. */
  readonly root: string;
  /** A folder in the repository that its commands may use. */
  readonly checkout: string;
  /** Paths in rules are relative to it. */
  readonly workspace: string;
  /** Variables that its commands see beside the plain ones. No secrets of Gantry's. */
  readonly env: Readonly<Record<string, string>>;
  /** Names in `env` whose values come from the vault: commands see them, no person or model does. */
  readonly secrets?: ReadonlySet<string> | undefined;
  readonly signal: AbortSignal;
  /**
   * How long it waits for a person, milliseconds; then the question stays, and the same call finds its answer. Null: until there is
   * one, and a call that is stopped takes its question back.
   */
  readonly patienceMs: number | null;
  /** Its caller asks how far the call is. */
  readonly onProgress?: OnProgress | undefined;
  readonly runId?: string | undefined;
  readonly dagId?: string | undefined;
  readonly nodeId?: string | undefined;
}

/** The effect that a call would have. */
export interface ToolPlan<Out> {
  /** For the policy: absolute path, command, host (with its port unless that is the scheme's own). */
  readonly path?: string;
  /** Absolute paths that go with `path` and decide what may run: each must be allowed as well. */
  readonly also?: readonly string[];
  readonly command?: string;
  readonly host?: string;
  /** The host is no public address: only a rule that names it opens it. */
  readonly privateHost?: boolean;
  /** With the variables that the caller sets before it, where there are any: this must be allowed as well. */
  readonly commandAsRun?: string;
  /** Something in it is never covered by a mode that accepts edits. */
  readonly guarded?: boolean;
  readonly risk: ApprovalRisk;
  /** The person's question, in a few words. */
  readonly title: string;
  /** The exact command or diff, whole. */
  readonly summary: string;
  /** Part of the approved action, apart from the summary. */
  readonly details?: readonly ApprovalDetail[];
  /** Why, in the caller's own words: shown beside the summary, no part of what is approved. */
  readonly reason?: string;
  /** `summary` is a diff. */
  readonly isDiff?: boolean;
  /**
   * Does exactly what was planned, or fails. `may`: the policy's verdict on this same call at another host. `answer`: the person's, where one was asked.
   * `port`: for a tool of an attached server.
   */
  run(
    signal: AbortSignal,
    may: (host: OtherHost) => PolicyVerdict,
    answer?: ApprovalAnswer | null,
    port?: ForeignPort,
  ): Promise<Out>;
}

export type OtherHost = Pick<ToolPlan<unknown>, 'host' | 'privateHost'>;

export interface Tool<In extends z.ZodObject = z.ZodObject, Out extends z.ZodType = z.ZodType> {
  /** `file.read` */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: In;
  readonly output: Out;
  /** Changes nothing anywhere. */
  readonly readOnly: boolean;
  /** Hints beside `title` and `readOnlyHint`. */
  readonly annotations?: z.infer<typeof ToolAnnotations>;
  /** Says something to Gantry about the caller's own work, whose verbs have their own rules: no policy is asked. */
  readonly report?: boolean;
  /** Its result is the person's decision: they are always asked, a no is a result as well, and nothing else happens. */
  readonly decides?: boolean;
  /** Only for callers that work on a node of a run. */
  readonly forNodes?: boolean;
  plan(input: z.infer<In>, caller: ToolCaller): Promise<ToolPlan<z.infer<Out>>> | ToolPlan<z.infer<Out>>;
  /** The result as a model reads it; default: JSON. */
  say?(output: z.infer<Out>): string;
  /** Beside the words: images and the like. */
  blocks?(output: z.infer<Out>): readonly ContentBlock[];
}

/**
 * Keeps the types of one tool together; in a list they are all alike.
 *
 * @example
 * ```ts
 * import { randomInt } from 'node:crypto';
 * import { z } from 'zod';
 * import { defineTool } from './tool.ts';
 *
 * export const roll = defineTool({
 *   name: 'dice.roll',
 *   title: 'Roll a die',
 *   description: 'Rolls a die with this many sides.',
 *   input: z.strictObject({ sides: z.number().int().min(2).max(100) }),
 *   output: z.strictObject({ fell: z.number().int() }),
 *   readOnly: true,
 *   // Policy and person decide about this plan; only `run` acts.
 *   plan: ({ sides }) => ({
 *     risk: 'low',
 *     title: 'Roll a die',
 *     summary: `A die with ${sides} sides`,
 *     run: async () => ({ fell: 1 + randomInt(sides) }),
 *   }),
 *   say: ({ fell }) => `It fell on ${fell}.`,
 * });
 * ```
 */
export function defineTool<In extends z.ZodObject, Out extends z.ZodType>(tool: Tool<In, Out>): Tool {
  return tool as unknown as Tool;
}
