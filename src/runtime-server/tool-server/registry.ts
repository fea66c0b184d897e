/**
 * All tools, and the one way to call one: check the input, plan, ask the policy, ask a person where it requires that, act once. The same for every
 * caller: MCP, REST, bots in Gantry's own loop. Must not know who the bots are or which wire a call came over.
 */
import { hash } from 'node:crypto';
import { isAbsolute, relative, sep } from 'node:path';
import { AppError } from '../../contracts/common/errors.ts';
import { type ContentBlock, doesNotTake, type ToolInfo, type ToolResult } from '../../contracts/tool-server/tools.ts';
import { canonicalJson } from '../../kit/ledger/canonical.ts';
import type { Telemetry } from '../../kit/telemetry/telemetry.ts';
import type { ApprovalAnswer } from '../approvals/approvals.ts';
import { type Policy, type PolicyAction, type PolicyVerdict, strictest } from '../policy/policy.ts';
import type { Answered, CallQuestion, Waiting } from './ask.ts';
import {
  type Callable,
  type CallableResult,
  cut,
  foreignPrompt,
  foreignTool,
  ownTool,
  promptCall,
} from './callable.ts';
import type { ForeignPort, ForeignPrompts, ForeignQuestion, ForeignTask, ForeignTools } from './foreign-tools.ts';
import type { OtherHost, Tool, ToolCaller, ToolPlan } from './tool.ts';

export interface ToolOutcome {
  readonly isError: boolean;
  /** As a model reads it; cut. */
  readonly text: string;
  /** As clients get it. */
  readonly content: readonly ContentBlock[];
  /** Undefined if the tool has none. */
  readonly structured: unknown;
  /** The policy's verdict and its rule; null where it was not asked: the call was malformed. */
  readonly verdict: PolicyVerdict | null;
  readonly approvalId: string | null;
  /** A person is asked and has not answered yet. */
  readonly open: boolean;
  /** The plan in a few words; null where there was none. */
  readonly title: string | null;
  /** Hash of exactly this action, worked out when it is asked for: most calls only look, and nobody records them. Null: no action. */
  readonly actionHash: (() => string) | null;
  /** It was begun: something may have been done. */
  readonly acted: boolean;
  /** It only looked, unasked. */
  readonly looked: boolean;
}

interface CallWatch {
  /** A person is asked, or no more (null). */
  asking?(question: { readonly id: string; readonly title: string } | null): void;
  /** Asks in another way, for a question that outlives the call. */
  ask?(question: CallQuestion): Promise<Answered>;
  /** Awaited before it acts; a throw keeps it from that. */
  acting?(): Promise<void>;
  /** An attached server made a task of it: keeps where. Absent: no task is made of it. */
  began?(task: ForeignTask): Promise<void>;
  /** What the server says about its task. */
  says?(message: string): void;
  /** As {@link CallWatch.ask}, for what the server asks the person; `signal` withdraws the question. */
  input?(question: CallQuestion, signal: AbortSignal): Promise<Answered>;
}

export interface ToolRegistry {
  /** By name in byte order; the same array as long as {@link ToolRegistry.revision} is the same. `onNode`: with tools of a step. */
  list(asked?: { readonly onNode?: boolean }): readonly ToolInfo[];
  /** Another one as soon as the list is another one. */
  readonly revision: number;
  find(name: string): ToolInfo | null;
  call(name: string, input: unknown, caller: ToolCaller, watch?: CallWatch): Promise<ToolOutcome>;
  /** The end of a call that a task of an attached server was made of. */
  follow(name: string, input: unknown, task: ForeignTask, caller: ToolCaller, watch: CallWatch): Promise<ToolOutcome>;
}

/** A result beyond this is cut for a model: it reads all of it, again with each step. Characters. */
const maxTextLength = 60_000;

