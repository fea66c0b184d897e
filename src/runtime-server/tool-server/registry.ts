/**
 * The tools there are, and the one way to call one: check the input, plan, ask the policy, ask a person where it says so, act once,
 * tell. Shaped for every caller to come (MCP, REST): `list` gives JSON Schema, `call` a result that is text and data.
 * Must not know who the bots are or which wire a call came over.
 */
import { createHash } from 'node:crypto';
import { isAbsolute, relative, sep } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { canonicalJson } from '../../kit/ledger/canonical.ts';
import type { ApprovalAnswer, ApprovalDesk } from '../approvals/desk.ts';
import type { Policy } from '../policy/policy.ts';
import type { Tool, ToolCaller, ToolPlan } from './tool.ts';

export interface ToolInfo {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema: Readonly<Record<string, unknown>>;
  readonly readOnly: boolean;
}

export interface ToolOutcome {
  readonly isError: boolean;
  readonly text: string;
  readonly structured: unknown;
  /** What the policy said, by which rule; null where it was not asked: the call was not well made. */
  readonly verdict: { readonly verdict: 'allow' | 'ask' | 'deny'; readonly rule: string } | null;
  readonly approvalId: string | null;
  /** What was planned, in a few words; null where there was no plan. */
  readonly title: string | null;
  /** Hash of exactly this action. */
  readonly actionHash: string | null;
  /** It was begun: something may have been done. */
  readonly acted: boolean;
}

export interface CallWatch {
  /** A person is asked, or no more (null). */
  asking?(question: { readonly id: string; readonly title: string } | null): void;
}

export interface ToolRegistry {
  list(caller: { readonly onNode: boolean }): readonly ToolInfo[];
  call(name: string, input: unknown, caller: ToolCaller, watch?: CallWatch): Promise<ToolOutcome>;
}

export interface ToolRegistryDeps {
  readonly tools: readonly Tool[];
  readonly policy: Pick<Policy, 'decide'>;
  readonly approvals: Pick<ApprovalDesk, 'ask' | 'withdraw'>;
}

/** How long a person has for an answer. Milliseconds. */
const answerWithinMs = 24 * 3600 * 1000;
/** A result beyond this is cut: a model reads all of it, again with each step. Characters. */
const longestText = 60_000;

