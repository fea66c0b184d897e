/**
 * Calls that became tasks: each is a row, so that it survives restarts and days, is seen only by the client that made it, and is kept until its time is
 * over. Must not know MCP's wire, nor how a call is made.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import { pause } from '../../../kit/clock/timers.ts';
import type { Principal } from '../../../kit/http/types.ts';
import type { Task, TaskWish } from '../../../kit/mcp/service.ts';
import type { Base } from '../../base/base.ts';
import type { ToolCallers } from '../callers.ts';
import type { ToolOutcome } from '../registry.ts';
import { createTaskRuns, cutShort, type TaskRunsDeps } from './runs.ts';
import {
  countOf,
  dropExpired,
  endTask,
  insertTask,
  nextExpiry,
  readTask,
  type TaskCaller,
  type TaskRow,
  tasksOf,
  wasShown,
  workingTasks,
} from './store.ts';

interface ToolTasksDeps extends TaskRunsDeps, Pick<Base, 'ids'> {
  readonly callers: Pick<ToolCallers, 'of' | 'clientOf'>;
  /** Where the person answers, for a client that can show it. */
  readonly inboxUrl: () => string;
}

export interface ToolTasks {
  /** Makes the call; it is a task if the client asked for one, or if it needs a person. */
  call(
    name: string,
    input: Readonly<Record<string, unknown>>,
    principal: Principal,
    signal: AbortSignal,
    wish: TaskWish,
  ): Promise<ToolOutcome | { readonly task: Task }>;
  get(id: string, principal: Principal): Promise<Task | null>;
  /** Until it has ended, at most so long. */
  wait(id: string, principal: Principal, maxMs: number, signal: AbortSignal): Promise<Task | null>;
  list(principal: Principal): Promise<Task[]>;
  cancel(id: string, principal: Principal): Promise<Task | null>;
  /** The client has done what `Task.input` asks under these keys. It decides nothing: only the person does. */
  update(id: string, keys: readonly string[], principal: Principal): Promise<Task | null>;
  /** Takes up what an earlier process left. */
  start(): Promise<void>;
  close(): Promise<void>;
}

const hourMs = 60 * 60_000;
const maxTtlMs = 8 * 24 * hourMs;
const pollMs = 2_000;
/** Of one client. */
const maxTasks = 2_000;
/** The wall clock may jump: ends are checked this often. */
const maxWaitMs = 30_000;
/** A start waits so long until every question is asked again; approvals wait longer before they withdraw one. */
const askedWithinMs = 10_000;
/** The key of the one thing that a client can do for a task: show the person where to answer. */
const approvalKey = 'approval';

export function createToolTasks(deps: ToolTasksDeps): ToolTasks {
  const { store, clock, timers, callers } = deps;
  const runs = createTaskRuns(deps);
  const ends = expiring(deps, (id) => runs.of(id)?.stop());
  const seen = (row: TaskRow) => taskOf(row, deps.inboxUrl());

  async function keep(row: TaskRow): Promise<void> {
    await store.write((tx) => {
      if (countOf(tx, row.client) < maxTasks) return insertTask(tx, row);
      const fact = `${maxTasks} tasks of this client are kept, each until its time is over.`;
      throw new AppError('refused', fact, 'Ask for a shorter ttl, or call again later.', { status: 429 });
    });
    ends.schedule();
  }

  async function ownRow(id: string, principal: Principal): Promise<TaskRow | null> {
    const row = await store.read((tx) => readTask(tx, id));
    const theirs = row !== null && row.client === callers.clientOf(principal);
    return theirs && row.expiresAt > clock.now() ? row : null;
  }

  async function get(id: string, principal: Principal): Promise<Task | null> {
    const row = await ownRow(id, principal);
    return row === null ? null : seen(row);
  }

  return {
    async call(name, input, principal, signal, wish) {
      const row = newRow(deps, name, input, principal, wish);
      if (wish.always) {
        await keep(row);
        runs.begun(row, principal, null);
        return { task: seen(row) };
      }
      const run = runs.begun(row, principal, keep);
      // A call that is no task ends with its client.
      const left = () => {
        if (!run.isTask()) run.stop();
      };
      if (signal.aborted) left();
      signal.addEventListener('abort', left, { once: true });
      const first = await Promise.race([run.asTask.then((task) => ({ task: seen(task) })), run.ended]);
      signal.removeEventListener('abort', left);
      return first ?? { task: seen(row) };
    },
    get,
    async wait(id, principal, maxMs, signal) {
      const before = await get(id, principal);
      const run = runs.of(id);
      if (before === null || before.status !== 'working' || run === undefined) return before;
      const stop = new AbortController();
      await Promise.race([run.ended, pause(timers, maxMs, AbortSignal.any([signal, stop.signal]))]);
      stop.abort();
      return get(id, principal);
    },
    async list(principal) {
      const client = callers.clientOf(principal);
      return (await store.read((tx) => tasksOf(tx, client, clock.now()))).map(seen);
    },
    async cancel(id, principal) {
      if ((await ownRow(id, principal)) === null) return null;
      await store.write((tx) => {
        const ran = (readTask(tx, id)?.beganAt ?? null) !== null;
        const message = ran ? 'Cancelled while it ran: a part of it may be done.' : 'Cancelled. Nothing ran.';
        endTask(tx, id, { status: 'cancelled', message }, clock.now());
      });
      runs.of(id)?.stop();
      return get(id, principal);
    },
    async update(id, keys, principal) {
      if ((await ownRow(id, principal)) === null) return null;
      if (keys.includes(approvalKey)) await store.write((tx) => wasShown(tx, id));
      return get(id, principal);
    },
    async start() {
      const left = await store.write((tx) => {
        dropExpired(tx, clock.now());
        const working = workingTasks(tx);
        const lost = working.filter(({ beganAt, upstream }) => beganAt !== null && upstream === null);
        for (const { id } of lost) endTask(tx, id, cutShort, clock.now());
        return working.filter((row) => !lost.includes(row));
      });
      const asked = left.map((row) => {
        const caller = JSON.parse(row.caller) as TaskCaller;
        const run = runs.begun(row, { ...caller, scopes: new Set() }, null);
        return Promise.race([run.asTask, run.ended]);
      });
      const stop = new AbortController();
      await Promise.race([Promise.all(asked), pause(timers, askedWithinMs, stop.signal)]);
      stop.abort();
      ends.schedule();
    },
    async close() {
      ends.close();
      await runs.close();
    },
  };
}