/** `more`: tools only for callers of one area; their names go before those of attached servers. */
export function createToolRegistry(
  deps: {
    readonly tools: readonly Tool[];
    readonly foreign: ForeignTools;
    readonly policy: Pick<Policy, 'decide'>;
    readonly ask: (question: CallQuestion, caller: Waiting) => Promise<Answered>;
    /** An approval that let nothing run is there for the next same call. */
    readonly giveBack: (question: CallQuestion, approved: Extract<Answered, { how: 'approved' }>) => void;
    readonly log: { error(message: string, fields?: Record<string, unknown>): void };
    readonly telemetry?: Telemetry | undefined;
  },
  more: readonly Tool[] = [],
): ToolRegistry {
  const { foreign } = deps;
  const special = new Map(more.map((tool) => [tool.name, ownTool(tool)]));
  const own = new Map(deps.tools.map((tool) => [tool.name, ownTool(tool)]));
  let known = {
    revision: -1,
    foreign: new Map<string, Callable>(),
    prompts: new Map<string, Callable>(),
    all: [] as ToolInfo[],
    offNode: [] as ToolInfo[],
  };

  function now(): typeof known {
    if (known.revision === foreign.revision) return known;
    const { revision } = foreign;
    const attached = new Map(foreign.list().map((tool) => [tool.name, foreignTool(tool, foreign)]));
    const { prompts: asked } = foreign;
    const prompts = new Map(
      (asked?.list() ?? []).map((prompt) => [promptCall(prompt.name), foreignPrompt(prompt, asked as ForeignPrompts)]),
    );
    const all = [...special.values(), ...own.values()];
    const taken = new Set(all.map(({ info }) => info.name));
    for (const one of attached.values()) if (!taken.has(one.info.name)) all.push(one);
    all.sort((a, b) => Buffer.compare(Buffer.from(a.info.name), Buffer.from(b.info.name)));
    const offNode = all.filter((one) => !one.forNodes).map((one) => one.info);
    known = { revision, foreign: attached, prompts, all: all.map((one) => one.info), offNode };
    return known;
  }

  /** A name with a dot is looked up among the attached servers before Gantry's own tools. */
  function find(name: string, onNode: boolean): Callable | null {
    const found =
      special.get(name) ??
      (name.includes('.') ? (now().foreign.get(name) ?? now().prompts.get(name)) : undefined) ??
      own.get(name);
    return found === undefined || (found.forNodes && !onNode) ? null : found;
  }

  const nothing = {
    structured: undefined,
    verdict: null,
    approvalId: null,
    open: false,
    title: null,
    actionHash: null,
    acted: false,
    looked: false,
  };
  const failed = (text: string, rest: Partial<ToolOutcome> = {}): ToolOutcome => ({
    ...nothing,
    isError: true,
    text,
    content: [{ type: 'text', text }],
    ...rest,
  });

  /** The error text for a caller: a message meant for callers, or the system's; the text of a bug stays in the log. */
  function wordsOf(error: unknown, tool: string): string {
    if (error instanceof AppError && error.code !== 'internal') return `${error.fact} ${error.action}`;
    const { code, syscall, message = '' } = error as NodeJS.ErrnoException;
    if (typeof code === 'string' && typeof syscall === 'string') {
      // `EACCES: permission denied, open '/home/…'`
      const why = /^\w+: ([^,]+)/.exec(message)?.[1] ?? 'it failed';
      return `The computer refused it: ${why} (${code}).`;
    }
    const cause = error instanceof AppError ? (error.cause ?? error) : error;
    deps.log.error('A tool failed.', {
      tool,
      error: cause instanceof Error ? (cause.stack ?? cause.message) : String(cause),
    });
    return 'Something went wrong inside Gantry; its log says more.';
  }

  async function call(name: string, input: unknown, caller: ToolCaller, watch: CallWatch): Promise<ToolOutcome> {
    const tool = find(name, caller.nodeId !== undefined);
    if (tool === null) {
      const names = [...special.keys(), ...own.keys()].join(', ');
      return failed(`There is no tool "${name.slice(0, 100)}". Tools: ${names}, and those of attached servers.`);
    }
    const read = tool.read(input);
    if (!read.ok) return failed(`${name}${doesNotTake}${read.why}`);
    let plan: ToolPlan<CallableResult>;
    try {
      plan = await tool.plan(read.input, caller);
    } catch (error) {
      return failed(wordsOf(error, name));
    }
    const verdict = decide(deps.policy, tool, plan, caller);
    const asked = { client: caller.client, root: caller.root, tool: name, input: read.input };
    const actionHash = () => hashOf({ ...asked, summary: plan.summary, details: plan.details ?? [] });
    const told = { verdict, title: plan.title, actionHash };
    if (verdict.verdict === 'deny') {
      // A rule names its line; a default has none.
      const why = verdict.rule.replace(/^default: /, '');
      return failed(`Not allowed: ${why}. Nothing ran.`, told);
    }
    let approvalId: string | null = null;
    let answer: ApprovalAnswer | null = null;
    let giveBack = () => {};
    if (verdict.verdict === 'ask') {
      const key = `tool:${hashOf(asked)}`;
      const { signal, patienceMs } = caller;
      const asking = (id: string | null) => watch.asking?.(id === null ? null : { id, title: plan.title });
      const question = questionOf(tool, plan, caller, key, actionHash());
      const answered = await (watch.ask?.(question) ?? deps.ask(question, { signal, patienceMs, asking }));
      approvalId = answered.id;
      if (answered.how === 'open') return stillOpen(answered.id, told);
      if (answered.how === 'approved' && watch.ask === undefined) giveBack = () => deps.giveBack(question, answered);
      answer = answered.answer;
      const said = tool.decides && answer !== null;
      if (answered.how === 'refused' && !said) return failed(answered.why, { ...told, approvalId });
    }
    if (!tool.decides) await watch.acting?.();
    if (caller.signal.aborted) return failed('Stopped before this ran.', { ...told, approvalId });
    const looked = tool.readOnly && verdict.verdict === 'allow';
    const done = { ...told, approvalId, open: false, acted: true, looked };
    const port = portOf(deps.ask, tool, read.input, caller, watch);
    try {
      const may = (host: OtherHost) => decide(deps.policy, tool, { ...plan, ...host }, caller);
      const result = await plan.run(caller.signal, may, answer, port);
      const waits = port.open();
      // The server asked the person before it ran anything, and nobody has answered.
      if (waits !== null) {
        giveBack();
        return stillOpen(waits, { ...told, approvalId: waits });
      }
      return { structured: undefined, ...result, text: cut(result.text, maxTextLength), ...done };
    } catch (error) {
      return failed(wordsOf(error, name), done);
    }
  }

  async function follow(
    name: string,
    input: object,
    task: ForeignTask,
    caller: ToolCaller,
    watch: CallWatch,
  ): Promise<ToolOutcome> {
    // Its server may have another name by now, be off, or list it no more: the task is there by the server's id.
    const unlisted = () =>
      foreignTool({ name, inputSchema: { type: 'object' }, server: name.split('.')[0] ?? '' }, foreign);
    const tool = find(name, false) ?? unlisted();
    const done = { title: `Call ${name}`, acted: true };
    if (tool.follow === undefined) {
      return failed(`The attached server of ${name} is gone: whether it was done is not known.`, done);
    }
    const result = await tool.follow(task, caller.signal, portOf(deps.ask, tool, input, caller, watch));
    return { ...nothing, ...result, text: cut(result.text, maxTextLength), ...done };
  }

  function tracedCall(
    telemetry: Telemetry,
    ...given: readonly [name: string, input: unknown, caller: ToolCaller, watch: CallWatch]
  ): Promise<ToolOutcome> {
    const [name, , { nodeId }] = given;
    // A caller may ask for any name: only one that there is goes into a span.
    const tool = find(name, nodeId !== undefined) === null ? 'unknown' : name;
    const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': tool };
    return telemetry.span({ name: `execute_tool ${tool}`, kind: 'internal', attributes }, async (span) => {
      const outcome = await call(...given);
      if (outcome.isError) span?.set({ 'error.type': outcome.acted ? 'tool_error' : 'not_run' });
      return outcome;
    });
  }

  function stillOpen(id: string, told: Partial<ToolOutcome>): ToolOutcome {
    const text = `This needs a person's approval, and nobody has answered yet (approval ${id}). Nothing ran. Make the same call again to keep waiting; within ten minutes of an approval it runs once.`;
    const structured = { error: 'approval_required', approvalId: id, retryable: true };
    return failed(text, { ...told, approvalId: id, open: true, structured });
  }

  return {
    list: ({ onNode = false } = {}) => (onNode ? now().all : now().offNode),
    get revision() {
      return now().revision;
    },
    // Prompts are asked for by their own method, and are no tools to show.
    find: (name) => (now().prompts.has(name) ? null : (find(name, false)?.info ?? null)),
    call: (name, input, caller, watch = {}) =>
      // Only what is part of a trace has a span.
      deps.telemetry === undefined || deps.telemetry.carry() === null
        ? call(name, input, caller, watch)
        : tracedCall(deps.telemetry, name, input, caller, watch),
    follow: (name, input, task, caller, watch) => follow(name, input as object, task, caller, watch),
  };
}

