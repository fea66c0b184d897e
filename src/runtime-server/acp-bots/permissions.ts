/**
 * The permission questions of one agent: a rule of the person answers, or a person does, once; the agent gets a single yes or no, never a lasting one.
 * Owns which questions are open. Must not know turns.
 */
import type { PermissionOption, RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk';
import { AppError } from '../../contracts/common/errors.ts';
import { type Policy, type PolicyAction, strictest } from '../policy/index.ts';
import type { Recorder } from './conversation.ts';
import type { AcpApprovals } from './deps.ts';
import { type AskedCall, actionsOf, askOf } from './question.ts';
import { type ToolReport, toolReport } from './updates.ts';

interface PermissionsDeps {
  readonly approvals: AcpApprovals;
  readonly policy: Pick<Policy, 'decide'>;
  readonly log: { warn(message: string, facts?: Readonly<Record<string, unknown>>): void };
}

/** A turn asks a few things at a time; more would only bury the person's inbox. */
const maxOpen = 20;
const cancelled: RequestPermissionResponse = { outcome: { outcome: 'cancelled' } };

export function createPermissions(
  deps: PermissionsDeps,
  bot: {
    readonly agentId: string;
    readonly address: string;
    readonly cwd: () => string;
    readonly workspace: string;
    readonly recorder: Recorder;
    /** Titles of what waits for a person now. */
    readonly onChange: (titles: readonly string[]) => void;
  },
) {
  const { recorder } = bot;
  const open = new Map<symbol, { title: string; id: string | null; cut: () => void }>();
  /** Actions that a person or a rule agreed to in this turn, when the agent asked. */
  const agreed = new Set<string>();
  const tell = () => bot.onChange([...open.values()].map(({ title }) => title));

  /** With what was reported of the call before, which the question need not repeat. */
  function callOf(request: RequestPermissionRequest): AskedCall {
    const known = recorder.toolOf(request.toolCall.toolCallId);
    const said: Partial<ToolReport> = toolReport({ ...request.toolCall }) ?? {};
    return {
      title: said.title ?? known?.tool.title ?? 'use a tool',
      kind: said.kind ?? known?.tool.kind ?? 'other',
      input: said.input ?? known?.input,
      diffs: said.diffs?.length ? said.diffs : (known?.tool.diffs ?? []),
      places: said.places ?? known?.tool.places ?? [],
    };
  }

  async function ask(request: RequestPermissionRequest, signal: AbortSignal): Promise<RequestPermissionResponse> {
    const report = toolReport({ ...request.toolCall });
    if (report !== null) recorder.take({ kind: 'tool', report });
    const call = callOf(request);
    const asked = await judge(call);
    const { ruled, question } = asked;
    if (ruled !== null && ruled.verdict !== 'ask')
      recorder.question(`${question.title}: ${ruled.rule}`, null, ruled.verdict === 'allow' ? 'approved' : 'rejected');
    const allowed = await decide(call, asked, signal);
    if (allowed === true) for (const action of asked.actions) agreed.add(keyOf(action));
    return allowed === null ? cancelled : chosen(request.options, allowed);
  }

  /** What the agent asks of its client: nobody is asked twice about what was agreed to in this turn. */
  async function may(call: AskedCall, signal: AbortSignal): Promise<string | null> {
    const asked = await judge(call);
    if (asked.ruled?.verdict === 'deny') {
      recorder.question(`${asked.question.title}: ${asked.ruled.rule}`, null, 'rejected');
      return `Not allowed: ${asked.ruled.rule}. Nothing was done.`;
    }
    if (asked.actions.length > 0 && asked.actions.every((action) => agreed.has(keyOf(action)))) return null;
    const allowed = await decide(call, asked, signal);
    if (allowed === null) return 'Nobody answered the question. Nothing was done.';
    return allowed ? null : 'A person said no. Nothing was done.';
  }

  async function judge(call: AskedCall) {
    const asking = { agentId: bot.agentId, address: bot.address, cwd: bot.cwd(), workspace: bot.workspace };
    const actions = await actionsOf(asking, call);
    const [first, ...more] = actions.map((action) => deps.policy.decide(action, null));
    const ruled = first === undefined ? null : strictest([first, ...more]);
    return { actions, ruled, question: askOf(asking, call, actions) };
  }

  /** Null: nobody decided, and it is not done. */
  async function decide(
    call: AskedCall,
    { ruled, question }: Awaited<ReturnType<typeof judge>>,
    signal: AbortSignal,
  ): Promise<boolean | null> {
    if (ruled !== null && ruled.verdict !== 'ask') return ruled.verdict === 'allow';
    const why = call.diffs.some(({ cut }) => cut === true)
      ? 'the change is too long to be shown whole'
      : open.size >= maxOpen
        ? `${open.size} questions are already waiting`
        : null;
    if (why !== null) {
      recorder.note(`${question.title}: not asked, because ${why}.`);
      return null;
    }
    return waitFor(question, signal);
  }

  async function waitFor(question: ReturnType<typeof askOf>, signal: AbortSignal): Promise<boolean | null> {
    const key = Symbol(question.title);
    const { promise: gone, resolve: cut } = Promise.withResolvers<'cut'>();
    const entry: { title: string; id: string | null; cut: () => void } = {
      title: shortOf(question.title.replace(`${bot.address} asks to `, '')),
      id: null,
      cut: () => cut('cut'),
    };
    open.set(key, entry);
    signal.addEventListener('abort', entry.cut, { once: true });
    tell();
    try {
      const asked = await deps.approvals.ask(question);
      entry.id = asked.id;
      const answered = recorder.question(question.title, asked.id, 'open');
      const answer = await Promise.race([asked.answer, gone]);
      if (answer === 'cut') await deps.approvals.withdraw(asked.id, 'engine');
      const decided = answer !== 'cut' && (answer.kind === 'approve' || answer.kind === 'reject') ? answer : null;
      answered(decided === null ? 'withdrawn' : decided.kind === 'approve' ? 'approved' : 'rejected');
      if (decided?.note) recorder.note(`A person said: ${decided.note}`);
      return decided === null ? null : decided.kind === 'approve';
    } catch (error) {
      const why = error instanceof AppError ? error.fact : String(error);
      deps.log.warn('A question of an agent could not be asked.', { agentId: bot.agentId, error: why });
      recorder.note(`${question.title}: it could not be asked. ${why}`);
      return null;
    } finally {
      signal.removeEventListener('abort', entry.cut);
      open.delete(key);
      tell();
    }
  }

  return {
    ask,
    may,
    /** What was agreed to in one turn counts in no other. */
    newTurn: () => agreed.clear(),
    ids: (): string[] => [...open.values()].flatMap(({ id }) => id ?? []),
    /** Nobody waits for an answer any more: the turn is being cancelled, or the agent is gone. */
    cutAll(): void {
      for (const { cut } of open.values()) cut();
    },
  };
}

const keyOf = ({ tool, path, command }: PolicyAction): string => JSON.stringify([tool, path, command]);

/** Characters of a question in the state of its bot; the approval has it whole. */
const maxShown = 120;
const shortOf = (title: string): string => (title.length > maxShown ? `${title.slice(0, maxShown - 1)}…` : title);

/** Never a lasting answer: what is always allowed is a rule of the person's. Without a fitting choice the call is cancelled. */
function chosen(options: readonly PermissionOption[], allowed: boolean): RequestPermissionResponse {
  const option = options.find(({ kind }) => kind === (allowed ? 'allow_once' : 'reject_once'));
  return option === undefined ? cancelled : { outcome: { outcome: 'selected', optionId: option.optionId } };
}
