/**
 * The calls of tasks that are under way: each asks under its task's own key, so that a restart finds the same question, and is marked before it acts, so
 * that it never acts twice. Must not know who may see a task or how long it is kept.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import { rpcCodes } from '../../../contracts/tool-server/mcp.ts';
import type { Principal } from '../../../kit/http/types.ts';
import type { Approvals, Asked } from '../../approvals/approvals.ts';
import type { Base } from '../../base/base.ts';
import { type Answered, type CallQuestion, judge } from '../ask.ts';
import type { ToolCallers } from '../callers.ts';
import { type ForeignTask, leaves } from '../foreign-tools.ts';
import { type ToolOutcome, type ToolRegistry, toResult } from '../registry.ts';
import type { RecordCall } from '../wire-calls.ts';
import {
  begin,
  endTask,
  followsThere,
  inputAnswered,
  keepVerdict,
  removeTask,
  serverSays,
  type TaskEnd,
  type TaskRow,
  type TaskVerdict,
  waitsFor,
  waitsForInput,
} from './store.ts';

export interface TaskRunsDeps extends Pick<Base, 'store' | 'clock' | 'timers' | 'log'> {
  readonly registry: Pick<ToolRegistry, 'call' | 'follow'>;
  readonly callers: Pick<ToolCallers, 'of'>;
  readonly approvals: Pick<Approvals, 'ask' | 'withdraw'>;
  readonly record: RecordCall;
}

interface TaskRun {
  /** Resolves once the row is kept and something outlives the call: a person is asked, or a server made a task of it. Never for any other call. */
  readonly asTask: Promise<TaskRow>;
  /** Null: it ended with a fault, which its row says. Rejects only for a call that is no task. */
  readonly ended: Promise<ToolOutcome | null>;
  readonly isTask: () => boolean;
  /** `why`: {@link leaves} where Gantry ends. */
  stop(why?: string): void;
}

/** A person answers in the first part of a task's life; the rest is for the client, to fetch the result. */
const answerPart = 7 / 8;
/** Characters. */
const maxResultLength = 1024 * 1024;
const closeWithinMs = 2_000;

const failure = (said: string): TaskEnd => ({
  status: 'failed',
  message: said,
  error: { code: rpcCodes.internal, message: said },
});

export const cutShort = failure('Gantry ended while this ran: whether it was done is not known.');