/** As clients get it. */
export function toResult({ content, structured, isError }: ToolOutcome): ToolResult {
  return { content: [...content], ...(structured === undefined ? {} : { structuredContent: structured }), isError };
}

/** As the rules see it. */
function actionOf(tool: Callable, plan: ToolPlan<unknown>, caller: ToolCaller): PolicyAction {
  return {
    ...tool.action,
    bot: caller.bot?.address ?? null,
    ...(plan.path === undefined ? {} : { path: nameInRules(caller, plan.path) }),
    ...(plan.command === undefined ? {} : { command: plan.command }),
    ...(plan.host === undefined ? {} : { host: plan.host }),
    ...(plan.privateHost === true ? { privateHost: true as const } : {}),
  };
}

function decide(
  policy: Pick<Policy, 'decide'>,
  tool: Callable,
  plan: ToolPlan<unknown>,
  caller: ToolCaller,
): PolicyVerdict {
  if (tool.report) return { verdict: 'allow', rule: 'a bot may report on its own work' };
  // Files that change what Gantry or git do are edits that no mode accepts unseen.
  const mode = plan.guarded === true && caller.mode === 'ACCEPT_EDITS' ? 'REQUIRE_APPROVAL' : caller.mode;
  const action = actionOf(tool, plan, caller);
  if (tool.decides) return alwaysAsked(policy.decide(action, mode));
  const others = (plan.also ?? []).map((path) => policy.decide({ ...action, path: nameInRules(caller, path) }, mode));
  const bare = strictest([policy.decide(action, mode), ...others]);
  if (plan.commandAsRun === undefined || bare.verdict !== 'allow') return bare;
  // `git status` with LD_PRELOAD is another command than the one that a rule lets run.
  return policy.decide({ ...action, command: plan.commandAsRun }, mode);
}

