/** SQL of jobs and their attempts. Each call is one step of an operation and decides only whether a row is still as it was read. */
import type { Job, JobAttempt, JobEvent, JobStatus, RuleConfig } from '../../../contracts/connectors/rule.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Tx, Value } from '../../../kit/store/store.ts';
import { aboutOf } from '../about.ts';
import type { ConnectorTickets } from '../ports.ts';

export type Read = Pick<Tx, 'get' | 'all'>;

// ---- Jobs

export interface JobRecord {
  readonly id: string;
  readonly subscriptionId: string;
  readonly eventName: string;
  readonly ruleId: string;
  readonly ruleVersion: number;
  readonly status: JobStatus;
  /** Counts changes: a change is written only if the row is still as it was read. */
  readonly version: number;
  readonly reason: string | null;
  readonly config: RuleConfig;
  /** A person has approved this attempt. */
  readonly approved: boolean;
  /** How often a person was asked. */
  readonly asked: number;
  readonly batchUntil: number | null;
  readonly stopBy: number | null;
  readonly sessionId: string | null;
  readonly output: string | null;
  readonly error: string | null;
  readonly createdAt: number;
}

interface JobRow extends Omit<JobRecord, 'config' | 'approved'> {
  readonly config: string;
  readonly approved: number;
}

const jobColumns = `id, subscription_id AS subscriptionId, event_name AS eventName, rule_id AS ruleId, rule_version AS ruleVersion,
  status, version, reason, config, approved, asked, batch_until AS batchUntil, stop_by AS stopBy, session_id AS sessionId, output, error,
  created_at AS createdAt`;
const toJob = (row: JobRow): JobRecord => ({
  ...row,
  config: JSON.parse(row.config) as RuleConfig,
  approved: row.approved === 1,
});
const selectJobs = (tx: Read, where: string, ...values: Value[]) =>
  tx.all<JobRow>(`SELECT ${jobColumns} FROM automation_job WHERE ${where}`, ...values).map(toJob);

type NewJob = Pick<
  JobRecord,
  'id' | 'subscriptionId' | 'eventName' | 'ruleId' | 'ruleVersion' | 'status' | 'config' | 'batchUntil' | 'createdAt'
>;

export function insertJob(tx: Tx, job: NewJob): void {
  tx.run(
    `INSERT INTO automation_job
       (id, subscription_id, event_name, rule_id, rule_version, bot_id, status, version, config, batch_until, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)`,
    job.id,
    job.subscriptionId,
    job.eventName,
    job.ruleId,
    job.ruleVersion,
    job.config.botId,
    job.status,
    JSON.stringify(job.config),
    job.batchUntil,
    job.createdAt,
  );
}

export function readJob(tx: Read, id: string): JobRecord | null {
  return selectJobs(tx, 'id = ?', id)[0] ?? null;
}

export interface JobChange {
  readonly reason: string | null;
  readonly approved?: boolean;
  readonly asked?: number;
  readonly stopBy?: number | null;
  readonly sessionId?: string | null;
  readonly output?: string | null;
  readonly error?: string | null;
}

/** False: it is not as it was read any more, and stays as it is. */
export function setStatus(tx: Tx, job: JobRecord, to: JobStatus, change: JobChange): boolean {
  const next = { ...job, ...change };
  const { changes } = tx.run(
    `UPDATE automation_job SET status = ?, version = version + 1, reason = ?, approved = ?, asked = ?, stop_by = ?, session_id = ?,
       output = ?, error = ? WHERE id = ? AND status = ? AND version = ?`,
    to,
    next.reason,
    next.approved ? 1 : 0,
    next.asked,
    next.stopBy,
    next.sessionId,
    next.output,
    next.error,
    job.id,
    job.status,
    job.version,
  );
  return changes === 1;
}

/** A person was asked about the earlier version: they are asked again. */
export function setConfig(tx: Tx, id: string, config: RuleConfig): void {
  const sql = 'UPDATE automation_job SET config = ?, version = version + 1, asked = asked + 1 WHERE id = ?';
  tx.run(sql, JSON.stringify(config), id);
}

/** Queued jobs of one rule for one bot wait for the same. */
type Queue = Pick<JobRecord, 'ruleId' | 'config'>;
const otherReason = "rule_id = ? AND bot_id = ? AND status = 'queued' AND reason IS NOT ?";
/** Whether {@link explainQueued} would change anything. */
export function isExplained(tx: Read, { ruleId, config }: Queue, reason: string): boolean {
  const sql = `SELECT 1 FROM automation_job WHERE ${otherReason} LIMIT 1`;
  return tx.get(sql, ruleId, config.botId, reason) === undefined;
}
/** Why they wait. */
export function explainQueued(tx: Tx, { ruleId, config }: Queue, reason: string): void {
  const sql = `UPDATE automation_job SET reason = ?, version = version + 1 WHERE ${otherReason}`;
  tx.run(sql, reason, ruleId, config.botId, reason);
}

