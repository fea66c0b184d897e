/**
 * How long tasks are kept once they have ended. What waits or is held stays however old it is, and so do sessions and
 * deployments, so that a task's link leads somewhere. Must not know leases.
 */
import type { TaskStatus } from '../../contracts/work-queue/task.ts';
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { moves } from './model.ts';

export const keptMs = 30 * 24 * 3600 * 1000;

const nextOwner = 'SELECT user_id FROM work_task WHERE user_id > ? ORDER BY user_id LIMIT 1';
/**
 * Of each state, the oldest of each person, so that what is still kept is not looked at, nor what waits however long. Asked twice
 * whether it has ended: somebody may just be trying it again.
 */
const remove = (
  status: TaskStatus,
) => `DELETE FROM work_task WHERE status = '${status}' AND id IN (SELECT id FROM work_task
  WHERE user_id = ? AND status = '${status}' AND created_at < ? AND updated_at < ? ORDER BY created_at LIMIT ${portion})`;
const removals = [moves.ack.to, moves.fail.to, moves.cancel.to].map(remove);

/** Removes what ended before that time, milliseconds since the epoch, of one person after the other. */
export async function forgetEnded(store: SharedStore, before: number): Promise<void> {
  const ownerAfter = (userId: string) => store.get<{ user_id: string }>(nextOwner, userId);
  for (let owner = await ownerAfter(''); owner !== undefined; owner = await ownerAfter(owner.user_id)) {
    for (const sql of removals) await removePortions(store, sql, owner.user_id, before, before);
  }
}
