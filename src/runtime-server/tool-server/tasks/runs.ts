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
import { type ToolOutcome, type ToolRegistry, toResult } from '../registry.ts';
import type { RecordCall } from '../wire-calls.ts';
import {
  begin,
  endTask,
  keepVerdict,
  removeTask,
  type TaskEnd,
  type TaskRow,
  type TaskVerdict,
  waitsFor,
} from './store.ts';

export interface TaskRunsDeps extends Pick<Base, 'store' | 'clock' | 'timers' | 'log'> {
  readonly registry: Pick<ToolRegistry, 'call'>;
  readonly callers: Pick<ToolCallers, 'of'>;
  readonly approvals: Pick<Approvals, 'ask' | 'withdraw'>;
  readonly record: RecordCall;
}

interface TaskRun {
  /** Resolves once the row is kept and a person is asked; never for a call that needs nobody. */
  readonly asTask: Promise<TaskRow>;
  /** Null: it ended with a fault, which its row says. Rejects only for a call that is no task. */
  readonly ended: Promise<ToolOutcome | null>;
  readonly isTask: () => boolean;
  stop(): void;
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

  /** `keep`: makes the row once a person is asked; null: it is there. */
  function begun(row: TaskRow, principal: Principal, keep: ((row: TaskRow) => Promise<void>) | null): TaskRun {
    const { id } = row;
    const stop = new AbortController();
    let made = (_: TaskRow) => {};
    const asTask = new Promise<TaskRow>((resolve) => {
      made = resolve;
    });
    let isTask = keep === null;
    const ask = async (question: CallQuestion): Promise<Answered> => {
      if (!isTask) await keep?.(row);
      const asked = await askFor(row, question, stop.signal);
      if ('how' in asked) {
        // Too many questions, or too long to read: it is answered as without a task.
        if (!isTask) await store.write((tx) => removeTask(tx, id));
        return asked;
      }
      isTask = true;
      made(asked.row);
      return asked.answered;
    };
    const acting = async () => {
      if (isTask && !(await store.write((tx) => begin(tx, id, clock.now())))) stop.abort();
    };
    const ended = (async () => {
      const caller = await deps.callers.of(principal, stop.signal);
      const outcome = await deps.registry.call(row.tool, JSON.parse(row.input), caller, { ask, acting });
      // Gantry itself ends, and nothing ran: the next start takes it up.
      if (closed && isTask && !outcome.acted) return null;
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
    const run = { asTask, ended, isTask: () => isTask, stop: () => stop.abort() };
    running.set(id, run);
    const over = () => void running.delete(id);
    ended.then(over, over);
    return run;
  }

  async function askFor(
    row: TaskRow,
    { key: _, ...question }: CallQuestion,
    signal: AbortSignal,
  ): Promise<{ readonly answered: Promise<Answered>; readonly row: TaskRow } | Answered> {
    const { id, approvalId, createdAt, expiresAt } = row;
    const { actionHash } = question;
    const given = row.verdict === null ? null : (JSON.parse(row.verdict) as TaskVerdict);
    // The answer came, and Gantry ended before it acted.
    if (given !== null && given.actionHash === actionHash) {
      return { row, answered: Promise.resolve(judge(approvalId ?? '', given)) };
    }
    const left = createdAt + Math.floor((expiresAt - createdAt) * answerPart) - clock.now();
    if (left <= 0) return { row, answered: Promise.resolve(judge(approvalId ?? '', { kind: 'expired' })) };
    try {
      const asked = await deps.approvals.ask(
        { ...question, expiresInMs: left, dedupeKey: `task:${id}` },
        { apply: (tx, verdict) => keepVerdict(tx, id, { ...verdict, actionHash }, clock.now()) },
      );
      const message = `Waits for a person: ${question.title} (approval ${asked.id}).`;
      await store.write((tx) => waitsFor(tx, id, asked.id, message, clock.now()));
      return { row: { ...row, approvalId: asked.id, message }, answered: answerTo(asked, signal) };
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
      for (const run of runs) run.stop();
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
