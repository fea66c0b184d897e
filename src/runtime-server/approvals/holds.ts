/**
 * Questions that this computer still remembers: holds in `runtime.db`, as whole operations inside one transaction. The moves are data; an answer is
 * taken by `UPDATE … WHERE state = 'live'`. Must not know who waits or where the cloud is.
 */
import type { Approval, ApprovalQuestion } from '../../contracts/approvals/approval.ts';
import { iso } from '../../kit/clock/clock.ts';
import type { Migration, Tx } from '../../kit/store/store.ts';
import type { PolicyAction } from '../policy/index.ts';

/** `answered`: a person decided; `taken` says whether an asker has acted on it. */
type HoldState = 'live' | 'answered' | 'expired' | 'withdrawn';

/** Times in milliseconds since the epoch. */
export interface Hold {
  readonly id: string;
  readonly question: ApprovalQuestion;
  readonly actionHash: string;
  /** What a rule of the policy could allow instead. */
  readonly action: PolicyAction | null;
  readonly dedupeKey: string | null;
  readonly deadline: number;
  /** When it ends however often it is asked again; equal to the deadline where the asker does not come back. */
  readonly longest: number;
  readonly ledgerId: string;
  readonly state: HoldState;
  readonly decision: 'approve' | 'reject' | null;
  readonly note: string | null;
  readonly user: string | null;
  readonly surface: string | null;
  /** When the person answered, or when it was withdrawn or found expired; by this computer's clock. */
  readonly endedAt: number | null;
  /** When the person answered, by the cloud's clock; identifies a repeated answer. */
  readonly answeredAt: number | null;
  readonly takenAt: number | null;
}

/** A scrape looks at no more. */
const maxCounted = 10_000;

/** From which state each move starts; every move ends a live hold, and `take` an answered one's wait. */
const holdMoves = {
  answer: { from: 'live', to: 'answered' },
  expire: { from: 'live', to: 'expired' },
  withdraw: { from: 'live', to: 'withdrawn' },
} as const satisfies Record<string, { from: HoldState; to: HoldState }>;
type HoldMove = keyof typeof holdMoves;

export const holdMigrations: readonly Migration[] = [
  {
    area: 'approvals',
    number: 1,
    name: 'holds',
    sql: `
      CREATE TABLE approval_hold (
        id TEXT PRIMARY KEY,
        question TEXT NOT NULL,
        action_hash TEXT NOT NULL,
        dedupe_key TEXT,
        deadline INTEGER NOT NULL,
        ledger_id TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('live', 'answered', 'expired', 'withdrawn')),
        decision TEXT CHECK (decision IN ('approve', 'reject')),
        note TEXT,
        user TEXT,
        surface TEXT,
        ended_at INTEGER,
        taken_at INTEGER,
        dag_id TEXT,
        node_id TEXT,
        CHECK ((state = 'answered') = (decision IS NOT NULL))
      ) STRICT;
      CREATE UNIQUE INDEX approval_hold_key ON approval_hold (dedupe_key) WHERE state = 'live' AND dedupe_key IS NOT NULL;
      CREATE INDEX approval_hold_answered ON approval_hold (dedupe_key) WHERE state = 'answered' AND taken_at IS NULL;
      CREATE INDEX approval_hold_live ON approval_hold (deadline) WHERE state = 'live';
      CREATE INDEX approval_hold_ended ON approval_hold (ended_at) WHERE ended_at IS NOT NULL;
      CREATE INDEX approval_hold_node ON approval_hold (dag_id, node_id) WHERE dag_id IS NOT NULL;
    `,
  },
  {
    area: 'approvals',
    number: 2,
    name: 'clients',
    sql: 'ALTER TABLE approval_hold ADD COLUMN client TEXT',
  },
  {
    area: 'approvals',
    number: 3,
    name: 'ends',
    sql: `
      ALTER TABLE approval_hold ADD COLUMN longest INTEGER;
      ALTER TABLE approval_hold ADD COLUMN answered_at INTEGER;
    `,
  },
  {
    area: 'approvals',
    number: 4,
    name: 'action',
    sql: 'ALTER TABLE approval_hold ADD COLUMN action TEXT',
  },
];