export function createTaskRuns(deps: TaskRunsDeps) {
  const { store, clock, log } = deps;
  const running = new Map<string, TaskRun>();
  let closed = false;

  /** `keep`: makes the row once it waits for something that outlives the call; null: it is there. */
  function begun(row: TaskRow, principal: Principal, keep: ((row: TaskRow) => Promise<void>) | null): TaskRun {
    const { id } = row;
    const stop = new AbortController();
    let made = (_: TaskRow) => {};
    const asTask = new Promise<TaskRow>((resolve) => {
      made = resolve;
    });
    let isTask = keep === null;
    const become = (now: TaskRow) => {
      isTask = true;
      made(now);
    };
    let there: ForeignTask | null = row.upstream === null ? null : (JSON.parse(row.upstream) as ForeignTask);
    if (there !== null) made(row);
    /** It waited for what a server asked when Gantry ended. */
    let unasked = false;

    /** Too many questions, or too long to read: a call that is no task yet is answered as without one. */
    const orNone = async (work: () => Promise<Answered>): Promise<Answered> => {
      if (!isTask) await keep?.(row);
      const answered = await work();
      if (!isTask) await store.write((tx) => removeTask(tx, id));
      return answered;
    };
    const watch = {
      ask: (question: CallQuestion) => orNone(() => askFor(row, question, stop.signal, become)),
      async acting() {
        if (isTask && !(await store.write((tx) => begin(tx, id, clock.now())))) stop.abort();
      },
      async began(task: ForeignTask) {
        if (!isTask) await keep?.(row);
        const message = 'Running at the attached server.';
        await store.write((tx) => followsThere(tx, id, task, message, clock.now()));
        there = task;
        become({ ...row, message });
      },
      says: saying(id),
      async input(question: CallQuestion, signal: AbortSignal) {
        const answered = await orNone(() => inputFor(row, question, signal, become));
        unasked = closed;
        const kind = answered.how === 'open' ? undefined : answered.answer?.kind;
        // The server had not begun: from here on it may.
        if (isTask && there === null && (kind === 'approve' || kind === 'reject')) await watch.acting();
        return answered;
      },
    };
    const ended = (async () => {
      const caller = await deps.callers.of(principal, stop.signal);
      const input = JSON.parse(row.input);
      const outcome =
        there === null
          ? await deps.registry.call(row.tool, input, caller, watch)
          : await deps.registry.follow(row.tool, input, there, caller, watch);
      // Gantry itself ends, and nothing ran here: the next start takes it up.
      if (closed && isTask && (!outcome.acted || there !== null || unasked)) return null;
      await deps.record(row.tool, outcome, caller, (tx) => {
        if (isTask) endTask(tx, id, endOf(outcome), clock.now());
      });
      return outcome;
    })().catch(async (fault: unknown) => {
      if (!isTask) throw fault;
      const known = fault instanceof AppError && fault.code !== 'internal';
      if (!known) log.warn('A task failed.', { id, fault: String(fault) });
      const said = known ? `${fault.fact} ${fault.action}` : 'Something went wrong inside Gantry; its log says more.';
      if (!closed) await store.write((tx) => endTask(tx, id, failure(said), clock.now())).catch(() => {});
      return null;
    });
    const run = { asTask, ended, isTask: () => isTask, stop: (why?: string) => stop.abort(why) };
    running.set(id, run);
    const over = () => void running.delete(id);
    ended.then(over, over);
    return run;
  }

  /** Keeps what a server says about its task, when it says something else. */
  function saying(id: string): (message: string) => void {
    let last: string | null = null;
    return (message) => {
      if (message === last || closed) return;
      last = message;
      store
        .write((tx) => serverSays(tx, id, message, clock.now()))
        .catch((fault: unknown) => log.warn('The state of a task could not be kept.', { id, fault: String(fault) }));
    };
  }

  const timeToAnswer = ({ createdAt, expiresAt }: TaskRow) =>
    createdAt + Math.floor((expiresAt - createdAt) * answerPart) - clock.now();

  /** `asked`: the row as it is once the person is asked. */
  async function askFor(
    row: TaskRow,
    { key: _, ...question }: CallQuestion,
    signal: AbortSignal,
    asked: (row: TaskRow) => void,
  ): Promise<Answered> {
    const { id, approvalId } = row;
    const { actionHash } = question;
    const given = row.verdict === null ? null : (JSON.parse(row.verdict) as TaskVerdict);
    const left = timeToAnswer(row);
    // The answer came, and Gantry ended before it acted.
    const known = given !== null && given.actionHash === actionHash ? given : null;
    if (known !== null || left <= 0) {
      asked(row);
      return judge(approvalId ?? '', known ?? { kind: 'expired' });
    }
    return orRefused(async () => {
      const held = await deps.approvals.ask(
        { ...question, expiresInMs: left, dedupeKey: `task:${id}` },
        { apply: (tx, verdict) => keepVerdict(tx, id, { ...verdict, actionHash }, clock.now()) },
      );
      const message = `Waits for a person: ${question.title} (approval ${held.id}).`;
      await store.write((tx) => waitsFor(tx, id, held.id, message, clock.now()));
      asked({ ...row, approvalId: held.id, message });
      return answerTo(held, signal);
    });
  }

  /** What an attached server asks. The answer is not kept: the server has it, or asks again. */
  async function inputFor(
    row: TaskRow,
    { key: _, ...question }: CallQuestion,
    signal: AbortSignal,
    asked: (row: TaskRow) => void,
  ): Promise<Answered> {
    const { id } = row;
    const left = timeToAnswer(row);
    if (left <= 0) return judge('', { kind: 'expired' });
    return orRefused(async () => {
      const held = await deps.approvals.ask({
        ...question,
        expiresInMs: left,
        dedupeKey: `task:${id}:${question.actionHash}`,
      });
      const message = `Waits for a person: ${question.title} (approval ${held.id}).`;
      await store.write((tx) => waitsForInput(tx, id, held.id, message, clock.now()));
      asked({ ...row, inputId: held.id, message });
      const answered = await answerTo(held, signal);
      if (!closed) await store.write((tx) => inputAnswered(tx, id, held.id, clock.now()));
      return answered;
    });
  }

  async function orRefused(ask: () => Promise<Answered>): Promise<Answered> {
    try {
      return await ask();
    } catch (fault) {
      if (!(fault instanceof AppError)) throw fault;
      return { how: 'refused', id: null, why: `${fault.fact} ${fault.action} Nothing ran.`, answer: null };
    }
  }

  async function answerTo({ id, answer }: Asked, signal: AbortSignal): Promise<Answered> {
    const over = new Promise<'over'>((resolve) => {
      if (signal.aborted) resolve('over');
      signal.addEventListener('abort', () => resolve('over'), { once: true });
    });
    const given = await Promise.race([answer, over]);
    if (given !== 'over') return judge(id, given);
    if (!closed) await deps.approvals.withdraw(id, 'engine');
    return { how: 'refused', id, why: 'Cancelled while waiting for approval. Nothing ran.', answer: null };
  }

  return {
    begun,
    of: (id: string): TaskRun | undefined => running.get(id),
    /** What waits for a person stays as it is; what acts is stopped, and its end is recorded if that comes soon. */
    async close(): Promise<void> {
      closed = true;
      const runs = [...running.values()];
      for (const run of runs) run.stop(leaves);
      await Promise.race([
        Promise.allSettled(runs.map(({ ended }) => ended)),
        new Promise<void>((resolve) => void deps.timers.after(closeWithinMs, resolve)),
      ]);
    },
  };
}

function endOf(outcome: ToolOutcome): TaskEnd {
  const result = toResult(outcome);
  const { length } = JSON.stringify(result);
  if (length <= maxResultLength) return { status: 'completed', result };
  return failure(
    `The call was made. Its result has ${length} characters, and at most ${maxResultLength} are kept for a task.`,
  );
}
