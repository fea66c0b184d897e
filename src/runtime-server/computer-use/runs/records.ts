/**
 * Runs, sessions, events and artifacts in the database and in their wire form. Owns the four tables; every change of a status
 * goes through {@link moveRun}. Must not know what a run does.
 */
import {
  Artifact,
  Run,
  RunEvent,
  type RunEventType,
  type RunMode,
  type RunStatus,
  Session,
  type TargetScope,
} from '../../../contracts/computer-use/run.ts';
import type { Tx, Value } from '../../../kit/store/store.ts';
import { flag, integer, json, nullable, type RowOf, table, text, time, word } from '../../../kit/store/table.ts';
import { guardMove, hasEnded } from './states.ts';

type Reader = Pick<Tx, 'get' | 'all'>;

export type Result = NonNullable<Run['result']>;
export type Pause = NonNullable<Run['pause']>;
export type PendingApproval = NonNullable<Run['approval']>;

const runs = table('computer_use_run', {
  id: text,
  user_id: text,
  session_id: text,
  mode: word<RunMode>(),
  status: word<RunStatus>(),
  task: nullable(text),
  target_scope: word<TargetScope>(),
  steps: integer,
  max_steps: integer,
  actions: integer,
  next_event: integer,
  result: nullable(json<Result>()),
  error: nullable(json<NonNullable<Run['error']>>()),
  approval: nullable(json<PendingApproval>()),
  pause: nullable(json<Pause>()),
  model: nullable(text),
  input_tokens: integer,
  output_tokens: integer,
  micro_usd: nullable(integer),
  metadata: json<Run['metadata']>(),
  created_at: time,
  started_at: nullable(time),
  finished_at: nullable(time),
});
const sessions = table('computer_use_session', {
  id: text,
  user_id: text,
  target_scope: word<TargetScope>(),
  /** Opened for one run, and closed with it. */
  of_run: flag,
  metadata: json<Session['metadata']>(),
  created_at: time,
  last_used_at: time,
  closed_at: nullable(time),
});
const artifacts = table('computer_use_artifact', {
  id: text,
  run_id: text,
  kind: word<Artifact['kind']>(),
  name: text,
  media_type: text,
  size: integer,
  sha256: text,
  step: nullable(integer),
  created_at: time,
});
const events = table('computer_use_event', {
  run_id: text,
  idx: integer,
  type: word<RunEventType>(),
  at: time,
  message: text,
  data: json<RunEvent['data']>(),
});

/** In the order in which they were made. */
interface Numbered {
  readonly seq: number;
}
export type RunRow = RowOf<typeof runs> & Numbered;
export type SessionRow = RowOf<typeof sessions> & Numbered;
export type ArtifactRow = RowOf<typeof artifacts>;

/** A run that has ended never changes: its remaining work stops. */
export class Ended extends Error {}

export const findRun = (tx: Reader, id: string): RunRow | null =>
  tx.get<RunRow>('SELECT * FROM computer_use_run WHERE id = ?', id) ?? null;
export function isLiving(tx: Reader, id: string): boolean {
  const run = findRun(tx, id);
  return run !== null && !hasEnded(run.status);
}
export const findSession = (tx: Reader, id: string): SessionRow | null =>
  tx.get<SessionRow>('SELECT * FROM computer_use_session WHERE id = ?', id) ?? null;

const runInsert = runs.insert();
const sessionInsert = sessions.insert();
const artifactInsert = artifacts.insert();
const eventInsert = events.insert();

/** A run as it begins: what changes while it lives. */
const fresh = {
  status: 'queued',
  steps: 0,
  actions: 0,
  next_event: 0,
  result: null,
  error: null,
  approval: null,
  pause: null,
  input_tokens: 0,
  output_tokens: 0,
  micro_usd: 0,
  started_at: null,
  finished_at: null,
} as const;

export function insertRun(tx: Tx, run: Omit<RowOf<typeof runs>, keyof typeof fresh>): void {
  tx.run(runInsert.sql, ...runInsert.values({ ...run, ...fresh }));
}

export function insertSession(tx: Tx, session: RowOf<typeof sessions>): void {
  tx.run(sessionInsert.sql, ...sessionInsert.values(session));
}