interface HoldRow extends Omit<Hold, 'question' | 'action'> {
  readonly question: string;
  readonly action: string | null;
}

const columns = `id, question, action_hash AS actionHash, action, dedupe_key AS dedupeKey, deadline,
  COALESCE(longest, deadline) AS longest, ledger_id AS ledgerId, state,
  decision, note, user, surface, ended_at AS endedAt, COALESCE(answered_at, ended_at) AS answeredAt, taken_at AS takenAt`;
type Reader = Pick<Tx, 'get' | 'all'>;

interface NewHold {
  readonly id: string;
  readonly question: ApprovalQuestion;
  readonly actionHash: string;
  readonly action: PolicyAction | null;
  readonly dedupeKey: string | null;
  readonly client: string | null;
  readonly longest: number;
  readonly ledgerId: string;
}

export function insertHold(
  tx: Tx,
  { id, question, actionHash, action, dedupeKey, client, longest, ledgerId }: NewHold,
): void {
  tx.run(
    `INSERT INTO approval_hold (id, question, action_hash, dedupe_key, deadline, ledger_id, state, dag_id, node_id, client, longest, action)
      VALUES (?, ?, ?, ?, ?, ?, 'live', ?, ?, ?, ?, ?)`,
    id,
    JSON.stringify(question),
    actionHash,
    dedupeKey,
    Date.parse(question.expiresAt),
    ledgerId,
    question.dagId ?? null,
    question.nodeId ?? null,
    client,
    longest,
    action === null ? null : JSON.stringify(action),
  );
}

/** Moves the end of a live hold, also in its question. */
export function moveDeadline(tx: Tx, id: string, deadline: number): void {
  const sql = `UPDATE approval_hold SET deadline = ?, question = json_set(question, '$.expiresAt', ?) WHERE id = ? AND state = 'live'`;
  tx.run(sql, deadline, iso(deadline), id);
}

interface HoldEnd {
  readonly decision: 'approve' | 'reject' | null;
  readonly note: string | null;
  readonly user: string | null;
  readonly surface: string | null;
  readonly at: number;
  /** Of an answer: its time by the cloud's clock. */
  readonly answeredAt?: number;
}

/** False: it was not live any more, and stays as it is. */
export function endHold(tx: Tx, id: string, move: HoldMove, end: HoldEnd): boolean {
  const { from, to } = holdMoves[move];
  const sql = `UPDATE approval_hold SET state = ?, decision = ?, note = ?, user = ?, surface = ?, ended_at = ?, answered_at = ?
    WHERE id = ? AND state = ?`;
  return (
    tx.run(sql, to, end.decision, end.note, end.user, end.surface, end.at, end.answeredAt ?? null, id, from).changes ===
    1
  );
}

/** True for the one who acts on the answer. */
export function takeAnswer(tx: Tx, id: string, now: number): boolean {
  const sql = `UPDATE approval_hold SET taken_at = ? WHERE id = ? AND state = 'answered' AND taken_at IS NULL`;
  return tx.run(sql, now, id).changes === 1;
}

export function readHold(tx: Reader, id: string): Hold | null {
  return toHold(tx.get<HoldRow>(`SELECT ${columns} FROM approval_hold WHERE id = ?`, id));
}

export function liveByKey(tx: Reader, key: string): Hold | null {
  return toHold(tx.get<HoldRow>(`SELECT ${columns} FROM approval_hold WHERE dedupe_key = ? AND state = 'live'`, key));
}

/** The newest answer that has not been used yet. */
export function untakenByKey(tx: Reader, key: string): Hold | null {
  const sql = `SELECT ${columns} FROM approval_hold WHERE dedupe_key = ? AND state = 'answered' AND taken_at IS NULL
    ORDER BY ended_at DESC LIMIT 1`;
  return toHold(tx.get<HoldRow>(sql, key));
}

