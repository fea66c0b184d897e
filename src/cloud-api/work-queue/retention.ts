/**
 * How long ended tasks are kept. Waiting and held tasks stay however old they are, and so do sessions and deployments, so that a task's link leads
 * somewhere. Must not know leases.
 */
import type { TaskStatus } from '../../contracts/work-queue/task.ts';
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { moves } from './model.ts';

export const retentionMs = 30 * 24 * 3600 * 1000;

const nextOwner = 'SELECT user_id FROM work_task WHERE user_id > ? ORDER BY user_id LIMIT 1';
/**
 * The oldest of each state and person, so that neither younger nor waiting rows are read. Checks twice that a task has ended: somebody may just be
 * retrying it.
 */
const remove = (
  status: TaskStatus,
) => `DELETE FROM work_task WHERE status = '${status}' AND id IN (SELECT id FROM work_task
  WHERE user_id = ? AND status = '${status}' AND created_at < ? AND updated_at < ? ORDER BY created_at LIMIT ${portion})`;
const removals = [moves.ack.to, moves.fail.to, moves.cancel.to].map(remove);

/** Removes tasks that ended before that time (milliseconds since the epoch), person by person. */
export async function forgetEnded(store: SharedStore, before: number): Promise<void> {
  const ownerAfter = (userId: string) => store.get<{ user_id: string }>(nextOwner, userId);
  for (let owner = await ownerAfter(''); owner !== undefined; owner = await ownerAfter(owner.user_id)) {
    for (const sql of removals) await removePortions(store, sql, owner.user_id, before, before);
  }
}
