/**
 * The audit of calls: one row a call, written before anything acts and closed afterwards. A call that an earlier stage ended has a row that names
 * that stage. Must not know why a call is allowed.
 */
import type { Tx } from '../../kit/store/store.ts';
import { flag, integer, json, nullable, type RowOf, table, text, time, word } from '../../kit/store/table.ts';
import type { Base } from '../base/base.ts';

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

const actions = table('computer_use_action', {
  id: text,
  user: text,
  surface: text,
  holderKind: text,
  holderId: text,
  place: text,
  toolset: text,
  member: text,
  /** Without text that is typed into credential fields. */
  input: json<Readonly<Record<string, unknown>>>(),
  url: nullable(text),
  turnId: nullable(text),
  callIndex: nullable(integer),
  actionHash: nullable(text),
  stage: word<Stage>(),
  outcome: word<Outcome>(),
  rule: nullable(text),
  approvalId: nullable(text),
  code: nullable(text),
  message: nullable(text),
  /** JSON of the answer without pictures, for a call that comes again. */
  result: nullable(text),
  at: time,
  endedAt: nullable(time),
  acts: flag,
});
const opening = actions.insert();

export type AuditRow = RowOf<typeof actions>;

export interface AuditEnd
  extends Pick<AuditRow, 'stage' | 'outcome'>,
    Partial<Pick<AuditRow, 'rule' | 'approvalId' | 'code' | 'message' | 'result'>> {
  /** It acts, or acted: not a second time for one place in a turn. False at its end: it did not act after all, and the place is free. */
  readonly acts?: boolean;
}

export interface AuditCall extends Omit<AuditRow, 'id' | 'input' | 'at' | 'endedAt' | keyof AuditEnd> {
  readonly input: Readonly<Record<string, unknown>>;
}

/** Characters of a message that is kept. */
const maxMessageLength = 1000;
/**
 * An end waits at most this long for the next row, so that both are one durable commit: a commit is a fifth of a click's cost. A process that dies
 * in between leaves `unknown`, as one that dies a moment earlier does; a call of a turn, which may be sent again, is answered only after its end is
 * durable (acting.ts). Milliseconds.
 */
const endWaitsMs = 25;

export function createAudit({ store, clock, timers, ids }: Pick<Base, 'store' | 'clock' | 'timers' | 'ids'>) {
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
    const row: AuditRow = {
      rule: null,
      approvalId: null,
      code: null,
      result: null,
      ...call,
      ...end,
      id,
      input: JSON.stringify(call.input),
      message: end.message?.slice(0, maxMessageLength) ?? null,
      at: now,
      endedAt: end.outcome === 'started' ? null : now,
      acts: end.acts === true ? 1 : 0,
    };
    tx.run(opening.sql, ...opening.values(row));
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
      const message = end.message?.slice(0, maxMessageLength) ?? null;
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
    ofTurn: (holderId: string, turnId: string): Promise<AuditRow[]> => {
      const sql = `SELECT ${actions.columns} FROM computer_use_action WHERE holder_id = ? AND turn_id = ? ORDER BY id`;
      return store.read((tx) => tx.all<AuditRow>(sql, holderId, turnId));
    },
  };
}

export type Audit = ReturnType<typeof createAudit>;