/** Jobs that wait for a person, oldest first; without their events, since there may be very many. */
export function awaiting(tx: Read): { readonly id: string; readonly asked: number; readonly botId: string }[] {
  return tx.all("SELECT id, asked, bot_id AS botId FROM automation_job WHERE status = 'awaiting_approval' ORDER BY id");
}

const marks = (values: readonly unknown[]) => values.map(() => '?').join(', ');

/** Oldest first. */
export function jobsIn(tx: Read, states: readonly JobStatus[], ruleId?: string): JobRecord[] {
  const where = `status IN (${marks(states)})${ruleId === undefined ? '' : ' AND rule_id = ?'} ORDER BY id`;
  return selectJobs(tx, where, ...states, ...(ruleId === undefined ? [] : [ruleId]));
}

/** The job that gathers for this version of the rule, with how much it has. */
export function gathering(tx: Read, ruleId: string, ruleVersion: number): { job: JobRecord; events: number } | null {
  const where = "status = 'batching' AND rule_id = ? AND rule_version = ? ORDER BY id DESC LIMIT 1";
  const [job] = selectJobs(tx, where, ruleId, ruleVersion);
  if (job === undefined) return null;
  const count = tx.get<{ n: number }>('SELECT count(*) AS n FROM automation_input WHERE job_id = ?', job.id);
  return { job, events: count?.n ?? 0 };
}

/** The oldest queued job of each rule, and of each bot that it has named, oldest first: a missing bot delays no other. */
export function firstQueued(tx: Read): JobRecord[] {
  return selectJobs(
    tx,
    "id IN (SELECT min(id) FROM automation_job WHERE status = 'queued' GROUP BY rule_id, bot_id) AND status = 'queued' ORDER BY id",
  );
}

export function nextBatchEnd(tx: Read): number | null {
  const sql = "SELECT min(batch_until) AS at FROM automation_job WHERE status = 'batching'";
  return tx.get<{ at: number | null }>(sql)?.at ?? null;
}

// ---- What jobs are about

interface Input {
  readonly eventId: string;
  readonly ticketId: string;
  readonly at: number;
}

export function addInput(tx: Tx, jobId: string, { eventId, ticketId, at }: Input): void {
  tx.run(
    `INSERT INTO automation_input (job_id, seq, event_id, ticket_id, at)
     VALUES (?, (SELECT COALESCE(MAX(seq), 0) + 1 FROM automation_input WHERE job_id = ?), ?, ?, ?)`,
    jobId,
    jobId,
    eventId,
    ticketId,
    at,
  );
}

export function inputsOf(tx: Read, jobId: string): Input[] {
  return tx.all<Input>(
    'SELECT event_id AS eventId, ticket_id AS ticketId, at FROM automation_input WHERE job_id = ? ORDER BY seq',
    jobId,
  );
}

/** Tickets of the job that no other job is still to do, or did not: every one made of their events is completed. */
export function ticketsDoneBy(tx: Read, jobId: string): string[] {
  const sql = `SELECT mine.ticket_id AS id FROM automation_input mine WHERE mine.job_id = ? AND NOT EXISTS (
      SELECT 1 FROM automation_input i JOIN automation_job j ON j.id = i.job_id
      WHERE i.event_id = mine.event_id AND i.ticket_id = mine.ticket_id AND j.status <> 'completed') ORDER BY mine.seq`;
  return tx.all<{ id: string }>(sql, jobId).map(({ id }) => id);
}

// ---- Their moves

export function addMove(
  tx: Tx,
  jobId: string,
  move: { at: number; status: JobStatus; reason: string | null; actor: string },
): void {
  tx.run(
    `INSERT INTO automation_move (job_id, idx, at, status, reason, actor)
     VALUES (?, (SELECT COALESCE(MAX(idx) + 1, 0) FROM automation_move WHERE job_id = ?), ?, ?, ?, ?)`,
    jobId,
    jobId,
    move.at,
    move.status,
    move.reason,
    move.actor,
  );
}

export function movesOf(tx: Read, jobId: string): JobEvent[] {
  return tx
    .all<{ idx: number; at: number; status: JobStatus; reason: string | null; actor: string }>(
      'SELECT idx, at, status, reason, actor FROM automation_move WHERE job_id = ? ORDER BY idx',
      jobId,
    )
    .map(({ idx, at, ...rest }) => ({ index: idx, at: iso(at), ...rest }));
}

// ---- Attempts

interface AttemptRow {
  job_id: string;
  number: number;
  run_id: string;
  status: JobAttempt['status'];
  started_at: number;
  ended_at: number | null;
  usage: string | null;
  error: string | null;
}

export function addAttempt(tx: Tx, attempt: { job: JobRecord; runId: string; at: number }): void {
  tx.run(
    `INSERT INTO automation_attempt (job_id, number, run_id, rule_id, status, started_at)
     VALUES (?, (SELECT COALESCE(MAX(number), 0) + 1 FROM automation_attempt WHERE job_id = ?), ?, ?, 'running', ?)`,
    attempt.job.id,
    attempt.job.id,
    attempt.runId,
    attempt.job.ruleId,
    attempt.at,
  );
}

