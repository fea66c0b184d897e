/**
 * The rows of tasks, as whole operations of one transaction. A task ends once: each statement that changes it takes only one that still works. Must not
 * know tools or approvals.
 */
import type { ToolResult } from '../../../contracts/tool-server/tools.ts';
import type { Principal } from '../../../kit/http/types.ts';
import type { RpcError, Task } from '../../../kit/mcp/service.ts';
import type { Tx } from '../../../kit/store/store.ts';
import { flag, integer, json, nullable, type RowOf, table, text, time, word } from '../../../kit/store/table.ts';
import type { ApprovalVerdict } from '../../approvals/approvals.ts';
import type { ForeignTask } from '../foreign-tools.ts';

/** What is needed to act for the caller again after a restart; its credential is not kept. */
export type TaskCaller = Pick<Principal, 'kind' | 'userId' | 'via' | 'client' | 'agentId' | 'keyId'>;

/** A person's answer, for exactly this action. */
export interface TaskVerdict extends ApprovalVerdict {
  readonly actionHash: string;
}

const tasks = table('mcp_task', {
  id: text,
  /** Whose it is: to everybody else it is unknown. */
  client: text,
  caller: json<TaskCaller>(),
  tool: text,
  input: json<Readonly<Record<string, unknown>>>(),
  status: word<Task['status']>(),
  message: nullable(text),
  approvalId: nullable(text),
  verdict: nullable(json<TaskVerdict>()),
  /** The client has answered that the person knows where to approve. */
  shown: flag,
  /** From here on something may have been done. */
  beganAt: nullable(integer),
  result: nullable(json<ToolResult>()),
  error: nullable(json<RpcError>()),
  createdAt: time,
  updatedAt: time,
  expiresAt: time,
  /** The task that an attached server made of it. */
  upstream: nullable(json<ForeignTask>()),
  /** The approval that holds what an attached server asks; null while it asks nothing. */
  inputId: nullable(text),
});
export type TaskRow = RowOf<typeof tasks>;
type Reader = Pick<Tx, 'get' | 'all'>;

const opening = tasks.insert();

export function insertTask(tx: Tx, row: TaskRow): void {
  tx.run(opening.sql, ...opening.values(row));
}

/** For one that became no task after all. */
export function removeTask(tx: Tx, id: string): void {
  tx.run('DELETE FROM mcp_task WHERE id = ?', id);
}

export function readTask(tx: Reader, id: string): TaskRow | null {
  return tx.get<TaskRow>(`SELECT ${tasks.columns} FROM mcp_task WHERE id = ?`, id) ?? null;
}

/** Inputs and results may be long, and a list shows neither: only whether the result is an error. */
const listedColumns = tasks.columns.replace(/\binput\b/, `'{}' AS input`).replace(
  /\bresult\b/,
  `CASE WHEN result IS NULL THEN NULL WHEN json_extract(result, '$.isError')
      THEN '{"content":[],"isError":true}' ELSE '{"content":[],"isError":false}' END AS result`,
);
/** The newest, so many. */
const maxListed = 100;

/** Newest first, without inputs and results. */
export function tasksOf(tx: Reader, client: string, now: number): TaskRow[] {
  const sql = `SELECT ${listedColumns} FROM mcp_task WHERE client = ? AND expires_at > ? ORDER BY id DESC LIMIT ${maxListed}`;
  return tx.all<TaskRow>(sql, client, now);
}

export function countOf(tx: Reader, client: string): number {
  return tx.get<{ n: number }>('SELECT count(*) AS n FROM mcp_task WHERE client = ?', client)?.n ?? 0;
}

/** Oldest first. */
export function workingTasks(tx: Reader): TaskRow[] {
  return tx.all<TaskRow>(`SELECT ${tasks.columns} FROM mcp_task WHERE status = 'working' ORDER BY id`);
}

/** One that is followed at a server ends with its own time. */
const acting = `(status = 'working' AND began_at IS NOT NULL AND upstream IS NULL)`;

