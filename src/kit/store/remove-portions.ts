/** Removes many rows without holding up whoever writes meanwhile. Must not know what they are. */
import type { SharedStore, Sql } from './shared-store.ts';
import type { Value } from './store.ts';

/** Few enough that nobody waits long for a write of theirs behind it. */
export const portion = 200;

/** Again and again as long as as many as {@link portion} went; `sql` removes so many at most, and may be repeated. */
export async function removePortions(store: SharedStore, sql: Sql, ...values: Value[]): Promise<void> {
  const remove = () => store.write((tx) => tx.run(sql, ...values), { isolation: 'statement' });
  while ((await remove()).changes >= portion);
}