/** Since when live holds wait, at most so many; milliseconds since the epoch. */
export function waitingSince(tx: Reader): number[] {
  return tx
    .all<{ at: string }>(
      `SELECT question ->> '$.requestedAt' AS at FROM approval_hold WHERE state = 'live' LIMIT ${maxCounted}`,
    )
    .map(({ at }) => Date.parse(at));
}

/** Newest first. */
export function liveHolds(tx: Reader): Hold[] {
  return tx
    .all<HoldRow>(`SELECT ${columns} FROM approval_hold WHERE state = 'live' ORDER BY id DESC`)
    .map((row) => toHold(row)!);
}

export function liveOfAgent(tx: Reader, agentId: string): number {
  const sql = `SELECT count(*) AS n FROM approval_hold WHERE state = 'live' AND question ->> '$.agentId' = ?`;
  return tx.get<{ n: number }>(sql, agentId)?.n ?? 0;
}

export function liveOfClient(tx: Reader, client: string): number {
  const sql = `SELECT count(*) AS n FROM approval_hold WHERE state = 'live' AND client = ?`;
  return tx.get<{ n: number }>(sql, client)?.n ?? 0;
}

/** Whether it asks a person now, or acted on an answer at or after `since`. */
export function askedOfAgent(tx: Reader, agentId: string, since: number): boolean {
  const sql = `SELECT 1 AS found FROM approval_hold WHERE question ->> '$.agentId' = ?
    AND (state = 'live' OR (state = 'answered' AND COALESCE(taken_at, ended_at) >= ?)) LIMIT 1`;
  return tx.get(sql, agentId, since) !== undefined;
}

/** The live one of a node, else the newest. */
export function holdOfNode(tx: Reader, dagId: string, nodeId: string): Hold | null {
  const sql = `SELECT ${columns} FROM approval_hold WHERE dag_id = ? AND node_id = ?
    ORDER BY state = 'live' DESC, id DESC LIMIT 1`;
  return toHold(tx.get<HoldRow>(sql, dagId, nodeId));
}

/** Oldest first. */
export function holdsOfRun(tx: Reader, dagId: string): Hold[] {
  const sql = `SELECT ${columns} FROM approval_hold WHERE dag_id = ? ORDER BY id`;
  return tx.all<HoldRow>(sql, dagId).flatMap((row) => toHold(row) ?? []);
}

/** When the next hold expires, in milliseconds since the epoch. */
export function nextDeadline(tx: Reader): number | null {
  const sql = `SELECT min(deadline) AS next FROM approval_hold WHERE state = 'live'`;
  return tx.get<{ next: number | null }>(sql)?.next ?? null;
}

export function overdue(tx: Reader, now: number): Hold[] {
  const sql = `SELECT ${columns} FROM approval_hold WHERE state = 'live' AND deadline <= ?`;
  return tx.all<HoldRow>(sql, now).map((row) => toHold(row)!);
}

export function forgetEnded(tx: Tx, before: number): void {
  tx.run('DELETE FROM approval_hold WHERE ended_at < ?', before);
}

function toHold(row: HoldRow | undefined): Hold | null {
  if (row === undefined) return null;
  const action = row.action === null ? null : (JSON.parse(row.action) as PolicyAction);
  return { ...row, question: JSON.parse(row.question) as ApprovalQuestion, action };
}

/** The hold in the shape that every surface shows. */
export function holdAsApproval(hold: Hold, now: number): Approval {
  const over = hold.state === 'answered' || hold.state === 'withdrawn';
  return {
    id: hold.id,
    ...hold.question,
    state: over ? 'resolved' : 'pending',
    ...(over ? {} : { remainingMs: Math.max(0, hold.deadline - now) }),
    decision: hold.decision,
    resolvedAt: over && hold.endedAt !== null ? iso(hold.endedAt) : null,
    resolvedBy: over && hold.surface !== null ? { user: hold.user ?? 'engine', surface: hold.surface } : null,
    appliedAt: hold.takenAt === null ? null : iso(hold.takenAt),
    note: hold.note,
  };
}