function newRow(
  { clock, ids, callers }: Pick<ToolTasksDeps, 'clock' | 'ids' | 'callers'>,
  tool: string,
  input: object,
  principal: Principal,
  { ttlMs }: TaskWish,
): TaskRow {
  const now = clock.now();
  const { kind, userId, via, client, agentId, keyId } = principal;
  const caller: TaskCaller = { kind, userId, via, client, agentId, keyId };
  return {
    id: ids.next('mtask'),
    client: callers.clientOf(principal),
    caller: JSON.stringify(caller),
    tool,
    input: JSON.stringify(input),
    status: 'working',
    message: null,
    approvalId: null,
    verdict: null,
    shown: 0,
    beganAt: null,
    result: null,
    error: null,
    createdAt: now,
    updatedAt: now,
    expiresAt: now + Math.floor(Math.min(Math.max(ttlMs ?? maxTtlMs, hourMs), maxTtlMs)),
    upstream: null,
    inputId: null,
  };
}

function taskOf(row: TaskRow, inboxUrl: string): Task {
  const { id, status, message, createdAt, updatedAt, expiresAt } = row;
  const asked = (row.approvalId !== null && row.verdict === null) || row.inputId !== null;
  // A bot's person is asked by Gantry; agent programs make a dialog of it that holds the bot until somebody closes it.
  const isBot = (JSON.parse(row.caller) as TaskCaller).agentId !== undefined;
  const waits = status === 'working' && asked && row.shown === 0 && !isBot;
  const url = { mode: 'url', message: `${message ?? ''} Answer it in Gantry's inbox.`, url: inboxUrl };
  return {
    id,
    status,
    message,
    createdAt,
    updatedAt,
    ttlMs: expiresAt - createdAt,
    pollMs,
    result: row.result === null ? null : JSON.parse(row.result),
    error: row.error === null ? null : JSON.parse(row.error),
    input: waits ? { [approvalKey]: { method: 'elicitation/create', params: url } } : {},
  };
}

/** Removes tasks whose time is over, with one timer for all. */
function expiring({ store, clock, timers, log }: Omit<Base, 'ledger' | 'ids'>, over: (id: string) => void) {
  let cancel = () => {};
  let closed = false;

  async function remove(): Promise<void> {
    for (const id of await store.write((tx) => dropExpired(tx, clock.now()))) over(id);
  }

  function schedule(): void {
    if (closed) return;
    store
      .read(nextExpiry)
      .then((next) => {
        if (closed || next === null) return;
        cancel();
        cancel = timers.after(Math.min(Math.max(0, next - clock.now()), maxWaitMs), () => {
          remove()
            .catch((fault: unknown) => log.warn('Expired tasks could not be removed.', { fault: String(fault) }))
            .finally(schedule);
        });
      })
      .catch((fault: unknown) => log.warn('The ends of tasks could not be read.', { fault: String(fault) }));
  }

  return {
    schedule,
    close() {
      closed = true;
      cancel();
    },
  };
}
