/** Removes many rows without blocking other writers. Must not know what they are. */
import type { SharedStore, Sql } from './shared-store.ts';
import type { Value } from './store.ts';

/** Few enough that no other write waits long behind it. */
export const portion = 200;

/** Repeats until a batch deletes fewer than {@link portion} rows; `sql` removes at most that many, and may be repeated. */
export async function removePortions(store: SharedStore, sql: Sql, ...values: Value[]): Promise<void> {
  const remove = () => store.write((tx) => tx.run(sql, ...values), { isolation: 'statement' });
  while ((await remove()).changes >= portion);
}
