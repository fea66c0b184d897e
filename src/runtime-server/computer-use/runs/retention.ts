/** Removes expired rows: runs that have ended, with their events and files, and closed sessions. */
import type { Store } from '../../../kit/store/store.ts';
import type { ToolsetGate } from '../gate.ts';
import type { Artifacts } from './artifacts.ts';

/** Milliseconds. */
export const retentionMs = 30 * 24 * 3600_000;
/** Runs removed in one transaction: a run has up to some thousand events. */
const portion = 10;

/** `now`: milliseconds since the epoch. */
export async function forgetOld(
  {
    store,
    artifacts,
    gate,
  }: {
    readonly store: Store;
    readonly artifacts: Pick<Artifacts, 'remove'>;
    readonly gate: Pick<ToolsetGate, 'sessions'>;
  },
  now: number,
): Promise<void> {
  const before = now - retentionMs;
  for (let left = true; left; ) {
    const { runs, files } = await store.write((tx) => {
      const old = tx.all<{ id: string }>(
        'SELECT id FROM computer_use_run WHERE finished_at < ? ORDER BY finished_at LIMIT ?',
        before,
        portion,
      );
      const hashes = new Set<string>();
      for (const { id } of old) {
        for (const { sha256 } of tx.all<{ sha256: string }>(
          'SELECT sha256 FROM computer_use_artifact WHERE run_id = ?',
          id,
        )) {
          hashes.add(sha256);
        }
        tx.run('DELETE FROM computer_use_artifact WHERE run_id = ?', id);
        tx.run('DELETE FROM computer_use_event WHERE run_id = ?', id);
        tx.run('DELETE FROM computer_use_run WHERE id = ?', id);
      }
      const still = 'SELECT 1 FROM computer_use_artifact WHERE sha256 = ? LIMIT 1';
      return { runs: old.length, files: [...hashes].filter((sha256) => tx.get(still, sha256) === undefined) };
    });
    for (const sha256 of files) await artifacts.remove(sha256);
    left = runs === portion;
  }
  const closed = await store.read((tx) =>
    tx.all<{ id: string; of_run: number }>(
      `SELECT id, of_run FROM computer_use_session WHERE closed_at < ?
         AND NOT EXISTS (SELECT 1 FROM computer_use_run WHERE session_id = computer_use_session.id)`,
      before,
    ),
  );
  for (const { id, of_run } of closed) {
    if (of_run === 0) await gate.sessions.close(id, true);
    await store.write((tx) => tx.run('DELETE FROM computer_use_session WHERE id = ?', id));
  }
}