/** What nobody denies is asked. */
const alwaysAsked = ({ verdict, rule }: PolicyVerdict): PolicyVerdict =>
  verdict === 'deny' ? { verdict, rule } : { verdict: 'ask', rule: 'it asks a person' };

function questionOf(
  tool: Callable,
  plan: ToolPlan<unknown>,
  caller: ToolCaller,
  key: string,
  actionHash: string,
): CallQuestion {
  const who = caller.bot?.address ?? `A program of yours (${caller.surface})`;
  return {
    key,
    source: 'executor',
    kind: tool.decides ? 'request' : plan.isDiff === true ? 'file_change' : 'tool_call',
    title: `${who}: ${plan.title}`.slice(0, 200),
    summary: plan.summary,
    ...(plan.details === undefined ? {} : { details: plan.details }),
    ...(plan.reason === undefined ? {} : { reason: plan.reason }),
    risk: plan.risk,
    agentId: caller.bot?.agentId ?? null,
    ...(caller.bot === null ? { client: caller.client } : {}),
    ...(caller.dagId === undefined ? {} : { dagId: caller.dagId }),
    ...(caller.nodeId === undefined ? {} : { nodeId: caller.nodeId }),
    ...(caller.runId === undefined ? {} : { runId: caller.runId }),
    actionHash,
    // More paths than one, or variables beside the command, are more than a rule can name; and no rule decides for a person.
    ...(plan.also === undefined && plan.commandAsRun === undefined && !tool.decides
      ? { action: actionOf(tool, plan, caller) }
      : {}),
  };
}

/** What an attached server may do with this call beside answering it. */
function portOf(
  ask: (question: CallQuestion, caller: Waiting) => Promise<Answered>,
  tool: Callable,
  input: object,
  caller: ToolCaller,
  watch: CallWatch,
): ForeignPort & { readonly open: () => string | null } {
  let open: string | null = null;
  const { began, says } = watch;
  return {
    ...(began === undefined ? {} : { began }),
    ...(says === undefined ? {} : { says }),
    async ask(question, signal) {
      const asked = inputQuestionOf(tool, input, caller, question);
      const { patienceMs } = caller;
      const asking = (id: string | null) => watch.asking?.(id === null ? null : { id, title: question.title });
      const answered = await (watch.input?.(asked, signal) ?? ask(asked, { signal, patienceMs, asking }));
      if (answered.how === 'open') {
        open = answered.id;
        return { kind: 'ended', why: 'Nobody has answered yet.' };
      }
      const { answer } = answered;
      if (answer?.kind === 'approve' || answer?.kind === 'reject') return { kind: answer.kind, note: answer.note };
      return { kind: 'ended', why: answered.how === 'refused' ? answered.why : 'Nobody answered.' };
    },
    open: () => open,
  };
}

/** What an attached server asks the person about a call. Equal when the same call is made again and the server asks the same. */
function inputQuestionOf(
  { info, action }: Callable,
  input: object,
  caller: ToolCaller,
  { title, summary }: ForeignQuestion,
): CallQuestion {
  const details = [{ name: 'Call', text: `${info.name}\n${JSON.stringify(input, null, 2)}` }];
  const actionHash = hashOf({ input: action.tool, client: caller.client, root: caller.root, summary, details });
  const { bot, client, dagId, nodeId, runId } = caller;
  return {
    key: `input:${actionHash}`,
    source: 'executor',
    kind: 'input',
    title: title.slice(0, 200),
    summary,
    details,
    risk: 'medium',
    agentId: bot?.agentId ?? null,
    ...(bot === null ? { client } : {}),
    ...(dagId === undefined ? {} : { dagId }),
    ...(nodeId === undefined ? {} : { nodeId }),
    ...(runId === undefined ? {} : { runId }),
    actionHash,
  };
}

const hashOf = (value: unknown): string => hash('sha256', canonicalJson(value));

/** As rules name it: relative to the workspace where it lies in it, else to the caller's own root (a worktree has the same paths). */
export function nameInRules({ workspace, root }: Pick<ToolCaller, 'workspace' | 'root'>, path: string): string {
  for (const base of [workspace, root]) {
    const way = relative(base, path);
    if (way === '') return '.';
    if (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)) return way.replaceAll(sep, '/');
  }
  return path;
}
