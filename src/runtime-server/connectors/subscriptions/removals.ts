/**
 * Removals that the cloud must still receive: written in the transaction of their cause, sent until the cloud took them. Those for another home
 * cloud wait until the computer is paired with it again. Owns `connector_removal`; must not know servers.
 */
import { unregisterSubscription } from '../../../contracts/connectors/relay.ts';
import type { Store, Tx } from '../../../kit/store/store.ts';
import type { EventHome, SubscriptionLog } from './deps.ts';
import type { OneAtATime } from './one-at-a-time.ts';

export interface Removals {
  /** In the transaction of its cause. `home` null: no cloud knows of it. */
  owe(tx: Tx, subscriptionId: string, home: string | null): void;
  /** The cloud is to know it again. */
  drop(tx: Tx, subscriptionId: string, home: string): void;
  /** Sends the removals of the current home. `ids`: only these. Never throws; the next call retries failed ones. */
  send(signal: AbortSignal, ids?: readonly string[]): Promise<void>;
}

interface Owed {
  readonly subscription_id: string;
  readonly attempts: number;
}

export function createRemovals({
  store,
  home,
  inTurn,
  log,
}: {
  readonly store: Store;
  readonly home: EventHome;
  readonly inTurn: OneAtATime;
  readonly log: SubscriptionLog;
}): Removals {
  const path = (id: string) => unregisterSubscription.path.replace(':sub', id);

  /** False: the cloud cannot be reached now. */
  async function sendOne(id: string, at: string, signal: AbortSignal): Promise<boolean> {
    const still = await store.read((tx) =>
      tx.get<Owed>('SELECT * FROM connector_removal WHERE subscription_id = ? AND home = ?', id, at),
    );
    if (still === undefined || home.name() !== at) return true;
    let failed: string | null;
    let reached = true;
    try {
      const answer = await home.call({
        method: unregisterSubscription.method,
        path: path(id),
        body: undefined,
        signal,
      });
      // Unknown there is as good as removed.
      failed = [200, 204, 404, 410].includes(answer.status) ? null : `the cloud answered ${answer.status}`;
    } catch (error) {
      failed = String(error);
      reached = false;
    }
    await store.write((tx) => {
      const sql =
        failed === null
          ? 'DELETE FROM connector_removal WHERE subscription_id = ? AND home = ?'
          : 'UPDATE connector_removal SET attempts = attempts + 1 WHERE subscription_id = ? AND home = ?';
      tx.run(sql, id, at);
    });
    if (failed !== null && still.attempts === 0) {
      log.warn('The cloud still accepts events for a subscription that ended.', { id, error: failed });
    }
    return reached;
  }

  return {
    owe(tx, id, at) {
      if (at === null) return;
      const sql = `INSERT INTO connector_removal (subscription_id, home, attempts) VALUES (?, ?, 0)
        ON CONFLICT (subscription_id, home) DO NOTHING`;
      tx.run(sql, id, at);
    },
    drop: (tx, id, at) => void tx.run('DELETE FROM connector_removal WHERE subscription_id = ? AND home = ?', id, at),
    async send(signal, ids) {
      const at = home.name();
      const owed = await store.read((tx) =>
        tx.all<Owed>('SELECT * FROM connector_removal WHERE home = ? ORDER BY attempts, subscription_id', at),
      );
      for (const { subscription_id: id } of owed) {
        if (signal.aborted) return;
        if (ids !== undefined && !ids.includes(id)) continue;
        if (!(await inTurn(id, () => sendOne(id, at, signal)))) return;
      }
    },
  };
}
