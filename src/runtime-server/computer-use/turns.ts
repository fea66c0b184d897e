/**
 * Calls of one turn: after the first that failed, no later one is carried out, and a call that was carried out is never repeated.
 * Decided by the audit, so that a restart forgets nothing. Pure.
 */
import type { AuditRow, Outcome } from './audit.ts';

type TurnVerdict =
  | { readonly kind: 'go' }
  /** It has acted: the answer is its recorded result. */
  | { readonly kind: 'again'; readonly row: AuditRow }
  | { readonly kind: 'stopped'; readonly by: AuditRow };

/** A caller that sends these again may still get through; they stop later calls only by their index. */
const open: ReadonlySet<Outcome> = new Set<Outcome>(['approval_required', 'not_executed']);

/** `rows` of the turn, oldest first. */
export function judgeTurn(rows: readonly AuditRow[], callIndex: number | null): TurnVerdict {
  const again = callIndex === null ? undefined : rows.find((row) => row.callIndex === callIndex && row.acts === 1);
  if (again !== undefined) return { kind: 'again', row: again };
  const latest = new Map<number, AuditRow>();
  for (const row of rows) if (row.callIndex !== null) latest.set(row.callIndex, row);
  const failed = (row: AuditRow) => row.outcome !== 'done' && row.outcome !== 'started' && !open.has(row.outcome);
  const by =
    rows.find((row) => row.callIndex === null && failed(row)) ??
    [...latest.values()]
      .sort((one, other) => one.callIndex! - other.callIndex!)
      .find((row) => (callIndex === null ? failed(row) : row.callIndex! < callIndex && row.outcome !== 'done'));
  return by === undefined ? { kind: 'go' } : { kind: 'stopped', by };
}
