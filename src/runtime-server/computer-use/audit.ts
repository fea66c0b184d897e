/**
 * The audit of calls: one row a call, written before anything acts and closed afterwards. A call that an earlier stage ended has a row that names
 * that stage. Must not know why a call is allowed.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import type { Ids } from '../../kit/ids/ids.ts';
import type { Store, Tx } from '../../kit/store/store.ts';

export type Stage = 'contract' | 'turn' | 'lease' | 'look' | 'policy' | 'approval' | 'action';

/**
 * started: it may act now · done · error: the page refused · failed: browser or display were missing · cancelled: stopped on the way · unknown: the
 * runtime ended during it · the others: nothing was done.
 */
export type Outcome =
  | 'started'
  | 'done'
  | 'error'
  | 'failed'
  | 'cancelled'
  | 'unknown'
  | 'invalid'
  | 'not_executed'
  | 'no_control'
  | 'denied'
  | 'approval_required';

export interface AuditCall {
  readonly user: string;
  readonly surface: string;
  readonly holderKind: string;
  readonly holderId: string;
  readonly place: string;
  readonly toolset: string;
  readonly member: string;
  /** Without text that is typed into credential fields. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly url: string | null;
  readonly turnId: string | null;
  readonly callIndex: number | null;
  readonly actionHash: string | null;
}

export interface AuditEnd {
  /** It acts, or acted: not a second time for one place in a turn. False at its end: it did not act after all, and the place is free. */
  readonly acts?: boolean;
  readonly stage: Stage;
  readonly outcome: Outcome;
  readonly rule?: string | null;
  readonly approvalId?: string | null;
  readonly code?: string | null;
  readonly message?: string | null;
  /** JSON of the answer without pictures, for a call that comes again. */
  readonly result?: string | null;
}

export interface AuditRow extends AuditCall, Required<Omit<AuditEnd, 'acts'>> {
  readonly acts: 0 | 1;
  readonly id: string;
  readonly at: number;
  readonly endedAt: number | null;
}

interface StoredRow extends Omit<AuditRow, 'input'> {
  readonly input: string;
}

const columns = `id, user, surface, holder_kind AS holderKind, holder_id AS holderId, place, toolset, member, input, url,
  turn_id AS turnId, call_index AS callIndex, action_hash AS actionHash, stage, outcome, rule, approval_id AS approvalId, code,
  message, result, at, ended_at AS endedAt, acts`;
/** Characters of a message that is kept. */
const longestMessage = 1000;
/**
 * An end waits at most this long for the next row, so that both are one durable commit: a commit is a fifth of a click's cost. A process that dies
 * in between leaves `unknown`, as one that dies a moment earlier does; a call of a turn, which may be sent again, is answered only after its end is
 * durable (acting.ts). Milliseconds.
 */
const endWaitsMs = 25;

export interface AuditDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
}

export function createAudit({ store, clock, timers, ids }: AuditDeps) {
  /** Ends that are not written yet. */
  let ends: (() => void)[] = [];
  let cancelFlush = () => {};

  function flush(): void {
    cancelFlush();
    const due = ends;
    ends = [];
    for (const write of due) write();
  }

  function insert(tx: Tx, call: AuditCall, end: AuditEnd): string {
    const id = ids.next('act');
    const now = clock.now();
    tx.run(
      `INSERT INTO computer_use_action (id, user, surface, holder_kind, holder_id, place, toolset, member, input, url, turn_id,
        call_index, action_hash, stage, outcome, rule, approval_id, code, message, result, at, ended_at, acts)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      call.user,
      call.surface,
      call.holderKind,
      call.holderId,
      call.place,
      call.toolset,
      call.member,
      JSON.stringify(call.input),
      call.url,
      call.turnId,
      call.callIndex,
      call.actionHash,
      end.stage,
      end.outcome,
      end.rule ?? null,
      end.approvalId ?? null,
      end.code ?? null,
      end.message?.slice(0, longestMessage) ?? null,
      end.result ?? null,
      now,
      end.outcome === 'started' ? null : now,
      end.acts === true ? 1 : 0,
    );
    return id;
  }

  return {
    /** Resolves when the row is durable. `also` is in the same transaction; if it throws, there is no row. */
    write(call: AuditCall, end: AuditEnd, also?: (tx: Tx) => void): Promise<string> {
      flush();
      return store.write((tx) => {
        also?.(tx);
        return insert(tx, call, end);
      });
    },
    /** Resolves when the end is durable: with the next row, with {@link flush}, or soon after. */
    close(id: string, end: Omit<AuditEnd, 'stage'>): Promise<void> {
      const acts = end.acts === false ? ', acts = 0' : '';
      const sql = `UPDATE computer_use_action SET outcome = ?, code = ?, message = ?, result = ?, ended_at = ?${acts}
          WHERE id = ? AND outcome = 'started'`;
      const message = end.message?.slice(0, longestMessage) ?? null;
      const values = [end.outcome, end.code ?? null, message, end.result ?? null, clock.now(), id];
      return new Promise((resolve, reject) => {
        ends.push(() => store.write((tx) => void tx.run(sql, ...values)).then(resolve, reject));
        if (ends.length === 1) cancelFlush = timers.after(endWaitsMs, flush);
      });
    },
    /** Called before reading or ending, which do not wait. */
    flush,
    /** Rows that an earlier process left open: whether their actions happened is unknown. */
    closeLeftOpen: (): Promise<number> =>
      store.write(
        (tx) =>
          tx.run(
            `UPDATE computer_use_action SET outcome = 'unknown', ended_at = ? WHERE outcome = 'started'`,
            clock.now(),
          ).changes,
      ),
    /** Rows of one turn, oldest first. */
    ofTurn: (holderId: string, turnId: string): Promise<AuditRow[]> =>
      store.read((tx) =>
        tx
          .all<StoredRow>(
            `SELECT ${columns} FROM computer_use_action WHERE holder_id = ? AND turn_id = ? ORDER BY id`,
            holderId,
            turnId,
          )
          .map((row) => ({ ...row, input: JSON.parse(row.input) as Record<string, unknown> })),
      ),
  };
}

export type Audit = ReturnType<typeof createAudit>;
