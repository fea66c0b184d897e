import { expect, test } from 'vitest';
import {
  lastingReasons,
  subscriptionStatuses,
  transientReasons,
} from '../../../../src/contracts/connectors/subscription.ts';
import { insertRow, moveRow } from '../../../../src/runtime-server/connectors/subscriptions/rows.ts';
import {
  isDue,
  isTransient,
  subscriptionMoves,
} from '../../../../src/runtime-server/connectors/subscriptions/states.ts';
import { sharedStand } from './stand.ts';

const shared = sharedStand();
const minute = 60_000;

const moves = subscriptionStatuses.flatMap((from) => subscriptionStatuses.map((to) => [from, to] as const));
test.each(moves)('a row that is %s becomes %s only where the table says so', async (from, to) => {
  const { store, clock } = shared.current;
  const id = `sub_${from}_${to}`;
  const moved = await store.write((tx) => {
    const row = { id, connector_id: 'states', connector_url: '', name: 'n', arguments: '{}', bot_id: 'b' };
    insertRow(tx, { ...row, execution_mode: 'PLAN_ONLY' }, clock.now());
    tx.run('UPDATE connector_subscription SET status = ? WHERE id = ?', from, id);
    return moveRow(tx, id, to, {}, clock.now());
  });
  expect(moved).toBe(subscriptionMoves[from].includes(to));
  const now = await store.read((tx) => tx.get('SELECT status FROM connector_subscription WHERE id = ?', id));
  expect(now).toEqual({ status: moved ? to : from });
});

test('nothing leads out of a lost sign-in but a new beginning, and every state can lose it but that one', () => {
  expect(subscriptionMoves.needs_reauth).toEqual(['pending']);
  for (const from of ['pending', 'active', 'error'] as const) expect(subscriptionMoves[from]).toContain('needs_reauth');
});

test.each([
  ['a day: 15 minutes before', 24 * 60, 24 * 60 - 15],
  ['30 minutes: half and a quarter of an hour are one', 30, 15],
  ['20 minutes: at half', 20, 10],
  ['a minute: at half', 1, 0.5],
])('a refresh of %s its end', (_, window, due) => {
  const at = { refreshedAt: 1000, refreshBefore: 1000 + window * minute };
  expect(isDue(at, 1000 + due * minute - 1)).toBe(false);
  expect(isDue(at, 1000 + due * minute)).toBe(true);
});

test('a reason is tried again by itself, or it waits for the person; none is both', () => {
  for (const reason of transientReasons) expect(isTransient(reason)).toBe(true);
  for (const reason of lastingReasons) expect(isTransient(reason)).toBe(false);
});
