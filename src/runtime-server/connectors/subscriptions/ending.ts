/** Ends a subscription: at the server where possible, here, and at the cloud however long that takes. Must not know why. */
import type { SubscriptionDeps } from './deps.ts';
import type { Enrolment } from './enrol.ts';
import type { Removals } from './removals.ts';
import { findRow, type Read, type SubscriptionRow } from './rows.ts';

export interface Ending {
  /** In the turn of the subscription. The cloud is owed its removal afterwards. */
  end(row: SubscriptionRow): Promise<void>;
}

const maxArchived = 20;

export function createEnding(
  deps: Pick<SubscriptionDeps, 'store' | 'clock' | 'automation'> & {
    readonly enrolment: Pick<Enrolment, 'unsubscribe'>;
    readonly removals: Removals;
  },
): Ending {
  return {
    async end(row) {
      await deps.enrolment.unsubscribe(row);
      await deps.store.write((tx) => {
        const now = findRow(tx, row.id);
        if (now === undefined) return;
        deps.automation.ended(tx, row.id);
        // Read inside the transaction: it includes runs begun while the server was notified.
        if (deps.automation.withRuns(tx, [row.id]).has(row.id)) {
          const sql =
            'INSERT OR REPLACE INTO connector_archived (id, connector_id, name, ended_at) VALUES (?, ?, ?, ?)';
          tx.run(sql, row.id, now.connector_id, now.name, deps.clock.now());
        }
        tx.run('DELETE FROM connector_subscription WHERE id = ?', row.id);
        deps.removals.owe(tx, row.id, now.home);
      });
    },
  };
}

/** Newest first, only those that still have runs. */
export function archivedOf(
  tx: Read,
  connectorId: string,
  withRuns: (tx: Read, ids: readonly string[]) => ReadonlySet<string>,
): { id: string; name: string }[] {
  const stopped = tx.all<{ id: string; name: string }>(
    'SELECT id, name FROM connector_archived WHERE connector_id = ? ORDER BY ended_at DESC, id',
    connectorId,
  );
  const ids = withRuns(
    tx,
    stopped.map((one) => one.id),
  );
  return stopped.filter((one) => ids.has(one.id)).slice(0, maxArchived);
}

export function connectorOfArchived(tx: Read, id: string): string | null {
  const sql = 'SELECT connector_id AS connectorId FROM connector_archived WHERE id = ?';
  return tx.get<{ connectorId: string }>(sql, id)?.connectorId ?? null;
}

export function isArchived(tx: Read, connectorId: string, id: string): boolean {
  const sql = 'SELECT id FROM connector_archived WHERE connector_id = ? AND id = ?';
  return tx.get(sql, connectorId, id) !== undefined;
}
