/**
 * How long tasks are kept once they have ended (docs/decisions.md, "Work queue"). What waits or is held stays however old it is, and so
 * do sessions and deployments, so that a task's link leads somewhere. Must not know leases.
 */
import { portion, removePortions } from '../../kit/store/remove-portions.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { moves, statusIn } from './model.ts';

export const keptMs = 30 * 24 * 3600 * 1000;

const nextOwner = 'SELECT user_id FROM work_task WHERE user_id > ? ORDER BY user_id LIMIT 1';
const over = statusIn([moves.ack.to, moves.fail.to, moves.cancel.to]);
/**
 * By the index of what changed: the oldest of each person, so that what is still kept is not looked at. Asked twice whether it has
 * ended: somebody may just be trying it again.
 */
const remove = `DELETE FROM work_task WHERE ${over} AND id IN (SELECT id FROM work_task WHERE user_id = ? AND updated_at < ?
  AND ${over} ORDER BY updated_at LIMIT ${portion})`;

/** Removes what ended before that time, milliseconds since the epoch, of one person after the other. */
export async function forgetEnded(store: SharedStore, before: number): Promise<void> {
  const ownerAfter = (userId: string) => store.get<{ user_id: string }>(nextOwner, userId);
  for (let owner = await ownerAfter(''); owner !== undefined; owner = await ownerAfter(owner.user_id)) {
    await removePortions(store, remove, owner.user_id, before);
  }
}