export function openAttempt(tx: Read, jobId: string): { runId: string } | null {
  const sql = "SELECT run_id AS runId FROM automation_attempt WHERE job_id = ? AND status = 'running'";
  return tx.get<{ runId: string }>(sql, jobId) ?? null;
}

export function endAttempt(
  tx: Tx,
  runId: string,
  end: {
    status: Exclude<JobAttempt['status'], 'running'>;
    at: number;
    usage: Readonly<Record<string, number>> | null;
    error: string | null;
  },
): void {
  tx.run(
    "UPDATE automation_attempt SET status = ?, ended_at = ?, usage = ?, error = ? WHERE run_id = ? AND status = 'running'",
    end.status,
    end.at,
    end.usage === null ? null : JSON.stringify(end.usage),
    end.error,
    runId,
  );
}

interface DayCount {
  /** When the attempts since then were begun, oldest first. */
  readonly startedAt: readonly number[];
  /** Spend reported by attempts that ended since then, oldest first; dollars. */
  readonly spent: readonly { readonly at: number; readonly usd: number }[];
}

/** Rolling: the rule's jobs since then. */
export function countSince(tx: Read, ruleId: string, since: number): DayCount {
  const started = tx.all<{ at: number }>(
    'SELECT started_at AS at FROM automation_attempt WHERE rule_id = ? AND started_at > ? ORDER BY started_at',
    ruleId,
    since,
  );
  const spent = tx.all<{ at: number; cents: number }>(
    `SELECT ended_at AS at, usage ->> '$.cents' AS cents FROM automation_attempt
     WHERE rule_id = ? AND ended_at > ? AND usage ->> '$.cents' IS NOT NULL ORDER BY ended_at`,
    ruleId,
    since,
  );
  return {
    startedAt: started.map(({ at }) => at),
    spent: spent.map(({ at, cents }) => ({ at, usd: cents / 100 })),
  };
}

// ---- As others read them

/** `output`: only whole jobs have it. */
export function wireJob(
  tx: Read,
  job: JobRecord,
  { output, tickets }: { readonly output: boolean; readonly tickets: Pick<ConnectorTickets, 'read'> },
): Job {
  const inputs = inputsOf(tx, job.id);
  const ticketId = inputs[0]?.ticketId ?? null;
  const attempts = tx.all<AttemptRow>('SELECT * FROM automation_attempt WHERE job_id = ? ORDER BY number', job.id);
  return {
    id: job.id,
    ruleId: job.ruleId,
    status: job.status,
    reason: job.reason,
    eventIds: inputs.map(({ eventId }) => eventId),
    about: ticketId === null ? null : aboutOf(tickets.read(tx, ticketId)?.data),
    ticketId,
    threadId: null,
    sessionId: job.sessionId,
    output: output ? job.output : null,
    error: job.error,
    createdAt: iso(job.createdAt),
    config: job.config,
    attempts: attempts.map((row) => ({
      number: row.number,
      runId: row.run_id,
      status: row.status,
      startedAt: iso(row.started_at),
      endedAt: row.ended_at === null ? null : iso(row.ended_at),
      usage: row.usage === null ? null : (JSON.parse(row.usage) as Record<string, number>),
      error: row.error,
    })),
  };
}

/** Newest first. */
export function listJobs(
  tx: Read,
  subscriptionId: string,
  filter: { status: JobStatus | undefined; rule: string | undefined; before: string | null; limit: number },
): JobRecord[] {
  const filters: [string, Value | null | undefined][] = [
    ['subscription_id = ?', subscriptionId],
    ['status = ?', filter.status],
    ['rule_id = ?', filter.rule],
    ['id < ?', filter.before],
  ];
  const given = filters.filter((one): one is [string, Value] => one[1] !== undefined && one[1] !== null);
  const where = given.map(([text]) => text).join(' AND ');
  return selectJobs(tx, `${where} ORDER BY id DESC LIMIT ?`, ...given.map(([, value]) => value), filter.limit);
}

export function runsOfEvents(
  tx: Read,
  subscriptionId: string,
  eventIds: readonly string[],
): { eventId: string; id: string; ruleId: string; status: JobStatus; at: number }[] {
  if (eventIds.length === 0) return [];
  return tx.all(
    `SELECT i.event_id AS eventId, j.id AS id, j.rule_id AS ruleId, j.status AS status, j.created_at AS at
     FROM automation_input i JOIN automation_job j ON j.id = i.job_id
     WHERE i.event_id IN (${marks(eventIds)}) AND j.subscription_id = ? ORDER BY j.id`,
    ...eventIds,
    subscriptionId,
  );
}

export function withJobs(tx: Read, subscriptionIds: readonly string[]): Set<string> {
  if (subscriptionIds.length === 0) return new Set();
  const rows = tx.all<{ id: string }>(
    `SELECT DISTINCT subscription_id AS id FROM automation_job WHERE subscription_id IN (${marks(subscriptionIds)})`,
    ...subscriptionIds,
  );
  return new Set(rows.map(({ id }) => id));
}