export function nextExpiry(tx: Reader): number | null {
  return (
    tx.get<{ next: number | null }>(`SELECT min(expires_at) AS next FROM mcp_task WHERE NOT ${acting}`)?.next ?? null
  );
}

/** The ids of those that are over, working ones among them. */
export function dropExpired(tx: Tx, now: number): string[] {
  // One that acts comes to its end.
  const sql = `DELETE FROM mcp_task WHERE expires_at <= ? AND NOT ${acting} RETURNING id`;
  return tx.all<{ id: string }>(sql, now).map(({ id }) => id);
}

export function waitsFor(tx: Tx, id: string, approvalId: string, message: string, now: number): void {
  const sql = `UPDATE mcp_task SET approval_id = ?, message = ?, updated_at = ? WHERE id = ? AND status = 'working'`;
  tx.run(sql, approvalId, message, now, id);
}

export function keepVerdict(tx: Tx, id: string, verdict: TaskVerdict, now: number): void {
  const sql = `UPDATE mcp_task SET verdict = ?, updated_at = ? WHERE id = ? AND status = 'working'`;
  tx.run(sql, JSON.stringify(verdict), now, id);
}

/** A server asks the person. One that has made no task of the call has not begun: the call can be made again. */
export function waitsForInput(tx: Tx, id: string, inputId: string, message: string, now: number): void {
  const sql = `UPDATE mcp_task SET input_id = ?, message = ?, shown = 0, updated_at = ?,
    began_at = CASE WHEN upstream IS NULL THEN NULL ELSE began_at END WHERE id = ? AND status = 'working'`;
  tx.run(sql, inputId, message, now, id);
}

/** Of several questions at once the last one is shown: an answer to another leaves it. */
export function inputAnswered(tx: Tx, id: string, inputId: string, now: number): void {
  const sql = `UPDATE mcp_task SET input_id = NULL, message = 'Running.', updated_at = ?
    WHERE id = ? AND input_id = ? AND status = 'working'`;
  tx.run(sql, now, id, inputId);
}

/** From here on it is followed there. */
export function followsThere(tx: Tx, id: string, task: ForeignTask, message: string, now: number): void {
  const sql = `UPDATE mcp_task SET upstream = ?, message = ?, began_at = coalesce(began_at, ?), updated_at = ?
    WHERE id = ? AND status = 'working'`;
  tx.run(sql, JSON.stringify(task), message, now, now, id);
}

export function serverSays(tx: Tx, id: string, message: string, now: number): void {
  const sql = `UPDATE mcp_task SET message = ?, updated_at = ? WHERE id = ? AND status = 'working' AND input_id IS NULL`;
  tx.run(sql, message, now, id);
}

export function wasShown(tx: Tx, id: string): void {
  tx.run(`UPDATE mcp_task SET shown = 1 WHERE id = ? AND status = 'working'`, id);
}

/** True for the one who acts; false if it has ended, or began before. */
export function begin(tx: Tx, id: string, now: number): boolean {
  const sql = `UPDATE mcp_task SET began_at = ?, message = 'Running.', updated_at = ?
    WHERE id = ? AND status = 'working' AND began_at IS NULL`;
  return tx.run(sql, now, now, id).changes === 1;
}

export interface TaskEnd {
  readonly status: Exclude<Task['status'], 'working'>;
  readonly message?: string;
  readonly result?: ToolResult;
  readonly error?: RpcError;
}

/** False: it had ended before, and stays as it is. */
export function endTask(tx: Tx, id: string, { status, message, result, error }: TaskEnd, now: number): boolean {
  const sql = `UPDATE mcp_task SET status = ?, message = ?, result = ?, error = ?, updated_at = ?
    WHERE id = ? AND status = 'working'`;
  const asJson = (value: unknown) => (value === undefined ? null : JSON.stringify(value));
  return tx.run(sql, status, message ?? null, asJson(result), asJson(error), now, id).changes === 1;
}
