/**
 * Runs, sessions, events and artifacts in the database and in their wire form. Owns the four tables; every change of a status
 * goes through {@link moveRun}. Must not know what a run does.
 */
import type {
  Artifact,
  Run,
  RunEvent,
  RunEventType,
  RunMode,
  RunStatus,
  Session,
  TargetScope,
} from '../../../contracts/computer-use/run.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Tx, Value } from '../../../kit/store/store.ts';
import { guardMove, hasEnded } from './states.ts';

type Reader = Pick<Tx, 'get' | 'all'>;

export interface RunRow {
  readonly seq: number;
  readonly id: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly mode: RunMode;
  readonly status: RunStatus;
  readonly task: string | null;
  readonly target_scope: TargetScope;
  readonly steps: number;
  readonly max_steps: number;
  readonly actions: number;
  readonly next_event: number;
  readonly result: string | null;
  readonly error: string | null;
  readonly approval: string | null;
  readonly pause: string | null;
  readonly model: string | null;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly micro_usd: number | null;
  readonly metadata: string;
  readonly created_at: number;
  readonly started_at: number | null;
  readonly finished_at: number | null;
}

export interface SessionRow {
  readonly seq: number;
  readonly id: string;
  readonly user_id: string;
  readonly target_scope: TargetScope;
  /** 1: opened for one run, and closed with it. */
  readonly of_run: number;
  readonly metadata: string;
  readonly created_at: number;
  readonly last_used_at: number;
  readonly closed_at: number | null;
}

export interface ArtifactRow {
  readonly id: string;
  readonly run_id: string;
  readonly kind: Artifact['kind'];
  readonly name: string;
  readonly media_type: string;
  readonly size: number;
  readonly sha256: string;
  readonly step: number | null;
  readonly created_at: number;
}

export type Result = NonNullable<Run['result']>;
export type Pause = NonNullable<Run['pause']>;
export type PendingApproval = NonNullable<Run['approval']>;

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

const insertOf = (table: string, row: object) => {
  const names = Object.keys(row);
  return `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
};
const insert = (tx: Tx, table: string, row: object) => {
  tx.run(insertOf(table, row), ...(Object.values(row) as Value[]));
};

type NewRun = Pick<
  RunRow,
  | 'id'
  | 'user_id'
  | 'session_id'
  | 'mode'
  | 'task'
  | 'target_scope'
  | 'max_steps'
  | 'model'
  | 'micro_usd'
  | 'metadata'
  | 'created_at'
>;

export function insertRun(tx: Tx, run: NewRun): void {
  const fresh = { status: 'queued', steps: 0, actions: 0, next_event: 0, input_tokens: 0, output_tokens: 0 };
  insert(tx, 'computer_use_run', { ...run, ...fresh });
}

export function insertSession(tx: Tx, session: Omit<SessionRow, 'seq'>): void {
  insert(tx, 'computer_use_session', session);
}

export function insertArtifact(tx: Tx, artifact: ArtifactRow): void {
  insert(tx, 'computer_use_artifact', artifact);
}

type Patch = Partial<
  Pick<
    RunRow,
    | 'steps'
    | 'actions'
    | 'result'
    | 'error'
    | 'approval'
    | 'pause'
    | 'input_tokens'
    | 'output_tokens'
    | 'micro_usd'
    | 'started_at'
    | 'finished_at'
  >
>;

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
  tx.run(
    'INSERT INTO computer_use_event (run_id, idx, type, at, message, data) VALUES (?, ?, ?, ?, ?, ?)',
    runId,
    row!.next_event - 1,
    type,
    at,
    message,
    JSON.stringify(data),
  );
}

/** Strictly after `index`, oldest first. */
export function eventsAfter(tx: Reader, runId: string, index: number, limit: number): RunEvent[] {
  return tx
    .all<{ idx: number; type: RunEventType; at: number; message: string; data: string }>(
      'SELECT idx, type, at, message, data FROM computer_use_event WHERE run_id = ? AND idx > ? ORDER BY idx LIMIT ?',
      runId,
      index,
      limit,
    )
    .map(({ idx, type, at, message, data }) => ({
      index: idx,
      event_type: type,
      run_id: runId,
      at: iso(at),
      message,
      data: JSON.parse(data) as Record<string, unknown>,
    }));
}

export function artifactsOf(tx: Reader, runId: string): ArtifactRow[] {
  return tx.all<ArtifactRow>('SELECT * FROM computer_use_artifact WHERE run_id = ? ORDER BY seq', runId);
}

export const artifactWire = ({ id, kind, media_type, size, step, created_at }: ArtifactRow): Artifact => ({
  artifact_id: id,
  kind,
  media_type,
  size,
  step,
  created_at: iso(created_at),
});

const parsed = <T>(text: string | null): T | null => (text === null ? null : (JSON.parse(text) as T));
const time = (ms: number | null) => (ms === null ? null : iso(ms));
const microPerDollar = 1_000_000;

export function runWire(row: RunRow, artifacts: readonly ArtifactRow[]): Run {
  return {
    run_id: row.id,
    session_id: row.session_id,
    mode: row.mode,
    status: row.status,
    task: row.task,
    target_scope: row.target_scope,
    steps: row.steps,
    max_steps: row.max_steps,
    result: parsed(row.result),
    error: parsed(row.error),
    approval: parsed(row.approval),
    pause: parsed(row.pause),
    artifacts: artifacts.map(artifactWire),
    usage: {
      model: row.model,
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      cost_usd: row.micro_usd === null ? null : row.micro_usd / microPerDollar,
      actions: row.actions,
    },
    metadata: JSON.parse(row.metadata) as Record<string, unknown>,
    created_at: iso(row.created_at),
    started_at: time(row.started_at),
    finished_at: time(row.finished_at),
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
    target_scope: row.target_scope,
    browser,
    metadata: JSON.parse(row.metadata) as Record<string, unknown>,
    created_at: iso(row.created_at),
    last_used_at: iso(row.last_used_at),
    run_ids: runIds,
  };
}