export function insertArtifact(tx: Tx, artifact: ArtifactRow): void {
  tx.run(artifactInsert.sql, ...artifactInsert.values(artifact));
}

type Patch = Partial<Pick<RunRow, Exclude<keyof typeof fresh, 'status' | 'next_event'>>>;

/** Changes of a run that lives; throws {@link Ended} for one that does not. */
export function patchRun(tx: Tx, id: string, patch: Patch): RunRow {
  const row = liveRun(tx, id);
  write(tx, id, patch);
  return row;
}

/** Through the one guard. Throws {@link Ended} where the run has ended in between. */
export function moveRun(tx: Tx, id: string, to: RunStatus, patch: Patch = {}): RunRow {
  const row = liveRun(tx, id);
  guardMove(id, row.status, to);
  write(tx, id, { ...patch, status: to });
  return row;
}

export function liveRun(tx: Reader, id: string): RunRow {
  const row = findRun(tx, id);
  if (row === null || hasEnded(row.status)) throw new Ended(`The run ${id} has ended.`);
  return row;
}

function write(tx: Tx, id: string, patch: object): void {
  const names = Object.keys(patch);
  if (names.length === 0) return;
  const set = names.map((name) => `${name} = ?`).join(', ');
  tx.run(`UPDATE computer_use_run SET ${set} WHERE id = ?`, ...(Object.values(patch) as Value[]), id);
}

export interface NewEvent {
  readonly type: RunEventType;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** The index has no gap: it is counted in the run's own row. */
export function appendEvent(tx: Tx, runId: string, at: number, { type, message, data = {} }: NewEvent): void {
  const row = tx.get<{ next_event: number }>(
    'UPDATE computer_use_run SET next_event = next_event + 1 WHERE id = ? RETURNING next_event',
    runId,
  );
  const event = { run_id: runId, idx: row!.next_event - 1, type, at, message, data: JSON.stringify(data) };
  tx.run(eventInsert.sql, ...eventInsert.values(event));
}

const sentEvent = events.wire(RunEvent.shape);

/** Strictly after `index`, oldest first. */
export function eventsAfter(tx: Reader, runId: string, index: number, limit: number): RunEvent[] {
  const sql = `SELECT ${events.columns} FROM computer_use_event WHERE run_id = ? AND idx > ? ORDER BY idx LIMIT ?`;
  return tx
    .all<RowOf<typeof events>>(sql, runId, index, limit)
    .map((row) => ({ index: row.idx, event_type: row.type, ...sentEvent(row) }));
}

export function artifactsOf(tx: Reader, runId: string): ArtifactRow[] {
  return tx.all<ArtifactRow>('SELECT * FROM computer_use_artifact WHERE run_id = ? ORDER BY seq', runId);
}

const sentArtifact = artifacts.wire(Artifact.shape);
const sentRun = runs.wire(Run.shape);
const sentSession = sessions.wire(Session.shape);
const microPerDollar = 1_000_000;

export function runWire(row: RunRow, artifacts: readonly ArtifactRow[]): Run {
  return {
    run_id: row.id,
    ...sentRun(row),
    artifacts: artifacts.map((artifact) => ({ artifact_id: artifact.id, ...sentArtifact(artifact) })),
    usage: {
      model: row.model,
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      cost_usd: row.micro_usd === null ? null : row.micro_usd / microPerDollar,
      actions: row.actions,
    },
  };
}

export function readRun(tx: Reader, id: string): Run | null {
  const row = findRun(tx, id);
  return row === null ? null : runWire(row, artifactsOf(tx, id));
}

/** Newest first. */
export function runIdsOf(tx: Reader, sessionId: string): string[] {
  return tx
    .all<{ id: string }>('SELECT id FROM computer_use_run WHERE session_id = ? ORDER BY seq DESC', sessionId)
    .map(({ id }) => id);
}

export function sessionWire(row: SessionRow, browser: Session['browser'], runIds: string[]): Session {
  return {
    session_id: row.id,
    status: row.closed_at === null ? 'open' : 'closed',
    browser,
    run_ids: runIds,
    ...sentSession(row),
  };
}