export function createToolRegistry(deps: ToolRegistryDeps): ToolRegistry {
  const byName = new Map(deps.tools.map((tool) => [tool.name, tool]));
  const infos = deps.tools
    .map((tool): ToolInfo & { forNodes: boolean } => ({
      name: tool.name,
      title: tool.title,
      description: tool.description,
      inputSchema: schemaOf(tool.input),
      outputSchema: schemaOf(tool.output),
      readOnly: tool.readOnly,
      forNodes: tool.forNodes === true,
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));

  const nothing = { structured: null, verdict: null, approvalId: null, title: null, actionHash: null, acted: false };
  const failed = (text: string, rest: Partial<ToolOutcome> = {}): ToolOutcome => ({
    ...nothing,
    isError: true,
    text,
    ...rest,
  });

  async function call(name: string, input: unknown, caller: ToolCaller, watch: CallWatch): Promise<ToolOutcome> {
    const tool = byName.get(name);
    if (tool === undefined || (tool.forNodes === true && caller.nodeId === undefined)) {
      return failed(`There is no tool "${name.slice(0, 100)}". Tools: ${[...byName.keys()].join(', ')}.`);
    }
    const parsed = tool.input.safeParse(input ?? {});
    if (!parsed.success) return failed(`${name} does not take this: ${issues(parsed.error)}`);
    let plan: ToolPlan<unknown>;
    try {
      plan = await tool.plan(parsed.data, caller);
    } catch (error) {
      return failed(wordsOf(error));
    }
    const actionHash = hashOf({
      agent: caller.agentId,
      root: caller.root,
      tool: name,
      input: parsed.data,
      summary: plan.summary,
    });
    const verdict = decide(tool, plan, caller);
    const told = { verdict, title: plan.title, actionHash };
    if (verdict.verdict === 'deny') return failed(`Not allowed: ${verdict.rule}. It was not done.`, told);
    let approvalId: string | null = null;
    if (verdict.verdict === 'ask') {
      let refusal: string | null;
      try {
        const asked = await askPerson(plan, actionHash, caller, watch);
        approvalId = asked.id;
        refusal = refusalOf(asked.answer);
      } catch (error) {
        // Too long to be read, too many questions: the bot is told, and can ask for less.
        if (!(error instanceof AppError)) throw error;
        refusal = `${wordsOf(error)} It was not done.`;
      }
      if (refusal !== null) return failed(refusal, { ...told, approvalId });
    }
    if (caller.signal.aborted) return failed('It was stopped before this was run.', { ...told, approvalId });
    try {
      const output = await plan.run(caller.signal);
      const text = tool.say?.(output) ?? JSON.stringify(output);
      return { ...nothing, ...told, approvalId, isError: false, text: cut(text), structured: output, acted: true };
    } catch (error) {
      return failed(wordsOf(error), { ...told, approvalId, acted: true });
    }
  }

  function decide(tool: Tool, plan: ToolPlan<unknown>, caller: ToolCaller) {
    if (tool.report === true) return { verdict: 'allow' as const, rule: 'a bot may report on its own work' };
    // Files that change what Gantry or git do are edits that no mode accepts unseen.
    const mode = plan.guarded === true && caller.mode === 'ACCEPT_EDITS' ? 'REQUIRE_APPROVAL' : caller.mode;
    const [family, member] = tool.name.split('.');
    const action = {
      tool: family ?? tool.name,
      ...(member === undefined ? {} : { member }),
      bot: caller.address,
      ...(plan.path === undefined ? {} : { path: nameOf(caller, plan.path) }),
      ...(plan.command === undefined ? {} : { command: plan.command }),
    };
    const bare = deps.policy.decide(action, mode);
    if (plan.commandAsRun === undefined || bare.verdict !== 'allow') return bare;
    // `git status` with LD_PRELOAD is another command than the one that a rule lets run.
    return deps.policy.decide({ ...action, command: plan.commandAsRun }, mode);
  }

  async function askPerson(
    plan: ToolPlan<unknown>,
    actionHash: string,
    caller: ToolCaller,
    watch: CallWatch,
  ): Promise<{ id: string; answer: ApprovalAnswer | 'stopped' }> {
    const asked = await deps.approvals.ask(
      {
        source: 'executor',
        kind: 'tool_call',
        title: `${caller.address}: ${plan.title}`.slice(0, 200),
        summary: plan.summary,
        risk: plan.risk,
        agentId: caller.agentId,
        ...(caller.dagId === undefined ? {} : { dagId: caller.dagId }),
        ...(caller.nodeId === undefined ? {} : { nodeId: caller.nodeId }),
        ...(caller.runId === undefined ? {} : { runId: caller.runId }),
        actionHash,
        expiresInMs: answerWithinMs,
      },
      { signal: caller.signal },
    );
    watch.asking?.({ id: asked.id, title: plan.title });
    let stop = () => {};
    const stopped = new Promise<'stopped'>((resolve) => {
      stop = () => resolve('stopped');
      if (caller.signal.aborted) stop();
      caller.signal.addEventListener('abort', stop, { once: true });
    });
    const answer = await Promise.race([asked.answer, stopped]);
    caller.signal.removeEventListener('abort', stop);
    watch.asking?.(null);
    if (answer === 'stopped') await deps.approvals.withdraw(asked.id, 'engine');
    return { id: asked.id, answer };
  }

  return {
    list: ({ onNode }) => infos.filter((info) => onNode || !info.forNodes).map(({ forNodes: _, ...info }) => info),
    call: (name, input, caller, watch = {}) => call(name, input, caller, watch),
  };
}

function refusalOf(answer: ApprovalAnswer | 'stopped'): string | null {
  if (answer === 'stopped') return 'It was stopped while a person was asked. It was not done.';
  switch (answer.kind) {
    case 'approve':
      return null;
    case 'reject':
      return `The person said no${answer.note === null ? '.' : `: ${answer.note.replace(/(?<![.!?])$/, '.')}`} It was not done; do not try it again in another way.`;
    case 'expired':
      return 'Nobody answered in time whether this may be done. It was not done.';
    case 'withdrawn':
      return `The question was withdrawn (${answer.surface}). It was not done.`;
  }
}

function wordsOf(error: unknown): string {
  if (error instanceof AppError) return `${error.fact} ${error.action}`;
  return error instanceof Error ? error.message : String(error);
}

function issues(error: z.ZodError): string {
  return error.issues
    .slice(0, 5)
    .map((issue) => `${issue.path.join('.') || 'input'}: ${issue.message}`)
    .join('; ');
}

function schemaOf(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...rest } = z.toJSONSchema(schema);
  return rest;
}

const hashOf = (value: unknown): string => createHash('sha256').update(canonicalJson(value)).digest('hex');
const cut = (text: string): string =>
  text.length <= longestText
    ? text
    : `${text.slice(0, longestText)}\n[cut: ${text.length - longestText} characters more]`;

/** As rules name it: relative to the workspace where it lies in it, else to the caller's own root (a worktree has the same paths). */
function nameOf({ workspace, root }: ToolCaller, path: string): string {
  for (const base of [workspace, root]) {
    const way = relative(base, path);
    if (way === '') return '.';
    if (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return way.replaceAll(sep, '/');
  }
  return path;
}
